"""shoal simulate: figures, comparisons, stories, the page, and what is said of wrong files."""

import html.parser
import json
import pathlib
import re
import xml.etree.ElementTree

import pytest

EXAMPLES = pathlib.Path(__file__).resolve().parents[2] / "examples"
MIXED = EXAMPLES / "clusters" / "aws-mixed.yaml"
WORKLOADS = sorted((EXAMPLES / "workloads").glob("*.yaml"))
WORK = "hours: 2\nwork:\n  tasks: {resources: {CPU: 2}, count: 40, duration: [3m, 9m]}\n"

PLANNER_KEYS = [
    "planner", "first_node_seconds", "most_nodes", "most_nodes_seconds", "wait_seconds", "arrived",
    "started", "finished", "lost", "node_hours", "cost", "cost_is_partial", "utilization",
    "launches", "refused", "preemptions", "ended", "types", "classes", "events", "trace"]


@pytest.fixture
def simulate(shoal, write):
    """simulate(): the JSON of a run of WORK on the mixed cluster."""

    def run(*words, work=WORK, file=MIXED):
        done = shoal("simulate", file, "-w", write("work.yaml", work), "-o", "json", *words)
        assert (done.returncode, done.stderr) == (0, ""), done.stderr
        return json.loads(done.stdout)

    return run


# ---- figures ----


def test_the_object_has_its_keys(simulate):
    result = simulate()
    assert list(result) == ["cluster", "provider", "workload", "hours", "faults", "seed", "prices",
                            "planners", "comparisons"]
    assert (result["cluster"], result["provider"], result["hours"]) == ("mixed", "aws", 2.0)
    assert list(result["prices"]) == ["region", "date", "spot_share", "text"]
    (planner,) = result["planners"]
    assert list(planner) == PLANNER_KEYS
    assert list(planner["wait_seconds"]) == ["p50", "p90", "p99", "max"]
    assert [list(one) for one in planner["classes"]] == [
        ["class", "arrived", "started", "finished", "lost", "wait_seconds"]]
    for one in planner["types"]:
        assert list(one) == ["type", "instance_type", "market", "price", "node_hours", "cost"]
    assert result["comparisons"] == []


def test_the_figures_agree_with_each_other(simulate):
    (planner,) = simulate("--faults", "none")["planners"]
    assert planner["arrived"] == planner["finished"] == 40 and planner["lost"] == 0
    assert planner["refused"] == planner["preemptions"] == 0
    assert planner["launches"] == planner["ended"] > 0
    assert 0 < planner["most_nodes"] <= planner["launches"]
    assert 0 < planner["first_node_seconds"] <= planner["most_nodes_seconds"] < 7200
    wait = planner["wait_seconds"]
    assert 0 <= wait["p50"] <= wait["p90"] <= wait["p99"] <= wait["max"] < 7200
    assert 0 < planner["utilization"] <= 1
    assert planner["node_hours"] == pytest.approx(sum(t["node_hours"] for t in planner["types"]))
    assert planner["cost"] == pytest.approx(sum(t["cost"] for t in planner["types"]))
    for one in planner["types"]:
        assert one["cost"] == pytest.approx(one["node_hours"] * one["price"], abs=1e-4)


def test_the_same_seed_gives_the_same_result(simulate):
    first, again, other = (simulate("--seed", seed) for seed in ("7", "7", "8"))
    assert first == again
    assert first["planners"][0]["trace"] != other["planners"][0]["trace"]


def test_more_goes_wrong_on_a_bad_day(simulate):
    none, nasty = (simulate("--faults", f)["planners"][0] for f in ("none", "nasty"))
    assert nasty["wait_seconds"]["max"] > none["wait_seconds"]["max"]


def test_hours_of_the_command_line_win(simulate):
    assert simulate("--hours", "3")["hours"] == 3.0


def test_text_says_the_same(shoal, simulate, write):
    path = write("work.yaml", WORK)
    text = shoal("simulate", MIXED, "-w", path).stdout
    (planner,) = simulate()["planners"]
    assert re.search(rf"^cost +\$ *{planner['cost']:.2f}$", text, re.MULTILINE), text
    assert re.search(rf"^launches +{planner['launches']}$", text, re.MULTILINE)
    assert re.search(r"^work finished +40 of 40$", text, re.MULTILINE)
    assert "EC2 on demand in us-east-1 on 20" in text and "The head is not included" in text
    assert text.startswith("mixed on aws us-east-1, workload ")
    for label in ("first node", "most nodes", "wait, median", "wait, p90", "wait, p99",
                  "wait, longest", "node-hours", "utilization", "refused launches", "preemptions",
                  "work lost"):
        assert re.search(rf"^{label} ", text, re.MULTILINE), label


# ---- planners ----


def test_planners_are_compared(simulate):
    result = simulate("--planner", "ray,price")
    ray, price = result["planners"]
    assert (ray["planner"], price["planner"]) == ("ray", "price")
    assert ray["arrived"] == price["arrived"], "the same work for both"
    assert [simulate("-p", name)["planners"] for name in ("ray", "price")] == [[ray], [price]]
    (one,) = result["comparisons"]
    assert list(one) == ["planner", "against", "cost", "cost_share", "wait_p90_seconds", "spread",
                         "text"]
    assert one["cost"] == pytest.approx(price["cost"] - ray["cost"], abs=1e-5)
    spread = one["spread"]
    assert spread["seeds"] == 10
    assert spread["cost_min"] <= one["cost"] <= spread["cost_max"]
    assert spread["cost_min"] <= spread["cost_mean"] <= spread["cost_max"]
    assert re.match(r"price would cost .* and wait .* at p90, on average over 10 ", one["text"])


def test_planners_stand_side_by_side(shoal, simulate, write):
    text = shoal("simulate", MIXED, "-w", write("work.yaml", WORK), "-p", "ray,price").stdout
    lines = text.splitlines()
    assert re.fullmatch(r" +ray +price", lines[3]) and re.match(r"cost +\$\S+ +\$\S+$", next(
        line for line in lines if line.startswith("cost ")))
    assert lines[-1] == simulate("-p", "ray,price")["comparisons"][0]["text"]
    assert len({len(line) for line in lines[3:-3]}) == 1, "columns are flush"


def test_the_planner_of_the_file_is_the_default(simulate, write):
    text = MIXED.read_text(encoding="utf-8") + "metadata: {shoal: {planner: price}}\n"
    assert simulate(file=write("c.yaml", text))["planners"][0]["planner"] == "price"


def test_a_cap_on_the_hourly_cost_is_kept(simulate, write):
    text = MIXED.read_text(encoding="utf-8") + "metadata: {shoal: {max_hourly_cost: 0.5}}\n"
    free, capped = (simulate("--faults", "none", file=path)["planners"][0]
                    for path in (MIXED, write("c.yaml", text)))
    assert capped["most_nodes"] < free["most_nodes"]
    assert capped["wait_seconds"]["p90"] > free["wait_seconds"]["p90"]


# ---- prices ----


def test_prices_of_the_workload_win(simulate):
    (plain,) = simulate()["planners"]
    (dear,) = simulate(work=WORK + "prices: {small: 100, large: 100, spot: 100}\n")["planners"]
    assert dear["cost"] == pytest.approx(100 * plain["node_hours"], rel=0.01)


def test_spot_is_a_share_of_on_demand(simulate):
    def spot(**more):
        types = simulate(**more)["planners"][0]["types"]
        return next(one for one in types if one["type"] == "spot")

    assert spot()["market"] == "spot" and spot()["price"] == pytest.approx(0.68 * 0.4)
    assert spot(work=WORK + "spot: {share: 50%}\n")["price"] == pytest.approx(0.34)


def test_machines_of_ones_own_have_no_price(shoal, simulate, write):
    rack = EXAMPLES / "clusters" / "local.yaml"
    work = WORK + "node_resources: {local.cluster.node: {CPU: 8}}\n"
    result = simulate(work=work, file=rack)
    assert result["planners"][0]["cost"] is None and result["planners"][0]["finished"] == 40
    text = shoal("simulate", rack, "-w", write("w.yaml", work)).stdout
    assert re.search(r"^cost +unknown$", text, re.MULTILINE)
    assert "No known price for local.cluster.node" in text


def test_machines_of_ones_own_need_to_be_described(shoal, write):
    done = shoal("simulate", EXAMPLES / "clusters" / "local.yaml", "-w", write("w.yaml", WORK))
    assert (done.returncode, done.stdout) == (1, "")
    assert "node_resources: {local.cluster.node: {CPU: 16" in done.stderr


# ---- examples ----


def test_the_examples_are_listed_and_shown(shoal):
    text = shoal("simulate", "--workload", "list").stdout
    for path in WORKLOADS:
        assert re.search(rf"^{path.stem} +\S", text, re.MULTILINE), path.stem
        shown = shoal("simulate", "--workload", f"show={path.stem}").stdout
        assert shown == path.read_text(encoding="utf-8")
    assert shoal("simulate", "--workload", "show=nothing").returncode != 0


@pytest.mark.parametrize("path", WORKLOADS, ids=lambda path: path.stem)
def test_an_example_runs(shoal, path):
    done = shoal("simulate", MIXED, "--workload", path.stem, "-o", "json")
    assert (done.returncode, done.stderr) == (0, "")
    (planner,) = json.loads(done.stdout)["planners"]
    assert planner["finished"] >= 0.95 * planner["arrived"] > 0
    assert planner["cost"] > 0 and planner["utilization"] > 0.2
    by_path = json.loads(shoal("simulate", MIXED, "-w", path, "-o", "json").stdout)
    assert by_path["planners"] == [planner]


@pytest.mark.parametrize("path", WORKLOADS, ids=lambda path: path.stem)
def test_an_example_explains_itself(path):
    lines = path.read_text(encoding="utf-8").splitlines()
    assert re.match(r"# For ", lines[0]), "the first line says whom it is for"
    assert re.match(r"# .*[Cc]hange", lines[1]), "the second line says what to change"
    assert any(line.startswith("about: ") for line in lines)


@pytest.mark.parametrize("path", sorted((EXAMPLES / "clusters").glob("aws-*.yaml")),
                         ids=lambda path: path.stem)
def test_every_cluster_on_aws_can_be_simulated(shoal, path):
    done = shoal("simulate", path, "-w", "notebooks", "--hours", "2")
    assert done.returncode == 0 and "error" not in done.stderr, done.stderr


# ---- stories ----


def test_explain_tells_why(shoal, write):
    work = "hours: 1\nwork: {a: {arrival: {at: 10m}, resources: {GPU: 1}, duration: 5m}}"
    path = write("work.yaml", work)
    words = ["simulate", MIXED, "-w", path, "--faults", "none", "--explain"]
    text = shoal(*words, "10m30s").stdout
    assert "planner ray, around 10m 30s" in text
    assert re.search(r"^ +10m 0\d\.\ds  launch .* gpu .*: 1 for pending requests$", text,
                     re.MULTILINE), text
    assert shoal(*words, "630").stdout == text
    quiet = shoal(*words, "5m").stdout
    assert "no events and no decisions" in quiet and "after that:" in quiet
    lines = json.loads(shoal(*words, "10m", "-o", "json").stdout)["planners"][0]["lines"]
    assert lines and list(lines[0]) == ["seconds", "text"]


# ---- the page ----


class Page(html.parser.HTMLParser):
    """What a browser would load, and whether every element is closed."""

    VOID = {"meta", "br", "img", "link", "input"}

    def __init__(self, text):
        super().__init__()
        self.open, self.outside, self.text = [], [], ""
        self.feed(text)
        self.close()

    def handle_starttag(self, tag, attrs):
        if tag not in self.VOID:
            self.open.append(tag)
        if tag in ("script", "link", "img", "iframe", "object", "embed", "base", "a"):
            self.outside.append(tag)
        self.outside += [f"{tag} {name}" for name, _ in attrs
                         if name in ("href", "src", "xlink:href") or name.startswith("on")]

    def handle_startendtag(self, tag, attrs):
        pass

    def handle_endtag(self, tag):
        assert self.open and self.open.pop() == tag, f"</{tag}> closes something else"

    def handle_data(self, data):
        self.text += data


@pytest.fixture
def page(shoal, write, folder):
    def make(*words, work=WORK, file=MIXED):
        path = write("work.yaml", work)
        done = shoal("simulate", file, "-w", path, "--report", "out.html", *words)
        assert (done.returncode, done.stderr) == (0, ""), done.stderr
        return (folder / "out.html").read_text(encoding="utf-8")

    return make


def test_the_page_is_whole_and_needs_nothing_else(page):
    text = page()
    parsed = Page(text)
    assert parsed.open == [] and parsed.outside == []
    assert not re.search(r"https?:|//[a-z]|url\(|@import|javascript:", text)
    assert "prefers-color-scheme:dark" in text and 'name="viewport"' in text
    for title in ("Machines by type", "Waiting work", "Cost per hour", "Spent", "All figures",
                  "By kind of work"):
        assert title in parsed.text, title


def test_its_charts_are_xml_with_axes(page):
    charts = re.findall(r"<svg.*?</svg>", page(), re.DOTALL)
    assert len(charts) == 4
    for chart in charts:
        root = xml.etree.ElementTree.fromstring(chart)
        kinds = [one.get("class", "").split(" ")[0] for one in root.iter()]
        assert kinds.count("y") >= 2 and kinds.count("x") >= 2 and "unit" in kinds
        assert "area" in kinds and "nan" not in chart and "inf" not in chart


def test_it_shows_planners_side_by_side(page):
    text = page("-p", "ray,price")
    parsed = Page(text)
    assert parsed.open == [] and text.count("<svg") == 8
    assert parsed.text.count("Planner ") == 2 and "price would cost" in parsed.text


def test_names_from_files_cannot_do_harm(page, write):
    evil = "<script>alert(1)</script>"
    cluster = write("evil.yaml", f"""\
cluster_name: "x</title>{evil}"
provider: {{type: aws, region: "{evil}"}}
max_workers: 3
head_node_type: head
available_node_types:
  head: {{node_config: {{InstanceType: m5.large}}, resources: {{CPU: 0}}}}
  "{evil}": {{max_workers: 3, node_config: {{InstanceType: m5.large}}, resources: {{CPU: 2}}}}
""")
    work = (f'about: "{evil}&amp;"\nhours: 1\nwork:\n  "{evil}\\u0007\\u202e": '
            "{resources: {CPU: 1}, duration: 5m}\n")
    text = page(file=cluster, work=work)
    parsed = Page(text)
    assert parsed.open == [] and parsed.outside == [] and "<script" not in text
    assert "\x07" not in text and evil in parsed.text and evil + "&amp;" in parsed.text


def test_a_page_that_cannot_be_written(shoal, write):
    done = shoal("simulate", MIXED, "-w", write("w.yaml", WORK), "--report", "no/such/out.html")
    assert (done.returncode, done.stdout) == (1, "")
    assert done.stderr.startswith("shoal: error: no/such: ")


# ---- mistakes ----


def test_all_mistakes_of_a_workload_at_once(shoal, write):
    path = write("work.yaml", """\
hours: 2
wrk: 5
work:
  a:
    resources: {CPU: 2, memory: lots}
    duraton: 5m
    arrival: {at: 1h, every: 5m}
  b: {duration: [9m, 3m], gang: {strategy: SPRED, bundles: 2}}
""")
    done = shoal("simulate", MIXED, "-w", path)
    assert (done.returncode, done.stdout) == (1, "")
    places = re.findall(r"work\.yaml:(\d+:\d+): error:", done.stderr)
    assert places == ["2:1", "5:33", "6:5", "7:23", "8:17", "8:44"], done.stderr
    assert 'did you mean "duration"?' in done.stderr and 'did you mean "SPREAD"?' in done.stderr


def test_mistakes_of_the_cluster_file(shoal, write):
    path = write("bad.yaml", "cluster_name: x\nprovider: {type: aws}\nmax_worker: 3\n")
    done = shoal("simulate", path, "-w", "notebooks")
    assert (done.returncode, done.stdout) == (1, "")
    assert 'bad.yaml:3:1: error: unknown key "max_worker"' in done.stderr


def test_a_name_that_fits_nothing_is_warned_of(shoal, write):
    path = write("work.yaml", WORK + "prices: {smal: 1}\n")
    done = shoal("simulate", MIXED, "-w", path)
    assert done.returncode == 0 and "work finished" in done.stdout
    assert re.search(r"work\.yaml:4:10: warning: .*\"smal\"", done.stderr)
    assert 'did you mean "small"?' in done.stderr


def test_work_that_can_never_run_is_warned_of(shoal, write):
    path = write("work.yaml", """\
hours: 1
work:
  fits: {resources: {CPU: 2}, duration: 5m}
  big: {resources: {GPU: 8}, duration: 5m}
  wide: {resources: {GPU: 1}, gang: {strategy: STRICT_SPREAD, bundles: 30}, duration: 5m}
  picky: {resources: {CPU: 1}, labels: {zone: moon}, duration: 5m}
""")
    done = shoal("simulate", MIXED, "-w", path)
    assert done.returncode == 0 and "1 of 4" in done.stdout
    places = re.findall(r"work\.yaml:(\d+:\d+): warning: this work cannot run", done.stderr)
    assert places == ["4:3", "5:3", "6:3"], done.stderr
    assert "largest is gpu4 with 4" in done.stderr and "labels" in done.stderr


@pytest.mark.parametrize("words, said", [
    ([], "FILE is missing"),
    (["x.yaml"], "--workload is missing"),
    (["x.yaml", "-w", "notbooks"], 'did you mean "notebooks"?'),
    (["x.yaml", "-w", "xyzzy"], "neither a file nor an example"),
    (["x.yaml", "-w", "none.yaml"], "none.yaml: No such file"),
    (["x.yaml", "-w", "notebooks", "-p", "magic"], '"magic"; valid values: ray, price'),
    (["x.yaml", "-w", "notebooks", "-p", "ray,ray"], "twice"),
    (["x.yaml", "-w", "notebooks", "-p", ""], "--planner"),
    (["x.yaml", "-w", "notebooks", "--faults", "some"], "none, mild, nasty"),
    (["x.yaml", "-w", "notebooks", "--hours", "-3"], "--hours"),
    (["x.yaml", "-w", "notebooks", "--hours", "many"], "--hours"),
    (["x.yaml", "-w", "notebooks", "--seed", "-1"], "--seed"),
    (["x.yaml", "-w", "notebooks", "--explain", "noon"], "12m30s"),
    (["-", "-w", "-"], "standard input")])
def test_wrong_command_lines(shoal, write, words, said):
    write("x.yaml", "cluster_name: demo\nprovider: {type: aws, region: us-west-2}\n")
    done = shoal("simulate", *words)
    assert done.returncode in (1, 2) and done.stdout == "", done
    assert done.stderr.startswith("shoal: error: ") and said in done.stderr


def test_a_workload_from_standard_input(shoal):
    done = shoal("simulate", MIXED, "-w", "-", input=WORK)
    assert done.returncode == 0 and "work finished" in done.stdout

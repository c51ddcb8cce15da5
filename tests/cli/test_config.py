"""`shoal config`: two forms of one configuration, secrets, hashes."""

import json
import re

import pytest

CLEAN = "cluster_name: demo\nprovider: {type: aws, region: us-west-2}\n"

# Merged into each list below by Ray, so a second round merges again.
MERGED = ("head_setup_commands", "worker_setup_commands")

SECRETS = """\
cluster_name: demo
provider:
    type: aws
    region: us-west-2
    aws_credentials:
        aws_access_key_id: hidden-1
        aws_secret_access_key: hidden-2
        aws_session_token: hidden-3
docker:
    image: rayproject/ray:2.60.0
    container_name: ray
    run_options:
        - -e WANDB_API_KEY=hidden-4 --ulimit nofile=65536:65536
        - --env HF_TOKEN="hidden-5 and more"
setup_commands:
    - export DB_PASSWORD=hidden-6 && echo shown-1
available_node_types:
    head:
        node_config:
            InstanceType: m5.large
            UserData: "#!/bin/sh\\nexport TOKEN=hidden-7\\necho shown-2\\n"
            IamInstanceProfile: {Name: shown-3}
head_node_type: head
"""

# Texts that are something else without quotes, or that a careless writer would break.
ODD_TEXTS = [
    "yes", "null", "~", "1", "1.5", "0x10", "010", "1:30", "2024-01-01", ".inf", ".nan", "1e3",
    "1_000", "on", "", " x ", "a: b", "#c", "a #b", "- l", "? x", "=", "<<", "!t", "&a", "*b",
    "%c", "@d", "`e", "---", "trailing:", "two\nlines\n", "tab\t", 'quote " and \\', "\x01\x7f",
    "é日本", "\U0001f600", "\u2028", "\ufeff", "{}", "[]", "'", "|", ">",
]


def quoted(text):
    """In double quotes, with nothing left that YAML could take otherwise."""
    plain = re.compile(r"[a-zA-Z0-9]")
    return '"' + "".join(c if plain.match(c) else f"\\U{ord(c):08x}" for c in text) + '"'


@pytest.fixture
def yaml():
    return pytest.importorskip("yaml")


@pytest.fixture
def config(shoal):
    """config(text): its configuration as data, by way of JSON."""

    def read(text, *words):
        done = shoal("config", "-o", "json", *words, "-", input=text)
        assert done.returncode == 0 and "error" not in done.stderr, done.stderr
        return json.loads(done.stdout)

    return read


@pytest.fixture
def examples(repository):
    files = sorted((repository / "examples" / "clusters").glob("*.yaml"))
    assert files
    return [path.read_text(encoding="utf-8") for path in files]


# ---- YAML and JSON ----


def test_both_forms_agree(shoal, yaml, examples):
    for text in [*examples, CLEAN, SECRETS]:
        as_yaml = shoal("config", "-", input=text)
        as_json = shoal("config", "-o", "json", "-", input=text)
        assert as_yaml.returncode == as_json.returncode == 0
        assert yaml.safe_load(as_yaml.stdout) == json.loads(as_json.stdout)
        assert shoal("config", "-o", "yaml", "-", input=text).stdout == as_yaml.stdout


def test_odd_texts_survive(shoal, yaml, config):
    """As keys and as values, there and back."""
    odd = {text: text for text in ODD_TEXTS if text}
    values = ", ".join(map(quoted, ODD_TEXTS))
    pairs = ", ".join(f"{quoted(text)}: {quoted(text)}" for text in odd)
    text = CLEAN + "metadata: {list: [" + values + "], map: {" + pairs + "}}\n"
    printed = shoal("config", "-", input=text).stdout
    for metadata in (config(text)["metadata"], yaml.safe_load(printed)["metadata"],
                     config(printed)["metadata"]):
        assert metadata == {"list": ODD_TEXTS, "map": odd}


def test_odd_numbers_survive(shoal, yaml, config):
    numbers = "0, -1, 017, 1.0, -0.0, 0.1, 1.0e+100, .inf, 12345678901234567890"
    text = CLEAN + "metadata: {n: [" + numbers + "]}\n"
    expected = yaml.safe_load(text)["metadata"]
    assert config(text)["metadata"] == expected
    printed = yaml.safe_load(shoal("config", "-", input=text).stdout)["metadata"]
    assert list(map(repr, printed["n"])) == list(map(repr, expected["n"]))


# ---- its own output as a cluster file ----


def test_output_is_a_cluster_file(shoal, write, examples):
    for text in [*examples, CLEAN, SECRETS]:
        write("printed.yaml", shoal("config", "-", input=text).stdout)
        done = shoal("validate", "printed.yaml")
        assert (done.returncode, done.stderr) == (0, ""), done.stdout


def test_a_second_round_changes_nothing(shoal, config, examples):
    """But for the lists that setup_commands are merged into, as Ray does: those may grow."""
    for text in [*examples, CLEAN, SECRETS]:
        first = config(text, "--show-secrets")
        printed = shoal("config", "--show-secrets", "-", input=text).stdout
        second = config(printed, "--show-secrets")
        for name in MERGED:
            once = first.pop(name)
            assert second.pop(name) in (once, first["setup_commands"] + once)
        assert second == first


def test_keys_keep_their_order(config):
    text = CLEAN + "metadata: {z: 1, a: 2, m: 3}\n"
    assert list(config(text)["metadata"]) == ["z", "a", "m"]


# ---- secrets ----


@pytest.mark.parametrize("form", ["yaml", "json"])
def test_secrets_are_masked(shoal, form):
    text = shoal("config", "-o", form, "-", input=SECRETS).stdout
    assert "hidden" not in text and text.count("********") >= 7
    assert {f"shown-{i}" for i in range(1, 4)} <= set(re.findall(r"shown-\d", text))
    assert "nofile=65536:65536" in text


@pytest.mark.parametrize("form", ["yaml", "json"])
def test_secrets_are_shown_when_asked_for(shoal, form):
    text = shoal("config", "--show-secrets", "-o", form, "-", input=SECRETS).stdout
    assert {f"hidden-{i}" for i in range(1, 8)} <= set(re.findall(r"hidden-\d", text))
    assert "****" not in text


def test_a_mask_is_all_that_differs(config):
    def same(shown, masked):
        if isinstance(shown, dict):
            return list(shown) == list(masked) and all(same(shown[k], masked[k]) for k in shown)
        if isinstance(shown, list):
            return len(shown) == len(masked) and all(map(same, shown, masked))
        return shown == masked or "********" in masked

    assert same(config(SECRETS, "--show-secrets"), config(SECRETS))


@pytest.mark.parametrize("command", [
    "export TOKEN=$(echo hidden)", "export TOKEN=`echo hidden`", r"export TOKEN=a\ hidden",
    r'export TOKEN="a\" hidden"', r'echo "TOKEN=a hidden"'])
def test_the_whole_word_is_masked(shoal, command):
    text = CLEAN + "setup_commands: [" + json.dumps(command) + "]\n"
    assert "hidden" not in shoal("config", "-", input=text).stdout


# ---- hashes ----


MOUNTED = CLEAN + "file_mounts: {/home/ubuntu/app: ./app}\n"


@pytest.fixture
def hashes(shoal):
    def read(text, *words):
        done = shoal("config", "--hashes", "-o", "json", *words, "-", input=text)
        assert (done.returncode, done.stderr) == (0, ""), done.stderr
        return json.loads(done.stdout)

    return read


def flat(result):
    return [*result["launch"].values(), *result["runtime"].values(),
            result["file_mounts_contents"]]


def test_hashes(hashes, write):
    write("app/main.py", "print(1)\n")
    result = hashes(MOUNTED)
    assert list(result) == ["launch", "runtime", "file_mounts_contents"]
    assert list(result["launch"]) == ["ray.head.default", "ray.worker.default"]
    assert list(result["runtime"]) == ["head", "worker"]
    assert all(re.fullmatch(r"[0-9a-v]{52}", text) for text in flat(result))
    assert len(set(flat(result))) == 5
    assert hashes(MOUNTED) == hashes(MOUNTED, "--show-secrets") == result


def test_hashes_as_yaml(shoal, hashes, yaml, write):
    write("app/main.py", "print(1)\n")
    text = shoal("config", "--hashes", "-", input=MOUNTED).stdout
    assert yaml.safe_load(text) == hashes(MOUNTED)


def test_a_changed_file_changes_its_hashes(hashes, write):
    write("app/main.py", "print(1)\n")
    before = hashes(MOUNTED)
    write("app/main.py", "print(2)\n")
    after = hashes(MOUNTED)
    assert after["file_mounts_contents"] != before["file_mounts_contents"]
    assert after["launch"] == before["launch"]
    write("app/main.py", "print(1)\n")
    assert hashes(MOUNTED) == before
    write("app/sub/other.py", "")
    assert hashes(MOUNTED)["file_mounts_contents"] != before["file_mounts_contents"]


def test_a_changed_command_changes_the_runtime_alone(hashes):
    before = hashes(CLEAN)
    after = hashes(CLEAN + "setup_commands: [echo changed]\n")
    assert after["launch"] == before["launch"]
    assert after["file_mounts_contents"] == before["file_mounts_contents"]
    assert all(after["runtime"][node] != before["runtime"][node] for node in ("head", "worker"))


def test_a_changed_machine_changes_its_launch_alone(hashes):
    types = CLEAN + ("available_node_types: {a: {node_config: {InstanceType: m5.large}}, "
                     "b: {node_config: {InstanceType: %s}}}\nhead_node_type: a\n")
    before, after = hashes(types % "m5.large"), hashes(types % "c5.large")
    assert before["launch"]["a"] == before["launch"]["b"] == after["launch"]["a"]
    assert after["launch"]["b"] != after["launch"]["a"]


def test_hashes_need_the_mounted_file(shoal):
    done = shoal("config", "--hashes", "-", input=MOUNTED)
    assert (done.returncode, done.stdout) == (1, "")
    assert "./app" in done.stderr and "No such file" in done.stderr


# ---- files that Ray would refuse ----


@pytest.mark.parametrize("words", [[], ["-o", "json"], ["--hashes"]])
def test_a_wrong_file(shoal, write, words):
    write("x.yaml", CLEAN + "max_worker: 4\n")
    done = shoal("config", *words, "x.yaml")
    assert (done.returncode, done.stdout) == (1, "")
    assert done.stderr.startswith('x.yaml:3:1: error: unknown key "max_worker"\n')
    assert "max_workers" in done.stderr


def test_missing_file_and_wrong_command_line(shoal):
    done = shoal("config", "nowhere.yaml")
    assert (done.returncode, done.stdout) == (1, "")
    assert done.stderr == "shoal: error: nowhere.yaml: No such file or directory\n"
    done = shoal("config", "-o", "text", "x.yaml")
    assert (done.returncode, done.stdout) == (2, "") and "yaml, json" in done.stderr


def test_warnings_do_not_mix_with_the_configuration(shoal, config):
    """Whatever is said about an old file is said on standard error."""
    done = shoal("config", "-o", "json", "-", input=CLEAN + "initial_workers: 2\n")
    assert done.returncode == 0 and json.loads(done.stdout) == config(CLEAN)


def test_what_is_not_on_this_machine_does_not_matter(shoal):
    """A path that is missing here is no reason to refuse the configuration."""
    done = shoal("config", "-", input=MOUNTED)
    assert done.returncode == 0 and "./app" in done.stdout

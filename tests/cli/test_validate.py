"""`shoal validate`: what it finds, where, and how it says so."""

import json
import os
import pathlib
import pty
import re
import select
import shutil
import stat
import subprocess
import tempfile

import pytest

HERE = pathlib.Path(__file__).resolve().parent

CLEAN = "cluster_name: demo\nprovider: {type: aws, region: us-west-2}\n"
WARNED = CLEAN + "initial_workers: 2\n"
WRONG = CLEAN + "max_worker: 4\n"

KEY_FILE = """\
cluster_name: demo
provider: {type: local, head_ip: 192.0.2.1, worker_ips: [192.0.2.2]}
auth:
    ssh_user: ubuntu
    ssh_private_key: %s
"""

# Every mistake that is planted in mistakes.yaml: where, which kind, and the text under the caret.
PLANTED = [
    (2, 1, "error", "unknown-key", "max_worker"),
    (3, 23, "error", "wrong-type", '"5"'),
    (7, 5, "warning", "ignored-key", "availability_zones"),
    (10, 22, "error", "missing-file", "~/no-such-key.pem"),
    (11, 1, "error", "docker", "docker"),
    (14, 5, "error", "missing-key", "head"),
    (16, 27, "error", "unknown-machine", "m5.lagre"),
    (20, 34, "error", "wrong-type", "0.5"),
    (24, 13, "error", "unknown-parameter", "InstanceMarketOption"),
    (25, 17, "error", "unknown-node-type", "haed"),
    (27, 23, "error", "missing-file", "./no-such-folder"),
    (29, 7, "warning", "not-repeatable", "git clone https://github.com/me/repo"),
]

# What each of these should be told to write instead.
SUGGESTED = {
    "max_worker": "max_workers",
    "availability_zones": "availability_zone",
    "m5.lagre": "m5.large",
    "InstanceMarketOption": "InstanceMarketOptions",
    "haed": "head",
    '"5"': "quotes",
    "docker": "container_name",
}

RESULT_FIELDS = {"file": str, "errors": int, "warnings": int, "truncated": bool,
                 "findings": list}
FINDING_FIELDS = {"level": str, "code": str, "line": int, "column": int, "width": int,
                  "text": str, "hint": str}


# ---- the file of mistakes ----


@pytest.fixture
def mistakes(shoal):
    done = shoal("validate", "-o", "json", "mistakes.yaml", cwd=HERE)
    assert done.returncode == 1 and done.stderr == ""
    return json.loads(done.stdout)


def test_transcript(shoal, golden):
    done = shoal("validate", "mistakes.yaml", cwd=HERE)
    assert done.returncode == 1 and done.stderr == ""
    golden("mistakes.txt", done.stdout)


def test_every_mistake_is_found_at_its_place(mistakes):
    found = [(one["line"], one["column"], one["level"], one["code"])
             for one in mistakes["findings"]]
    assert found == [planted[:4] for planted in PLANTED]


def test_the_caret_is_under_the_culprit(mistakes):
    lines = (HERE / "mistakes.yaml").read_text(encoding="utf-8").split("\n")
    for one, planted in zip(mistakes["findings"], PLANTED, strict=True):
        start = one["column"] - 1
        assert lines[one["line"] - 1][start:start + one["width"]] == planted[4]


@pytest.mark.parametrize("culprit", SUGGESTED)
def test_the_hint_says_what_to_write(mistakes, culprit):
    hints = [one["hint"] for one, planted in zip(mistakes["findings"], PLANTED, strict=True)
             if planted[4] == culprit]
    assert len(hints) == 1 and SUGGESTED[culprit] in hints[0]


def test_text_and_json_agree(shoal, mistakes):
    text = shoal("validate", "mistakes.yaml", cwd=HERE).stdout
    heads = re.findall(r"^mistakes\.yaml:(\d+):(\d+): (error|warning): (.*)$", text, re.MULTILINE)
    assert heads == [(str(one["line"]), str(one["column"]), one["level"], one["text"])
                     for one in mistakes["findings"]]
    carets = re.findall(r"^ +\| ( *)(\^~*)", text, re.MULTILINE)
    assert [(len(blank) + 1, len(caret)) for blank, caret in carets] == \
        [(one["column"], one["width"]) for one in mistakes["findings"]]
    assert text.splitlines()[-1] == f"{mistakes['errors']} errors, {mistakes['warnings']} warnings"


def test_mended_line_by_line_it_becomes_clean(shoal, write, home):
    """Doing what each finding says leaves nothing to find."""
    text = (HERE / "mistakes.yaml").read_text(encoding="utf-8")
    for old, new in [("max_worker:", "max_workers:"), ('"5"', "5"), ("_zones:", "_zone:"),
                     ("docker:\n    image: rayproject/ray:2.60.0\n", "docker: {}\n"),
                     ("m5.lagre", "m5.large\n            KeyName: team"),
                     ("max_workers: 8", "max_workers: 4"), ("0.5", "1"),
                     ("MarketOption:", "MarketOptions:"), ("haed", "head"),
                     ("- git clone", "- test -e repo || git clone")]:
        assert text.count(old) == 1, old
        text = text.replace(old, new)
    write("mended.yaml", text)
    write("no-such-folder/app.py", "")
    (home / "no-such-key.pem").touch(mode=0o600)
    done = shoal("validate", "mended.yaml")
    assert (done.returncode, done.stderr) == (0, ""), done.stdout
    assert done.stdout == ("mended.yaml is fine. demo on aws us-west-2: head m5.large, "
                           "at most 4 workers\n")


# ---- one mistake, one finding ----


@pytest.mark.parametrize("line, code", [
    ("max_worker: 4", "unknown-key"), ("docker: {image: x}", "docker"), ("auth: []", "wrong-type"),
    ("setup_commands: echo", "wrong-type"), ("head_node_type: x", "unknown-node-type"),
    ("upscaling_speed: fast", "wrong-type"), ("cluster_name: again", "duplicate-key"),
    ("file_mounts: {/a: ./nowhere}", "missing-file"),
    ("max_workers: 3.5", "wrong-type"),
    ("max_workers:", "wrong-type"),
    ("max_workers: -1", "negative"),
    ("setup_commands: [{echo a: b}]", "wrong-type"),
    ("metadata: {day: 2024-01-01}", "date")])
def test_one_mistake_one_finding(findings, line, code):
    assert [(one["code"], one["line"]) for one in findings(CLEAN + line + "\n")] == [(code, 3)]


@pytest.mark.parametrize("old, new", [
    ("cluster_name: demo", "cluster_name: 2024-01-01"),
    ("cluster_name", "cluster_nmae"),
    ("region", "regoin"),
    ("aws", "asw"), ("{type: aws, region: us-west-2}", "aws")])
def test_one_mistyped_word_one_finding(findings, old, new):
    assert len(findings(CLEAN.replace(old, new))) == 1


def test_a_tab_is_called_a_tab(findings):
    found = findings(CLEAN + "auth:\n\tssh_user: ubuntu\n")
    assert found[0]["code"] == "yaml-tab" and "tab" in found[0]["text"] + found[0]["hint"]


@pytest.mark.parametrize("name", [
    "my cluster",
    "größe",
    "a/b", "a:b"])
def test_the_character_that_is_wrong_is_named(findings, name):
    culprit = re.search(r"[^a-z]", name).group()
    found = findings(CLEAN.replace("demo", json.dumps(name, ensure_ascii=False)))
    said = found[0]["text"]
    assert found[0]["code"] == "cluster-name"
    assert f'"{culprit}"' in said or (culprit == " " and "a space" in said)


# ---- JSON ----


@pytest.mark.parametrize("text, errors, warnings", [(CLEAN, 0, 0), (WARNED, 0, 1), (WRONG, 1, 0)])
def test_json_fields(shoal, write, text, errors, warnings):
    write("x.yaml", text)
    done = shoal("validate", "--output=json", "x.yaml")
    result = json.loads(done.stdout)
    assert {name: type(value) for name, value in result.items()} == RESULT_FIELDS
    assert result["file"] == "x.yaml"
    assert (result["errors"], result["warnings"]) == (errors, warnings)
    assert done.returncode == (1 if errors else 0)
    for one in result["findings"]:
        assert {name: type(value) for name, value in one.items()} == FINDING_FIELDS
        assert re.fullmatch(r"[a-z]+(-[a-z]+)*", one["code"])
    levels = [one["level"] for one in result["findings"]]
    assert (levels.count("error"), levels.count("warning")) == (errors, warnings)


def test_json_is_ascii_safe_for_any_name(shoal, write):
    write('ö "quoted".yaml', CLEAN + '"schlüssel\\t\\"x": 1\n')
    result = json.loads(shoal("validate", "-o", "json", 'ö "quoted".yaml').stdout)
    assert result["file"] == 'ö "quoted".yaml'
    assert "schlüssel" in result["findings"][0]["text"]


def test_json_of_a_file_that_is_not_yaml(findings):
    found = findings("cluster_name: [\n")
    assert [one["level"] for one in found] == ["error"]


def page(repository, name):
    return (repository / "docs" / "user" / name).read_text(encoding="utf-8")


def test_the_documented_example(shoal, write, repository):
    shown = re.search(r"^```json\n(.*?)^```", page(repository, "check.md"), re.M | re.S).group(1)
    write("cluster.yaml", WRONG)
    assert shoal("validate", "-o", "json", "cluster.yaml").stdout == shown


def test_every_code_is_documented(repository):
    pages = page(repository, "check.md") + page(repository, "simulate.md")
    tables = re.findall(r"^\| code \| meaning \|\n\|---\|---\|\n((?:\|.*\n)+)", pages, re.M)
    rows = re.findall(r"^\| (`[a-z-]+`(?:, `[a-z-]+`)*) \|", "".join(tables), re.MULTILINE)
    promised = set(re.findall(r"`([a-z-]+)`", " ".join(rows)))
    call = re.compile(r'(?:diag_(?:error|warn|add)|wrong)\([^"]*?"([a-z]+(?:-[a-z]+)*)"')
    sources = (repository / "src").rglob("*.c")
    given = {code for path in sources for code in call.findall(path.read_text(encoding="utf-8"))}
    assert len(given) > 20 and given <= promised


# ---- exit status ----


@pytest.mark.parametrize("text, status", [(CLEAN, 0), (WARNED, 0), (WRONG, 1), ("a: [", 1),
                                          ("", 1), ("- list\n", 1)])
def test_status_of_a_file(shoal, write, text, status):
    write("x.yaml", text)
    done = shoal("validate", "x.yaml")
    assert (done.returncode, done.stderr) == (status, "")
    assert done.stdout.startswith("x.yaml")
    last = done.stdout.splitlines()[-1]
    assert re.match(r"x\.yaml is (fine|usable)\. " if status == 0 else r"\d+ errors?", last)


@pytest.mark.parametrize("words", [[], ["a", "b"], ["--no-such", "x.yaml"], ["-o", "xml", "x"],
                                   ["x", "-o"], ["x", "--help=yes"], ["-Z", "x"]])
def test_status_of_a_wrong_command_line(shoal, words):
    done = shoal("validate", *words)
    assert (done.returncode, done.stdout) == (2, "")
    assert re.match(r"shoal: error: .+\nusage: shoal validate ", done.stderr)


def test_a_file_that_is_not_there(shoal):
    done = shoal("validate", "nowhere.yaml")
    assert (done.returncode, done.stdout) == (1, "")
    assert done.stderr == "shoal: error: nowhere.yaml: No such file or directory\n"


def test_a_folder_instead_of_a_file(shoal, folder):
    (folder / "sub").mkdir()
    done = shoal("validate", "sub")
    assert (done.returncode, done.stdout) == (1, "")
    assert re.fullmatch(r"shoal: error: sub: .*directory\n", done.stderr)


@pytest.fixture
def as_somebody(run, program):
    """as_somebody({"x.yaml": text}, locked, *words): a run as a user who may not read `locked`.

    Root may read everything, so as root the tests switch to another user.
    """

    def run_shoal(files, locked, *words):
        with tempfile.TemporaryDirectory() as place:
            os.chmod(place, 0o755)
            copy = shutil.copy(program, place)
            for name, text in files.items():
                pathlib.Path(place, name).write_text(text, encoding="utf-8")
            pathlib.Path(place, locked).chmod(0)
            other = {"user": 65534, "group": 65534, "extra_groups": []} if os.getuid() == 0 else {}
            return run([copy, *words], cwd=place, **other)

    return run_shoal


def test_a_file_that_may_not_be_read(as_somebody):
    done = as_somebody({"locked.yaml": CLEAN}, "locked.yaml", "validate", "locked.yaml")
    assert (done.returncode, done.stdout) == (1, "")
    assert done.stderr == "shoal: error: locked.yaml: Permission denied\n"


@pytest.mark.parametrize("line", ["file_mounts: {/home/ubuntu/data: ./locked}",
                                  "auth: {ssh_user: ubuntu, ssh_private_key: locked}"])
def test_a_path_that_may_not_be_read(as_somebody, line):
    text = KEY_FILE.partition("auth:")[0] + line + "\n"
    done = as_somebody({"x.yaml": text, "locked": ""}, "locked", "validate", "x.yaml")
    assert done.returncode == 1 and "locked" in done.stdout


@pytest.mark.parametrize("url", ["https://example.com/a/cluster.yaml", "http://example.com/c.yml"])
def test_a_url(shoal, url):
    done = shoal("validate", url)
    assert (done.returncode, done.stdout) == (1, "")
    assert "URL" in done.stderr and "curl " in done.stderr and url in done.stderr
    assert "No such file" not in done.stderr


def test_standard_input(shoal):
    done = shoal("validate", "-", input=CLEAN)
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout.startswith("(standard input) is fine.")
    done = shoal("validate", "-", input=WRONG)
    assert done.returncode == 1
    assert done.stdout.startswith('(standard input):3:1: error: unknown key "max_worker"')


def test_a_pipe_is_a_file_too(run, need):
    words = [need("bash"), "-c", "shoal validate <(printf '%s' \"$0\")", CLEAN]
    assert run(words).returncode == 0


def test_a_name_that_begins_with_a_dash(shoal, write):
    write("-x.yaml", CLEAN)
    assert shoal("validate", "--", "-x.yaml").returncode == 0
    assert shoal("validate", "./-x.yaml").returncode == 0


def test_input_without_end(shoal):
    """The limit of the size is also a limit of the time."""
    with open("/dev/zero", "rb") as endless:
        try:
            done = shoal("validate", "-", stdin=endless, timeout=60)
        except subprocess.TimeoutExpired:
            pytest.fail("never ends")
    assert done.returncode == 1 and "larger than" in done.stderr


# ---- private keys ----


@pytest.mark.parametrize("mode, is_good", [(0o644, False), (0o640, False), (0o604, False),
                                           (0o660, False), (0o620, False), (0o600, True),
                                           (0o400, True), (0o700, True)])
def test_mode_of_a_private_key(findings, folder, mode, is_good):
    (folder / "id_team").touch()
    (folder / "id_team").chmod(mode)
    found = findings(KEY_FILE % "id_team")
    if is_good:
        assert found == []
        return
    assert [(one["level"], one["code"], one["line"], one["column"]) for one in found] == \
        [("error", "open-key", 5, 22)]
    assert f"{mode:03o}" in found[0]["text"] and found[0]["hint"] == "chmod 600 id_team"


def test_the_advice_about_a_key_works(shoal, write, folder, run):
    write("x.yaml", KEY_FILE % "id_team")
    (folder / "id_team").touch(mode=0o644)
    result = json.loads(shoal("validate", "-o", "json", "x.yaml").stdout)
    assert run(["sh", "-c", result["findings"][0]["hint"]]).returncode == 0
    assert stat.S_IMODE((folder / "id_team").stat().st_mode) == 0o600
    assert shoal("validate", "x.yaml").returncode == 0


def test_a_key_in_the_home(findings, home):
    (home / ".ssh").mkdir()
    (home / ".ssh" / "id_team").touch(mode=0o600)
    assert findings(KEY_FILE % "~/.ssh/id_team") == []
    (home / ".ssh" / "id_team").chmod(0o644)
    assert [one["code"] for one in findings(KEY_FILE % "~/.ssh/id_team")] == ["open-key"]


def test_a_key_behind_a_link_and_a_key_that_is_a_folder(findings, folder):
    (folder / "real").touch(mode=0o644)
    (folder / "link").symlink_to("real")
    (folder / "gone").symlink_to("nowhere")
    assert [one["code"] for one in findings(KEY_FILE % "link")] == ["open-key"]
    assert [one["code"] for one in findings(KEY_FILE % "gone")] == ["missing-file"]
    assert [one["code"] for one in findings(KEY_FILE % ".")] == ["missing-file"]


# ---- colours ----


def on_a_terminal(words, cwd, env):
    """What the program prints when its output is a terminal."""
    outer, inner = pty.openpty()
    with subprocess.Popen([str(word) for word in words], cwd=cwd, env=env, stdout=inner,
                          stderr=inner, stdin=subprocess.DEVNULL) as child:
        os.close(inner)
        text = b""
        while select.select([outer], [], [], 10)[0]:
            try:
                piece = os.read(outer, 65536)
            except OSError:  # Linux says so when the other end is closed
                break
            if not piece:
                break
            text += piece
        child.wait(timeout=10)
    os.close(outer)
    return text.decode()


def test_colour_when_asked_for(shoal):
    text = shoal("validate", "--color", "always", "mistakes.yaml", cwd=HERE).stdout
    plain = shoal("validate", "mistakes.yaml", cwd=HERE).stdout
    assert "\033[" in text and re.sub(r"\033\[[0-9;]*m", "", text) == plain
    for line in text.splitlines():  # a coloured line ends uncoloured
        assert "\033[" not in line or re.search(r"\033\[0m[^\033]*$", line)


@pytest.mark.parametrize("words, more", [
    ([], {}), (["--color", "auto"], {}), (["--color=never"], {}), ([], {"NO_COLOR": "1"}),
    (["--color=auto"], {"NO_COLOR": "1"})])
def test_no_colour_in_a_pipe(shoal, words, more):
    done = shoal("validate", *words, "mistakes.yaml", cwd=HERE, env=more)
    assert "\033" not in done.stdout + done.stderr


@pytest.mark.parametrize("words, more, is_coloured", [
    ([], {}, True), (["--color=auto"], {}, True), (["--color=never"], {}, False),
    ([], {"NO_COLOR": "1"}, False), ([], {"NO_COLOR": ""}, True), ([], {"TERM": "dumb"}, False),
    (["--color=always"], {"NO_COLOR": "1", "TERM": "dumb"}, True)])
def test_colour_on_a_terminal(environment, program, words, more, is_coloured):
    text = on_a_terminal([program, "validate", *words, "mistakes.yaml"], HERE,
                         {**environment, **more})
    assert "max_worker" in text
    assert ("\033[" in text) == is_coloured


def test_colour_of_an_error_message(shoal):
    assert "\033[" in shoal("validate", "--color=always", "nowhere.yaml").stderr
    assert "\033[" not in shoal("validate", "nowhere.yaml").stderr


def test_json_is_never_coloured(shoal):
    done = shoal("validate", "--color=always", "-o", "json", "mistakes.yaml", cwd=HERE)
    assert "\033" not in done.stdout


# ---- hostile files ----


def test_control_characters_do_not_reach_the_terminal(shoal):
    done = shoal("validate", "-", input=CLEAN + '"a\\e[31mb": 1\n')
    assert done.returncode == 1 and "\033" not in done.stdout


def test_control_characters_in_the_name_of_a_file(shoal, write):
    write("a\033[31mb.yaml", CLEAN)
    for name in ("a\033[31mb.yaml", "gone\033[31m.yaml"):
        done = shoal("validate", name)
        assert "\033" not in done.stdout + done.stderr


@pytest.mark.parametrize("text", [
    "a: " + "[" * 5000, "a: " + "{a: " * 5000, "- " * 3000 + "\n", "&a\nb: *a\n", "? " * 3000,
    "".join(f"a{i}: &a{i} [{', '.join([f'*a{i - 1}'] * 9) if i else 1}]\n" for i in range(12))])
def test_what_would_break_a_parser(shoal, text):
    done = shoal("validate", "-", input=text)
    assert done.returncode == 1 and re.search(r"^1 error$", done.stdout, re.MULTILINE)
    assert max(map(len, done.stdout.splitlines())) < 250


def test_bytes_that_are_not_text(shoal):
    done = shoal("validate", "-", input=b"cluster_name: \xff\n", encoding=None)
    assert done.returncode == 1 and b"UTF-8" in done.stdout and b"\xff" not in done.stdout


def test_more_findings_than_anybody_reads(shoal):
    text = CLEAN + "".join(f"k{i}: 1\n" for i in range(500))
    done = shoal("validate", "-", input=text)
    assert done.stdout.splitlines()[-1] == "500 errors (showing the first 200)"
    result = json.loads(shoal("validate", "-o", "json", "-", input=text).stdout)
    assert (result["errors"], len(result["findings"])) == (500, 200)


def test_warnings_do_not_hide_errors(shoal):
    ignored = ", ".join(f"a{i}: 1" for i in range(300))
    text = CLEAN.replace("us-west-2", "us-west-2, " + ignored) + "file_mounts: {/a: ./nowhere}\n"
    done = shoal("validate", "-", input=text)
    assert done.returncode == 1 and "./nowhere" in done.stdout

"""Manners that every verb has: help, complaints, broken outputs."""

import json
import os
import pathlib
import re
import subprocess

import pytest

from terminal import Screen, Terminal

HERE = pathlib.Path(__file__).resolve().parent
CLEAN = "cluster_name: demo\nprovider: {type: aws, region: us-west-2}\n"

# A command of each verb that prints something; a new verb needs its row.
SAYS_SOMETHING = {
    "validate": ["validate", "x.yaml"],
    # Not a cluster file: no cloud is asked.
    "check": ["check", str(HERE.parents[1] / "examples/workloads/gpu-training.yaml")],
    "config": ["config", "x.yaml"],
    "policy": ["policy", "x.yaml"],
    "init": ["init", "--help"],  # anything else would write a file
    # anything else of these would ask a cloud
    **{verb: [verb, "--help"] for verb in (
        "ls", "gc", "plan", "up", "status", "explain", "events", "top", "logs", "submit", "train",
        "exec", "attach", "rsync-up", "rsync-down", "get-head-ip", "get-worker-ips", "dashboard",
        "notebook", "monitor", "request-resources", "down", "autoscaler", "ssh-config", "key",
        "stop", "start", "cluster-dump")},
    "simulate": ["simulate", "x.yaml", "--workload", "small-tasks"],
    "help": ["help"],
    "completion": ["completion", "bash"],
    "version": ["version"],
}


def widest(text):
    return max(map(len, text.splitlines()))


# ---- help ----


def test_help_of_every_verb(shoal, verbs):
    for verb in verbs:
        done = shoal(verb, "--help")
        assert (done.returncode, done.stderr) == (0, ""), verb
        assert done.stdout.startswith(f"shoal {verb}: "), verb
        assert f"\nusage: shoal {verb} [OPTIONS]" in done.stdout
        assert "\nOptions:\n" in done.stdout and "--help" in done.stdout
        assert widest(done.stdout) <= 80, verb
        assert not re.search(r"[ \t]\n", done.stdout) and "\n\n\n" not in done.stdout, verb
        assert shoal("help", verb).stdout == shoal(verb, "-h").stdout == done.stdout


def test_help_wins_over_what_is_missing(shoal, verbs):
    for verb in verbs:
        assert shoal(verb, "--help", "--color", "never").returncode == 0
        assert shoal(verb, "--help", "some-operand").returncode in (0, 2)


def test_help_of_the_program(shoal, verbs):
    done = shoal("help")
    assert (done.returncode, done.stderr) == (0, "") and widest(done.stdout) <= 80
    for words in (["--help"], ["-h"]):
        assert shoal(*words).stdout == done.stdout
    for verb in verbs:
        summary = re.search(rf"^  {verb} +(.+)$", done.stdout, re.MULTILINE).group(1)
        assert shoal("help", verb).stdout.startswith(f"shoal {verb}: {summary}\n")


def test_shoal_alone(shoal):
    done = shoal()
    assert done.returncode == 2
    assert shoal("help").stdout in (done.stdout, done.stderr)


def test_version(shoal, repository):
    text = (repository / "meson.build").read_text(encoding="utf-8")
    number = re.search(r"^ *version: '([^']+)'", text, re.MULTILINE).group(1)
    for words in (["version"], ["--version"], ["-V"]):
        done = shoal(*words)
        assert done.returncode == 0 and done.stdout.startswith(f"shoal {number} ")
    assert f'"version": "{number}"' in shoal("version", "-o", "json").stdout


def test_examples_in_help_are_real_commands(shoal, verbs):
    """Each begins with the verb it stands under, perhaps inside a pipe or a substitution."""
    for verb in verbs:
        text = shoal("help", verb).stdout
        examples = re.findall(r"^  (\S.*)\n      \S", text.partition("\nExamples:\n")[2],
                              re.MULTILINE)
        for example in examples:
            assert re.search(rf"\bshoal {verb}\b", example), example


# ---- keys of the cluster file ----


def test_help_of_every_key(shoal, keys):
    for key in keys:
        done = shoal("help", key)
        assert (done.returncode, done.stderr) == (0, ""), key
        assert re.search(rf"^{re.escape(key)}: ", done.stdout, re.MULTILINE), key
        assert "example:" in done.stdout, key


@pytest.mark.parametrize("topic, words", [
    ("max_workers", ["whole number", "default:", "example:", "available_node_types.*"]),
    ("provider.region", ["read by:", "aws", "gcp"]),
    ("ssh_private_key", ["auth.ssh_private_key"])])
def test_help_of_a_key_says_what_matters(shoal, topic, words):
    text = shoal("help", topic).stdout
    assert all(word in text for word in words)


def test_help_of_keys_fits(shoal, keys):
    for key in keys:
        assert widest(shoal("help", key).stdout) <= 80, key


@pytest.mark.parametrize("topic", ["nonsense", "provider.", ".", "", "max_workers."])
def test_help_of_nothing_we_know(shoal, topic):
    done = shoal("help", topic)
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr.startswith("shoal: error: ")


@pytest.mark.parametrize("topic, meant", [("max_worker", "max_workers"), ("vlidate", "validate"),
                                          ("provider.regoin", "provider.region")])
def test_help_of_a_mistyped_topic_suggests(shoal, topic, meant):
    assert meant in shoal("help", topic).stderr


@pytest.mark.parametrize("words, found", [
    (["ssh"], "attach"), (["docker-compose"], None), (["-k", "spot"], "up"), (["-k", "x"], None),
    (["-k", "dash"], "dashboard"), (["InstanceType"], "available_node_types"),
    (["terminate"], "down"), (["-k", "xyzzy"], None)])
def test_help_is_searched(shoal, words, found):
    done = shoal("help", *words)
    if found is None:
        assert (done.returncode, done.stdout) == (2, "") and "shoal: error: " in done.stderr
    else:
        assert (done.returncode, done.stderr) == (0, "") and widest(done.stdout) <= 80
        assert re.search(rf"^  {found}", done.stdout, re.MULTILINE), done.stdout


# ---- complaints ----


def test_unknown_options(shoal, verbs):
    for verb in verbs:
        for option in ("--no-such-option", "-Z", "--no-such=1", "-Zx"):
            done = shoal(verb, option)
            assert (done.returncode, done.stdout) == (2, ""), (verb, option)
            lines = done.stderr.splitlines()
            assert re.match(r"shoal: error: unknown option -", lines[0]), done.stderr
            assert lines[1].startswith(f"usage: shoal {verb} ")
            assert f"`shoal help {verb}`" in lines[2] and len(lines) == 3


def test_mistyped_options_are_suggested(shoal, verbs):
    for verb in verbs:
        options = re.findall(r"--([a-z-]+)", shoal("help", verb).stdout.split("\nExamples:")[0])
        for option in set(options):
            mistyped = f"--{option[:-2]}{option[-1]}{option[-2]}"
            if mistyped == f"--{option}":  # its last two letters are the same
                mistyped = f"--{option}{option[-1]}"
            done = shoal(verb, mistyped)
            assert done.returncode == 2 and f"did you mean --{option}?" in done.stderr, mistyped


def test_values_of_options(shoal, verbs):
    for verb in verbs:
        done = shoal(verb, "--color", "sometimes")
        assert (done.returncode, done.stdout) == (2, "")
        assert '"sometimes"' in done.stderr and "auto, always, never" in done.stderr
        assert shoal(verb, "--color").returncode == 2
        assert "takes no value" in shoal(verb, "--help=yes").stderr


def test_one_argument_too_many(shoal, verbs):
    for verb in verbs:
        if verb in ("submit", "train"):  # the other arguments are the script's
            continue
        done = shoal(verb, "one", "two", "three", "four")
        assert (done.returncode, done.stdout) == (2, "")
        assert re.search(r'"(one|two|three|four)" is one argument too many', done.stderr)


@pytest.mark.parametrize("typed, meant", [
    ("vlidate", "validate"), ("valdate", "validate"), ("VALIDATE", "validate"),
    ("confg", "config"), ("hlep", "help"), ("completions", "completion"), ("verison", "version")])
def test_mistyped_verbs_are_suggested(shoal, typed, meant):
    done = shoal(typed, "x.yaml")
    assert (done.returncode, done.stdout) == (2, "")
    assert f'"{typed}"' in done.stderr and f'did you mean "{meant}"?' in done.stderr


@pytest.mark.parametrize("typed, meant", [
    ("halt", "stop"), ("delete", "down"), ("destroy", "down"), ("terminate", "down"),
    ("ssh", "attach"), ("launch", "up"), ("create", "up"), ("list", "ls")])
def test_words_of_other_programs_are_understood(shoal, typed, meant):
    done = shoal(typed, "x.yaml")
    assert (done.returncode, done.stdout) == (2, "")
    assert f'did you mean "{meant}"?' in done.stderr


def test_a_file_is_no_command(shoal):
    done = shoal("c3.yaml")
    assert (done.returncode, done.stdout) == (2, "")
    assert "the command is missing; for example: shoal up c3.yaml" in done.stderr


@pytest.mark.parametrize("typed", ["xyzzy", "", "x" * 5000, "\033[31m"])
def test_unknown_verbs_are_not_guessed(shoal, typed):
    done = shoal(typed)
    assert (done.returncode, done.stdout) == (2, "")
    assert "`shoal help`" in done.stderr and len(done.stderr) < 400


def test_options_may_stand_anywhere(shoal, write):
    write("x.yaml", CLEAN)
    expected = shoal("validate", "-o", "json", "x.yaml").stdout
    for words in (["x.yaml", "-o", "json"], ["-ojson", "x.yaml"], ["--output=json", "x.yaml"],
                  ["x.yaml", "--output", "json"], ["-o", "text", "-o", "json", "x.yaml"],
                  ["-o", "json", "--", "x.yaml"]):
        assert shoal("validate", *words).stdout == expected, words


@pytest.mark.parametrize("columns", [40, 80])
@pytest.mark.parametrize("words", [
    ["validate", "one", "two"], ["gc", "--regoin", "us-west-2"], ["plan", "x.yaml", "more"],
    ["exec", "x.yaml", "true"], ["vlidate"]], ids=lambda words: words[0])
def test_complaints_are_folded_between_words(program, write, environment, folder, words, columns):
    """No line is wider than the terminal, and every word is whole."""
    write("x.yaml", CLEAN.replace("aws, region: us-west-2", "gcp, project_id: p"))
    piped = subprocess.run([program, *words], cwd=folder, env=environment, check=False,
                           stdin=subprocess.DEVNULL, stderr=subprocess.PIPE, encoding="utf-8")
    terminal = Terminal(["env", "-C", folder, program, *words], columns=columns, lines=24,
                        env={**environment, "NO_COLOR": "1"})
    data, _ = terminal.end()
    screen = Screen(columns, 24)
    screen.feed(data)  # it complains about lines that are too wide
    assert screen.text().split() == piped.stderr.split()


@pytest.mark.parametrize("words, status, kind", [
    (["validate", "-o", "json", "nowhere.yaml"], 1, "not-found"),
    (["status", "-o", "json", "nowhere.yaml"], 1, "not-found"),
    (["up", "-o", "json", "nowhere.yaml"], 1, "not-found"),
    (["up", "-o", "json", "-y", "gcp.yaml"], 1, "config"),
    (["plan", "-o", "json"], 2, "usage"),
    (["ls", "-o", "json", "--no-such"], 2, "usage")], ids=str)
def test_early_errors_are_json_too(shoal, write, words, status, kind):
    write("gcp.yaml", CLEAN.replace("aws, region: us-west-2", "gcp, project_id: p"))
    done = shoal(*words)
    said = json.loads(done.stdout)
    assert done.returncode == status and said["error_kind"] == kind, said
    assert said["error"].split() and said["error"].split()[0] in done.stderr


def test_an_error_in_an_answer_is_not_told_twice(shoal, write):
    write("x.yaml", CLEAN + "no_such_key: 1\n")
    assert "findings" in json.loads(shoal("validate", "-o", "json", "x.yaml").stdout)


# ---- outputs that break ----


def test_there_is_a_command_for_every_verb(verbs):
    assert sorted(SAYS_SOMETHING) == sorted(verbs)


@pytest.mark.skipif(not os.path.exists("/dev/full"), reason="needs /dev/full")
@pytest.mark.parametrize("words", SAYS_SOMETHING.values(), ids=SAYS_SOMETHING)
def test_a_full_disk(shoal, write, words):
    write("x.yaml", CLEAN)
    with open("/dev/full", "w", encoding="utf-8") as full:
        for more in ([], ["--help"]):
            done = shoal(*words, *more, stdout=full)
            assert done.returncode == 1
            assert re.fullmatch(r"shoal: error: cannot write: .*space.*\n", done.stderr)


@pytest.mark.parametrize("words", SAYS_SOMETHING.values(), ids=SAYS_SOMETHING)
def test_a_closed_output(run, write, program, words):
    write("x.yaml", CLEAN)
    done = run(["sh", "-c", 'exec "$@" >&-', "sh", program, *words])
    assert done.returncode == 1 and re.match(r"shoal: error: cannot write: ", done.stderr)


@pytest.mark.parametrize("streams", ["<&-", "2>&-", "<&- >&- 2>&-"])
@pytest.mark.parametrize("words", [["check"], ["status"], ["exec", "true"]], ids=lambda w: w[0])
def test_closed_streams_of_verbs_with_a_loop(run, write, program, words, streams):
    """They fail because there are no credentials, not because a socket is standard input."""
    write("x.yaml", CLEAN)
    done = run(["sh", "-c", f'exec "$@" {streams}', "sh", program, words[0], "x.yaml", *words[1:]],
               env={"AWS_EC2_METADATA_DISABLED": "true"})
    assert done.returncode == 1, done


@pytest.mark.parametrize("words", [*SAYS_SOMETHING.values(), ["help", "--keys"]], ids=str)
def test_a_reader_that_goes_away(run, write, environment, folder, program, words):
    write("x.yaml", CLEAN)
    outer, inner = os.pipe()
    os.close(outer)
    try:
        done = subprocess.run([program, *words], cwd=folder, env=environment, stdout=inner,
                              stderr=subprocess.PIPE, encoding="utf-8", timeout=60, check=False)
    finally:
        os.close(inner)
    assert done.returncode in (0, 1) and done.stderr.count("\n") <= 1
    piped = run(["sh", "-c", '"$@" | head -n 0', "sh", program, *words])
    assert piped.returncode == 0 and piped.stderr.count("\n") <= 1


def test_a_full_disk_for_complaints(shoal):
    with open("/dev/full", "w", encoding="utf-8") as full:
        assert shoal("validate", "nowhere.yaml", stderr=full).returncode == 1
        assert shoal("vlidate", stderr=full).returncode == 2


# ---- what must not matter ----


@pytest.mark.parametrize("more", [{"LC_ALL": "C"}, {"LC_ALL": "tr_TR.UTF-8"}, {"COLUMNS": "20"},
                                  {"TZ": "Asia/Kathmandu"}, {"HOME": ""}, {"TERM": ""}])
def test_the_environment_does_not_matter(shoal, more):
    plain = shoal("validate", "mistakes.yaml", cwd=HERE)
    assert shoal("validate", "mistakes.yaml", cwd=HERE, env=more).stdout == plain.stdout
    assert shoal("help", env=more).stdout == shoal("help").stdout


def test_nothing_is_written(shoal, write, folder, home):
    write("x.yaml", CLEAN)
    for words in SAYS_SOMETHING.values():
        shoal(*words)
    assert [path.name for path in folder.iterdir()] == ["x.yaml"]
    assert list(home.iterdir()) == []

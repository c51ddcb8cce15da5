"""Every command that Shoal suggests exists, with its options and that many arguments.

Each is run in an empty home, without credentials and without a network, on a file that is not
valid. It may fail, but not as wrong usage: an unknown command or option, a value that an option
does not take, an argument too many or too few.
"""

import pytest

import suggestions

OFFLINE = {"AWS_EC2_METADATA_DISABLED": "true", "HTTPS_PROXY": "http://127.0.0.1:9"}
STARTS_SOMETHING = {"autoscaler", "node"}  # these are only parsed
# A text that is printed piece by piece: the commands that it becomes.
PRINTED_AS = {
    ("src/cli/launch.c", "demo demo"): [  # the end of `up`
        ["submit", "demo", "SCRIPT.py"], ["attach", "demo"], ["top", "demo"], ["down", "demo"],
        ["submit", "-n", "demo", "cluster.yaml", "SCRIPT.py"],
        ["attach", "-n", "demo", "cluster.yaml"], ["top", "-n", "demo", "cluster.yaml"],
        ["down", "-n", "demo", "cluster.yaml"]],
    ("src/cli/progress/display.c", "demo demo"): [  # after Ctrl-C
        ["up", "demo"], ["down", "demo"], ["up", "-n", "demo", "cluster.yaml"],
        ["down", "-n", "demo", "cluster.yaml"]],
    ("src/cli/args.c", "demo demo demo demo"): [["exec", "FILE", "a b"], ["submit", "FILE", "a b"]],
    ("src/cli/main.c", "help demo"): [["help", "up"], ["help", "node"]],
    ("src/cli/verb_help.c", "demo"): [["up"], ["down"]],  # a synonym's command
}
PROSE = "a sentence about the program"
SCRIPT = "code of a completion script"
FORMAT = "the first line of something stored, or a name"
# What is not a suggestion, and why.
NO_SUGGESTION = {
    ("src/app/cluster_file.c", "cannot"): PROSE,
    ("src/app/payload.c", "program"): PROSE,
    ("src/app/payload.c", "runs"): PROSE,
    ("src/app/preflight.c", "needs"): PROSE,
    ("src/cli/verb_ctl.c", "commands"): PROSE,
    ("src/cli/verb_exec.c", "(Ctrl-C"): PROSE,
    ("src/cli/verb_exec.c", "runs"): PROSE,
    ("src/cli/verb_validate.c", "converts"): PROSE,
    ("src/remote/node_session.c", "program"): PROSE,
    ("src/app/launch/cluster_session.c", "demo"): "names the holder of a lease",
    ("src/cli/verb_version.c", "demo"): "the version",
    ("src/cli/help.c", "demo"): "the heading of a command's help",
    ("src/cli/help.c", "demo [OPTIONS]"): "a usage line; the parser has the same table",
    ("src/cli/help.c", "up [OPTIONS] [ARGUMENTS]"): "a usage line of any command",
    ("src/cli/manual.c", "demo*"): "a usage line; the parser has the same table",
    ("src/cli/completion.c", "# zsh"): SCRIPT,
    ("src/cli/completion.c", "fi"): SCRIPT,
    ("src/cli/completion.c", "-f"): SCRIPT,
    ("src/cli/completion.c", "-n"): SCRIPT,
    ("src/provider/aws/cluster/group_rules.h", "caller"): FORMAT,
    ("src/provider/aws/cluster/lease_chain.c", "1"): FORMAT,
    ("src/provider/launch_token.c", "launch demo %"): FORMAT,
    ("src/remote/ssh_key.c", "host"): FORMAT,
}


def of_file(suggestion):
    return suggestion.place.rsplit(":", 1)[0], " ".join(suggestion.words)


@pytest.fixture(scope="module")
def found():
    return suggestions.collect()


@pytest.fixture
def complaint(shoal, write):
    """What is wrong with a command, or None."""

    def judge(words):
        name, *rest = words
        if "\nusage: shoal " not in shoal("help", "--", name).stdout:  # help knows keys too
            return f"there is no command {name}"
        if not rest:  # it may be just the name
            return None
        if name in STARTS_SOMETHING:
            done = shoal(name, "--help", *rest)
        else:
            write("cluster.yaml", "not: a cluster\n")  # the default of commands that need a file
            done = shoal(name, *rest, env=OFFLINE)
        return done.stderr.splitlines()[0] if done.returncode == 2 else None

    return judge


def test_every_suggested_command_exists(found, complaint):
    todo = {}
    for suggestion in found:
        for words in PRINTED_AS.get(of_file(suggestion), [suggestion.words]):
            if of_file(suggestion) not in NO_SUGGESTION:
                todo.setdefault(tuple(words), suggestion.place)
    wrong = {words: complaint(list(words)) for words in todo}
    wrong = [f"{todo[words]}: shoal {' '.join(words)}\n    {why}"
             for words, why in wrong.items() if why]
    assert not wrong, "\n" + "\n".join(wrong)


def test_the_lists_have_nothing_superfluous(found):
    places = {of_file(suggestion) for suggestion in found}
    assert not {*PRINTED_AS, *NO_SUGGESTION} - places


# ---- the collector ----


@pytest.mark.parametrize("text, words", [
    ("run `shoal up` again", "up"),
    ("run shoal up again in a minute", "up"),
    ("shoal down FILE removes it", "down cluster.yaml"),
    ("list it with: shoal gc --delete", "gc --delete"),
    ("1 volume: shoal down old --region eu-west-1", "down old --region eu-west-1"),
    ("(`shoal status -o json FILE | jq .`)", "status -o json cluster.yaml"),
    ("see `shoal\nlogs`.", "logs"),
    ("ask: shoal exec FILE 'ray status', then wait", "exec cluster.yaml ray status"),
    ("its log: shoal logs cluster.yaml head   (whole output)", "logs cluster.yaml head")])
def test_collector_reads_a_sentence(text, words):
    assert [" ".join(found) for _, found in suggestions.in_text(text)] == [words]


@pytest.mark.parametrize("text, words", [
    ('x("a `shoal up %s` "\n  "b");', "up demo"),
    ('{"shoal exec cluster.yaml \'ray status\' > out.txt", "Ask Ray."},',
     "exec cluster.yaml ray status"),
    ('f("to do it: shoal down%s FILE, then wait", x);', "down cluster.yaml"),
    ('"head=$(shoal get-head-ip cluster.yaml)"', "get-head-ip cluster.yaml")])
def test_collector_reads_a_source(text, words):
    assert [" ".join(found) for _, found in suggestions.in_source(text)] == [words]


def test_collector_reads_a_page():
    page = ("Use it:\n\n```console\n$ shoal up -y \\\n    cluster.yaml\ndone\n```\n\n"
            "and `shoal ls`.\n")
    assert list(suggestions.in_page(page)) == [(4, ["up", "-y", "cluster.yaml"]), (9, ["ls"])]


@pytest.mark.parametrize("words", [
    "upp cluster.yaml", "docker", "up --now cluster.yaml", "up cluster.yaml too",
    "top --sort colour", "down demo --region R"])
def test_wrong_suggestions_are_noticed(complaint, words):
    assert complaint(words.split())


@pytest.mark.parametrize("words", ["up cluster.yaml", "ls -o json", "logs", "status -o json"])
def test_right_suggestions_pass(complaint, words):
    assert complaint(words.split()) is None

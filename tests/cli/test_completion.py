"""Completion scripts: each shell loads its own, and really completes with it."""

import os
import pathlib
import pty
import re
import select
import signal
import subprocess
import time

import pytest

BASH_ASK = r"""
source <(shoal completion bash)
COMP_WORDS=("$@")
COMP_CWORD=$(($# - 1))
COMPREPLY=()
COMP_LINE="$*"
COMP_POINT=${#COMP_LINE}
_shoal shoal "${COMP_WORDS[COMP_CWORD]}" "${COMP_WORDS[COMP_CWORD-1]}"
[ ${#COMPREPLY[@]} -eq 0 ] || printf '%s\n' "${COMPREPLY[@]}"
"""

# Control-T writes down the command line as it stands.
BASH_START = r"""
PS1='$ '
bind 'set bell-style none'
bind -x '"\C-t": printf "%s\n" "$READLINE_LINE" >> "$SHOAL_ANSWERS"'
source <(shoal completion bash)
PROMPT_COMMAND='echo ready >> "$SHOAL_ANSWERS"'
"""

# Completes each line of $SHOAL_LINES where a user would press the tabulator, and writes down what
# stands on the command line afterwards.
ZSH_START = r"""
fpath=("$SHOAL_FPATH" $fpath)
autoload -U compinit
compinit -D -u
complete_lines() {
    local line
    for line in "${(@f)$(<$SHOAL_LINES)}"; do
        BUFFER=$line
        CURSOR=$#BUFFER
        zle complete-word
        print -r -- "$BUFFER" >> $SHOAL_ANSWERS
    done
    BUFFER=exit
    zle accept-line
}
zle -N zle-line-init complete_lines
"""


@pytest.fixture
def files(write, folder):
    write("cluster.yaml", "")
    (folder / "configs").mkdir()


@pytest.fixture
def clusters(environment):
    """Clusters that were started from this machine."""
    state = pathlib.Path(environment["HOME"]) / ".local" / "state" / "shoal"
    for name in ("aws-us-west-2-demo", "aws-us-gov-west-1-night-runs", "aws-eu-west-1-a%20b",
                 "gcp-us-central1-labs", "gcp-west-not", "other"):
        (state / name).mkdir(parents=True)


def test_the_names_of_clusters(shoal, clusters):
    done = shoal("completion", "clusters")
    assert done.returncode == 0
    assert sorted(done.stdout.splitlines()) == ["demo", "labs", "night-runs"]


def test_there_are_no_clusters(shoal):
    done = shoal("completion", "clusters")
    assert (done.returncode, done.stdout) == (0, "")


# ---- bash ----


def wait_for_lines(path, count, child):
    """The lines of a file as soon as it has so many."""
    end = time.monotonic() + 20
    while time.monotonic() < end and child.poll() is None:
        lines = path.read_text(encoding="utf-8").splitlines() if path.exists() else []
        if len(lines) >= count:
            return lines
        time.sleep(0.01)
    pytest.fail("bash did not answer")


@pytest.fixture
def typed(environment, need, files, folder, tmp_path):
    """typed(["shoal va", ...]): the same lines after a press of the tabulator, in a real bash."""
    program = need("bash")

    def complete(lines):
        start, answers = tmp_path / "bashrc", tmp_path / "answers"
        start.write_text(BASH_START, encoding="utf-8")
        env = {**environment, "SHOAL_ANSWERS": str(answers), "TERM": "dumb"}
        outer, inner = pty.openpty()
        words = [program, "--noprofile", "--rcfile", str(start), "-i"]
        with subprocess.Popen(words, cwd=folder, env=env, stdin=inner, stdout=inner, stderr=inner,
                              start_new_session=True) as child:
            os.close(inner)
            try:
                wait_for_lines(answers, 1, child)  # the first prompt
                for number, line in enumerate(lines):
                    os.write(outer, f"{line}\t\x14\x15".encode())
                    wait_for_lines(answers, number + 2, child)
            finally:
                os.killpg(child.pid, signal.SIGKILL)
        os.close(outer)
        said = answers.read_text(encoding="utf-8").splitlines()[1:]
        return {line: answer.rstrip() for line, answer in zip(lines, said, strict=True)}

    return complete


@pytest.fixture
def bash(run, need, files):
    """bash("validate", "-o", ""): what the last word may become."""
    program = need("bash")

    def complete(*words):
        done = run([program, "--norc", "-c", BASH_ASK, "bash", "shoal", *words])
        assert (done.returncode, done.stderr) == (0, "")
        return done.stdout.splitlines()

    return complete


def test_bash_loads(run, need):
    script = "set -eu; source <(shoal completion bash); complete -p shoal; declare -F _shoal"
    done = run([need("bash"), "--norc", "-c", script])
    assert (done.returncode, done.stderr) == (0, "")
    assert "-F _shoal shoal" in done.stdout


def test_bash_verbs(bash, verbs):
    assert set(verbs) <= set(bash(""))
    assert bash("va") == ["validate"]
    assert bash("no-such") == []
    assert sorted(bash("--")) == ["--help", "--version"]


def test_bash_options(bash, shoal, verbs):
    for verb in verbs:
        text = shoal("help", verb).stdout.partition("\nOptions:\n")[2].split("\nExamples:")[0]
        options = re.findall(r"^  (?:-\w, |    )(--[a-z-]+)", text, re.MULTILINE)
        assert sorted(bash(verb, "--")) == sorted(options), verb
        letters = re.findall(r"^  (-\w), ", text, re.MULTILINE)
        assert set(letters) <= set(bash(verb, "-")), verb


def test_bash_values(bash):
    for option in ("-o", "--output"):
        assert bash("validate", option, "") == ["text", "json"]
        assert bash("config", option, "") == ["yaml", "json"]
    assert bash("validate", "-o", "j") == ["json"]
    assert bash("config", "--color", "a") == ["auto", "always"]
    assert set(bash("completion", "")) >= {"bash", "zsh", "fish"}


def test_bash_values_behind_an_equals_sign(bash):
    assert bash("validate", "--output", "=", "j") == ["json"]


def test_bash_operands(bash, verbs):
    assert sorted(bash("validate", "")) == ["cluster.yaml", "configs"]
    assert bash("config", "-o", "json", "cl") == ["cluster.yaml"]
    assert set(verbs) <= set(bash("help", ""))


def test_bash_clusters(bash, clusters):
    assert sorted(bash("status", "")) == ["cluster.yaml", "configs", "demo", "labs", "night-runs"]
    assert bash("exec", "ni") == ["night-runs"]
    assert "demo" not in bash("validate", "")  # it needs a file


def test_bash_file_names_with_blanks(bash, write):
    write("my cluster.yaml", "")
    assert bash("validate", "my") == ["my cluster.yaml"]


def test_bash_completes(typed):
    expected = {
        "shoal va": "shoal validate",
        "shoal completion f": "shoal completion fish",
        "shoal validate -o j": "shoal validate -o json",
        "shoal config --has": "shoal config --hashes",
        "shoal validate cl": "shoal validate cluster.yaml",
        "shoal config -o json con": "shoal config -o json configs/",
        "shoal simulate --workload cl": "shoal simulate --workload cluster.yaml",
        "shoal validate --no-such": "shoal validate --no-such",
    }
    assert typed(list(expected)) == expected


def test_bash_folders_that_are_called_like_verbs(typed, folder):
    for name in ("validate", "json"):
        (folder / name).mkdir()
    expected = {"shoal va": "shoal validate", "shoal validate -o j": "shoal validate -o json"}
    assert typed(list(expected)) == expected


# ---- zsh ----


def wait_for_exit(child, outer, seconds):
    """Reads what a shell on a terminal prints until it ends."""
    end = time.monotonic() + seconds
    said = b""
    while time.monotonic() < end:
        if select.select([outer], [], [], 0.1)[0]:
            try:
                said += os.read(outer, 65536)
            except OSError:  # Linux says so when the other end is closed
                break
        elif child.poll() is not None:
            break
    if child.poll() is None:
        try:
            child.wait(timeout=1)
        except subprocess.TimeoutExpired:
            os.killpg(child.pid, signal.SIGKILL)
            child.wait()
            pytest.fail(f"zsh did not end; it said {said.decode(errors='replace')}")
    return said.decode(errors="replace")


@pytest.fixture
def zsh(environment, need, shoal, files, folder, tmp_path):
    """zsh(["shoal va", ...]): the same lines after a press of the tabulator."""
    program = need("zsh")

    def complete(lines):
        place = tmp_path / "zsh"
        place.mkdir()
        (place / "_shoal").write_text(shoal("completion", "zsh").stdout, encoding="utf-8")
        (place / ".zshrc").write_text(ZSH_START, encoding="utf-8")
        (place / "lines").write_text("\n".join(lines) + "\n", encoding="utf-8")
        outer, inner = pty.openpty()
        env = {**environment, "ZDOTDIR": str(place), "SHOAL_FPATH": str(place),
               "SHOAL_LINES": str(place / "lines"), "SHOAL_ANSWERS": str(place / "answers")}
        with subprocess.Popen([program, "-d", "-i"], cwd=folder, env=env, stdin=inner,
                              stdout=inner, stderr=inner, start_new_session=True) as child:
            os.close(inner)
            said = wait_for_exit(child, outer, 60)
        os.close(outer)
        assert (place / "answers").exists(), said
        answers = (place / "answers").read_text(encoding="utf-8").splitlines()
        return dict(zip(lines, answers, strict=True))

    return complete


def test_zsh_loads(run, need, shoal, tmp_path):
    (tmp_path / "_shoal").write_text(shoal("completion", "zsh").stdout, encoding="utf-8")
    script = ('fpath=("$1" $fpath); autoload -U compinit; compinit -D -u; '
              'print -r -- "$_comps[shoal]"; whence -w _shoal')
    done = run([need("zsh"), "-f", "-c", script, "zsh", tmp_path])
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout.splitlines() == ["_shoal", "_shoal: function"]


def test_zsh_loads_by_source(run, need):
    script = ('autoload -U compinit; compinit -D -u; source <(shoal completion zsh); '
              'print -r -- "$_comps[shoal]"')
    done = run([need("zsh"), "-f", "-c", script])
    assert (done.returncode, done.stderr, done.stdout) == (0, "", "_shoal\n")


def test_zsh_completes(zsh):
    expected = {
        "shoal va": "shoal validate",
        "shoal completion f": "shoal completion fish",
        "shoal help comp": "shoal help completion",
        "shoal validate -o j": "shoal validate -o json",
        "shoal validate --output j": "shoal validate --output json",
        "shoal validate --color al": "shoal validate --color always",
        "shoal config --has": "shoal config --hashes",
        "shoal config --show": "shoal config --show-secrets",
        "shoal validate cl": "shoal validate cluster.yaml",
        "shoal config -o json con": "shoal config -o json configs/",
        "shoal simulate --workload cl": "shoal simulate --workload cluster.yaml",
        "shoal validate --no-such": "shoal validate --no-such",
    }
    answers = zsh(list(expected))
    assert {line: answer.rstrip() for line, answer in answers.items()} == expected


def test_zsh_clusters(zsh, clusters):
    expected = {"shoal status ni": "shoal status night-runs",
                "shoal exec clu": "shoal exec cluster.yaml"}
    answers = zsh(list(expected))
    assert {line: answer.rstrip() for line, answer in answers.items()} == expected


def test_zsh_values_behind_an_equals_sign(zsh):
    line = "shoal validate --output=j"
    assert zsh([line])[line].rstrip() == "shoal validate --output=json"


# ---- fish ----


@pytest.fixture
def fish(run, need, files):
    """fish("shoal va"): {completion: description}."""
    program = need("fish")

    def complete(line):
        script = "shoal completion fish | source; complete -C $argv[1]"
        done = run([program, "--no-config", "-c", script, line])
        assert (done.returncode, done.stderr) == (0, "")
        return dict(answer.partition("\t")[::2] for answer in done.stdout.splitlines())

    return complete


def test_fish_loads(run, need):
    script = "shoal completion fish | source; complete shoal"
    done = run([need("fish"), "--no-config", "-c", script])
    assert (done.returncode, done.stderr) == (0, "") and "shoal" in done.stdout


def test_fish_verbs(fish, verbs, shoal):
    answers = fish("shoal ")
    assert set(answers) == set(verbs)
    for verb, summary in answers.items():
        assert shoal("help", verb).stdout.startswith(f"shoal {verb}: {summary}\n")
    assert list(fish("shoal va")) == ["validate"]


def test_fish_options_and_values(fish):
    assert {"--output", "--help", "--color", "-o", "-h"} <= set(fish("shoal validate -"))
    assert set(fish("shoal validate -o ")) == {"text", "json"}
    assert set(fish("shoal config --output=")) == {"--output=yaml", "--output=json"}
    assert set(fish("shoal config --color a")) == {"auto", "always"}
    assert {"--hashes", "--show-secrets"} <= set(fish("shoal config --"))
    assert "--hashes" not in fish("shoal validate --")


def test_fish_operands(fish, verbs, write):
    write("my cluster.yaml", "")
    assert set(fish("shoal validate c")) == {"cluster.yaml", "configs/"}
    assert set(fish("shoal config m")) == {"my cluster.yaml"}
    assert set(fish("shoal simulate -w cl")) == {"cluster.yaml"}
    assert set(fish("shoal completion ")) == {"bash", "zsh", "fish", "clusters"}
    assert set(fish("shoal help ")) >= set(verbs)


def test_fish_clusters(fish, clusters):
    assert set(fish("shoal status d")) == {"demo"}
    assert set(fish("shoal exec c")) == {"cluster.yaml", "configs/"}


# ---- which shells ----


def test_a_shell_that_is_not_known(shoal):
    done = shoal("completion", "tcsh")
    assert (done.returncode, done.stdout) == (2, "")
    assert all(name in done.stderr for name in ("tcsh", "bash", "zsh", "fish"))


def test_scripts_know_every_verb(shoal, verbs):
    for name in ("bash", "zsh", "fish"):
        script = shoal("completion", name).stdout
        assert all(verb in script for verb in verbs), name
        assert script.splitlines()[0 if name != "zsh" else 1].startswith(f"# {name} completion")

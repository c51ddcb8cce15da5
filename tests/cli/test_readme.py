"""The five-minute start of README.md, typed in and compared with what it says will be printed.

In the fenced ```console blocks below the heading that promises five minutes, a line `$ command`
is run (a backslash at its end, `> ` lines and here-documents continue it) and the lines below it
are its output; `...` alone on a line matches any lines. All commands share one folder and one
shell. Lines that install or build are not run: the shoal of this build is on the PATH.
"""

import re
import shutil

import pytest

PROMISE = "five minutes"
BUILDERS = {"apt", "apt-get", "git", "meson", "ninja", "packaging/static", "tar"}
MARK = "shoal-readme-step"
ANY_LINES = "..."


# ---- reading ----


def section(text):
    """What stands below the heading that makes the promise, up to the next one of its rank."""
    rank, kept, in_block = None, [], False
    for line in text.splitlines():
        in_block ^= line.startswith("```")
        heading = None if in_block else re.match(r"(#+) +(.*)", line)
        if heading and rank is None and PROMISE in heading.group(2).lower():
            rank = len(heading.group(1))
        elif heading and rank is not None and len(heading.group(1)) <= rank:
            break
        elif rank is not None:
            kept.append(line)
    return "\n".join(kept) + "\n"


def steps(text):
    """[(command, expected lines)] of every console block."""
    found = []
    for block in re.findall(r"^```console\n(.*?)^```", text, re.MULTILINE | re.DOTALL):
        lines = block.splitlines()
        while lines:
            line = lines.pop(0)
            if not line.startswith("$ "):
                assert found, f"a console block begins with a command, not with: {line}"
                found[-1][1].append(line)
                continue
            found.append((whole_command(line[2:], lines), []))
    return found


def whole_command(command, lines):
    """The command with the lines that continue it taken from `lines`."""
    here = re.search(r"<<-?\s*(['\"]?)(\w+)\1", command)
    while lines and command.endswith("\\"):
        command += "\n" + lines.pop(0).removeprefix("> ")
    while lines and lines[0].startswith("> "):
        command += "\n" + lines.pop(0)[2:]
    while here and lines and command.splitlines()[-1] != here.group(2):
        command += "\n" + lines.pop(0)
    return command


def runnable(command):
    """The part of a command that is run: all of it, unless it installs or builds."""
    parts = [part for part in command.split(" && ") if not builds(part)]
    return " && ".join(parts) if len(parts) < len(command.split(" && ")) else command


def builds(command):
    words = command.split()
    while words and (words[0] == "sudo" or re.match(r"\w+=", words[0])):
        words.pop(0)
    return bool(words) and words[0] in BUILDERS


def clones(command):
    """The folder that a skipped `git clone` would have made, or None."""
    found = re.search(r"\bgit clone (?:-\S+ )*(\S+)(?: +([^\s&;]+))?", command)
    return (found.group(2) or re.sub(r"\.git$", "", found.group(1).rstrip("/").split("/")[-1])) \
        if found else None


# ---- running ----


def script_of(commands):
    """One shell script; a mark with a number stands before the output of each command."""
    parts = ["exec 2>&1"]
    for number, command in enumerate(commands):
        parts.append(f"printf '\\n%s %d\\n' {MARK} {number}\n{{\n{command}\n}} < /dev/null")
    return "\n".join(parts) + "\n"


def outputs_of(said, count):
    """The printed lines of each command."""
    pieces = re.split(rf"\n{MARK} \d+\n", "\n" + said)
    assert len(pieces) == count + 1, f"the shell stopped early:\n{said}"
    return [[line.rstrip() for line in piece.splitlines()] for piece in pieces[1:]]


def matches(expected, printed):
    """Line by line; ANY_LINES swallows as many as needed."""
    if not expected:
        return not printed
    if expected[0].strip() == ANY_LINES:
        return any(matches(expected[1:], printed[at:]) for at in range(len(printed) + 1))
    return bool(printed) and expected[0].rstrip() == printed[0].rstrip() and \
        matches(expected[1:], printed[1:])


def lay_out(folder, repository, build):
    """What a reader who has cloned and built finds around them."""
    folder.mkdir(exist_ok=True)
    shutil.copytree(repository / "examples", folder / "examples")
    (folder / "build").symlink_to(build)


@pytest.fixture
def play(run, folder, repository, build, need):
    """Runs the steps and says where the output differs: [] when nowhere."""
    shell = need("bash")

    def run_steps(todo):
        lay_out(folder, repository, build)
        for command, _ in todo:
            if builds(command.split(" && ")[0]) and clones(command):
                lay_out(folder / clones(command), repository, build)
        # What a part that is not run would have printed is not compared.
        wanted = [(runnable(command), expected if runnable(command) == command else [ANY_LINES])
                  for command, expected in todo if runnable(command)]
        said = run([shell, "--norc", "-c", script_of(command for command, _ in wanted)]).stdout
        printed = outputs_of(said, len(wanted))
        return [f"$ {command}\n" + "\n".join(lines) + "\n-- but README.md says:\n" +
                "\n".join(expected)
                for (command, expected), lines in zip(wanted, printed, strict=True)
                if not matches(expected, lines)]

    return run_steps


# ---- the start itself ----


def test_the_first_five_minutes(play, repository):
    readme = repository / "README.md"
    assert readme.exists(), "there is no README.md"
    todo = steps(section(readme.read_text(encoding="utf-8")))
    ran = [command for command, _ in todo if runnable(command)]
    assert any("shoal validate" in command for command in ran), \
        f'README.md has no console block with shoal validate below "{PROMISE}"'
    different = play(todo)
    assert not different, "\n\n".join(different)


# ---- and the program that plays it ----


SAMPLE = """\
# Title

```console
$ false # before the section
```

## Five Minutes to go

```console
$ git clone https://example.com/me/thing.git && cd thing
Cloning into 'thing'...
$ sudo apt-get install gcc
$ ls -d examples/clusters
examples/clusters
$ cat > a.txt <<'END'
one
$two
END
$ cat a.txt
one
$two
$ printf '%s\\n' 1 2 3 4
1
...
4
$ echo a \\
>   b
a b
$ x=5
$ echo $x >&2
5
```

### Still in it

```console
$ shoal validate nowhere.yaml
shoal: error: nowhere.yaml: No such file or directory
```

## Out of it

```console
$ false # behind the section
```
"""


def test_player_reads_a_readme():
    todo = steps(section(SAMPLE))
    assert [command for command, _ in todo if "false" in command] == []
    assert ("cat > a.txt <<'END'\none\n$two\nEND", []) in todo
    assert ("echo a \\\n  b", ["a b"]) in todo
    assert len(todo) == 10


def test_player_accepts_what_is_true(play):
    assert play(steps(section(SAMPLE))) == []


@pytest.mark.parametrize("old, new", [
    ("\n4\n", "\n5\n"), ("\na b\n", "\na  b\n"), ("\na b\n", "\n"), ("\nexamples/clusters\n", "\n"),
    ("No such file", "Such a file"), ("$ echo a", "$ echo c"), ("x=5", "x=6")])
def test_player_notices_what_is_not(play, old, new):
    assert SAMPLE.count(old) == 1
    assert len(play(steps(section(SAMPLE.replace(old, new))))) == 1


@pytest.mark.parametrize("expected, printed, answer", [
    ([], [], True), ([], ["a"], False), (["..."], [], True), (["..."], ["a", "b"], True),
    (["a", "...", "c"], ["a", "b", "b", "c"], True), (["a", "...", "c"], ["a", "c", "d"], False),
    (["a"], ["a "], True), (["a"], ["a", "b"], False)])
def test_player_compares(expected, printed, answer):
    assert matches(expected, printed) is answer


@pytest.mark.parametrize("command, rest", [
    ("git clone x && cd y", "cd y"), ("meson setup build && ninja -C build", ""),
    ("sudo ninja -C build install", ""), ("shoal validate x && echo git", None),
    ("CC=clang meson setup build", "")])
def test_player_does_not_build(command, rest):
    assert runnable(command) == (command if rest is None else rest)


def test_no_promise_no_steps():
    assert steps(section("# Title\n\n```console\n$ true\n```\n")) == []

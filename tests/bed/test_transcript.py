"""docs/dev/bed.md, typed in: the commands under "By hand", and what they print.

A line `$ command` is run (`> ` lines continue it) and the lines below it are its output; `...`
matches any text, and any lines if it is alone on a line. SHOAL_AWS names the AWS command line if
it is not on the PATH.
"""

import os
import pathlib
import re
import shutil
import subprocess
import sys

import pytest
from conftest import HERE, bed_client

REPOSITORY = HERE.parents[1]
SECONDS_MAX = 300
MARK = "bed-transcript-step"


def section(text, heading):
    return re.split(r"^## ", text.split(f"\n## {heading}\n")[1], maxsplit=1,
                    flags=re.MULTILINE)[0]


def blocks(text):
    return re.findall(r"^```console\n(.*?)^```", text, re.MULTILINE | re.DOTALL)


def steps(chosen):
    """[(command, expected lines)] of console blocks."""
    found = []
    for block in chosen:
        for line in block.splitlines():
            if line.startswith("$ "):
                found.append((line[2:], []))
            elif line.startswith("> ") and not found[-1][1]:
                found[-1] = (found[-1][0] + "\n" + line[2:], [])
            else:
                found[-1][1].append(line)
    return found


def pattern_of(expected):
    parts = []
    for line in expected:
        if line.strip() == "...":
            parts.append(r"(?:.*\n)*?")
        else:
            parts.append(".*".join(re.escape(part) for part in line.split("...")) + r" *\n")
    return "".join(parts)


def play(todo, folder, env):
    """Run all steps in one shell; return the output of each."""
    script = ["exec 2>&1"]
    for command, _ in todo:
        script += [f"{{ {command}\n}} < /dev/null", f"echo; echo {MARK}"]
    done = subprocess.run(["bash", "--norc", "-c", "\n".join(script)], cwd=folder, env=env,
                          capture_output=True, text=True, timeout=SECONDS_MAX, check=False)
    return done.stdout.split(f"\n{MARK}\n")


def aws_command():
    chosen = os.environ.get("SHOAL_AWS") or shutil.which("aws")
    beside = pathlib.Path(sys.executable).with_name("aws")
    return pathlib.Path(chosen) if chosen else beside if beside.exists() else None


@pytest.mark.parametrize("is_whole", [False, pytest.param(True, marks=pytest.mark.long)])
def test_the_transcript(tmp_path, is_whole):
    aws = aws_command()
    why = bed_client.missing() or (None if aws else "the AWS command line is not installed")
    if why:
        if os.environ.get("SHOAL_REQUIRE_BED") == "1":
            pytest.fail(why, pytrace=False)
        pytest.skip(why)
    bed_client.down(keep_docker=True)
    (tmp_path / "tests").symlink_to(REPOSITORY / "tests")
    kept = {name: os.environ[name] for name in ("SHOAL_BED_HOME", "XDG_CACHE_HOME", "HOME")
            if name in os.environ}
    env = {**kept, "PATH": f"{aws.parent}:{os.environ['PATH']}", "LC_ALL": "C.UTF-8",
           "SHOAL_BED_PYTHON": sys.executable, "AWS_PAGER": ""}
    page = REPOSITORY / "docs" / "dev" / "bed.md"
    found = blocks(section(page.read_text(encoding="utf-8"), "By hand"))
    todo = steps(found)
    assert len(todo) > 35
    if not is_whole:  # up, a key and a group; down
        todo = steps(found[:2]) + todo[-1:]
    try:
        printed = play(todo, tmp_path, env)
    finally:
        bed_client.down(keep_docker=True)
    assert len(printed) == len(todo) + 1, "the shell stopped early"
    different = []
    for (command, expected), text in zip(todo, printed, strict=False):
        text = text.strip("\n") + "\n" if text.strip("\n") else ""
        if not re.fullmatch(pattern_of(expected), text):
            different.append(f"$ {command}\n{text}-- but docs/dev/bed.md says:\n" +
                             "\n".join(expected))
    assert not different, "\n\n".join(different)


def test_the_player_notices_differences():
    assert steps(blocks("```console\n$ a \\\n> b\nc\n> d\n```\n")) == \
        [("a \\\nb", ["c", "> d"])]
    for expected, text, answer in [
            (["a"], "a\n", True), (["a"], "b\n", False), (["a"], "a\nb\n", False), ([], "", True),
            ([], "a\n", False), (["a...c"], "abbc\n", True), (["a...c"], "abb\n", False),
            (["a", "...", "c"], "a\nb\nb\nc\n", True), (["a", "...", "c"], "a\nb\n", False)]:
        assert bool(re.fullmatch(pattern_of(expected), text)) is answer, (expected, text)

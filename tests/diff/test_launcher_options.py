"""Every command of Ray's launcher: the same names, options, letters, arguments and choices.

Compared with Ray's own parser, including hidden options and aliases. Shoal may have more options,
but not fewer, and a letter must have the same meaning.
"""

import re
import subprocess

import pytest

import need_ray  # noqa: F401  skips this module without Ray

import click

from ray.scripts import scripts

VERBS = ["up", "down", "exec", "attach", "submit", "rsync-up", "rsync-down", "get-head-ip",
         "get-worker-ips", "monitor", "dashboard", "status"]
HELP_COLUMN = 26


@pytest.fixture
def run(shoal, tmp_path):
    def run_shoal(*words):
        return subprocess.run([shoal, *words], capture_output=True, encoding="utf-8", check=False,
                              stdin=subprocess.DEVNULL, cwd=tmp_path, timeout=300)

    return run_shoal


def options_of_ray(verb):
    return [param for param in scripts.cli.commands[verb].params
            if isinstance(param, click.Option)]


def long_name(option):
    return next(name for name in option.opts if name.startswith("--"))


def options_of_shoal(run, verb):
    """{"--name": (letter, argument)}"""
    text = run(verb, "--help").stdout.partition("\nOptions:\n")[2].split("\nExamples:")[0]
    found = {}
    for line in text.splitlines():
        pattern = r"  (?:-(\w), |    )(--[a-z-]+)(?: (\S+))? *$"
        row = re.match(pattern, line) or re.match(pattern, line[:HELP_COLUMN])
        if row:
            found[row[2]] = (row[1], row[3])
    return found


@pytest.mark.parametrize("verb", VERBS)
def test_options(run, verb):
    ours = options_of_shoal(run, verb)
    for option in options_of_ray(verb):
        names = option.opts + option.secondary_opts
        letters = [name[1] for name in names if not name.startswith("--")]
        for name in (name for name in names if name.startswith("--")):
            assert name in ours, f"{verb} lacks {name}"
            letter, argument = ours[name]
            assert letter == (letters[0] if letters else letter), name
            takes_value = not option.is_flag and not option.count
            assert bool(argument) == takes_value, (verb, name)


@pytest.mark.parametrize("verb", VERBS)
def test_choices(run, verb):
    for option in options_of_ray(verb):
        if isinstance(option.type, click.Choice):
            name = long_name(option)
            done = run(verb, f"{name}=no-such-choice")
            assert done.returncode == 2
            listed = re.search(r"valid values: (.*)", done.stderr).group(1).split(", ")
            assert set(option.type.choices) <= set(listed), (verb, name)


@pytest.mark.parametrize("verb", VERBS)
def test_numbers(run, verb):
    for option in options_of_ray(verb):
        name = long_name(option)
        wants_number = isinstance(option.type, click.types.IntParamType) and not option.count
        if wants_number:
            done = run(verb, f"{name}=many")
            assert done.returncode == 2 and "integer" in done.stderr, (verb, name)


@pytest.mark.parametrize("verb", VERBS)
def test_operands(run, verb):
    """The same positional arguments, except that the file is optional here, `status` takes one too,
    and `attach` takes a node.
    """
    theirs = [param for param in scripts.cli.commands[verb].params
              if isinstance(param, click.Argument)]
    usage = re.search(r"^usage: .* \[OPTIONS\](.*)$", run(verb, "--help").stdout, re.MULTILINE)
    ours = usage.group(1).split()
    if verb == "status":
        assert ours == ["[FILE]"]
        return
    assert ours.pop(0) == "[FILE]" and theirs.pop(0).name == "cluster_config_file"
    if verb == "attach":
        assert ours.pop() == "[NODE]"
    assert len(ours) == len(theirs)
    for argument, word in zip(theirs, ours, strict=True):
        assert argument.required == (not word.startswith("[")), word
        assert (argument.nargs == -1) == word.endswith("..."), word


def test_names_with_underscores(run):
    """Older releases of Ray have them in this form, and scripts still use it."""
    for verb in ("rsync-up", "rsync-down", "get-head-ip", "get-worker-ips"):
        assert run(verb.replace("-", "_"), "--help").stdout == run(verb, "--help").stdout

"""Every command and option of the installed Ray: Shoal has it, or compatibility.md names it.

test_launcher_options.py compares the commands of Ray's launcher in detail. This test takes all
commands of `ray`, so that a new one in a later Ray is noticed. A row of compatibility.md that names
a command or option must still be about something that Ray has and Shoal lacks.
"""

import pathlib
import re
import subprocess

import need_ray  # noqa: F401  skips this module without Ray

import click

from ray.scripts import scripts

PAGE = pathlib.Path(__file__).resolve().parents[2] / "docs" / "user" / "compatibility.md"
EXTRAS = {"job", "serve"}  # Ray has them only if the packages of ray[default] are installed
HEADING = "## Commands of Ray that Shoal does not have"


def commands_of_ray():
    """{name: its options}; groups such as `ray job` count as one command without options."""
    found = {}
    for name, command in scripts.cli.commands.items():
        options = [] if isinstance(command, click.Group) else [
            o for p in command.params if isinstance(p, click.Option)
            for o in p.opts + p.secondary_opts]
        found.setdefault(name.replace("_", "-"), set()).update(options)
    return found


def table():
    """{(command, option or None)} of the page."""
    text = PAGE.read_text(encoding="utf-8").partition(HEADING)[2].partition("\n## ")[0]
    rows = set()
    for line in text.splitlines():
        cells = [cell.strip() for cell in line.split("|")]
        if len(cells) > 3 and cells[1].startswith("`"):
            assert len(cells[2]) > 20, f"no reason: {line}"
            for command in re.findall(r"`ray ([^`]+)`", cells[1]):
                name, _, option = command.partition(" ")
                rows.add((name, option or None))
    return rows


def options_of_shoal(shoal, name):
    """The options in its help; None if Shoal has no such command."""
    done = subprocess.run([shoal, name, "--help"], capture_output=True, text=True, check=False,
                          timeout=600)
    if done.returncode != 0:
        return None
    text = done.stdout.partition("\nOptions:\n")[2]
    return set(re.findall(r"(?<![\w-])(--[a-z][a-z-]*|-[a-zA-Z])(?=[ ,\n])", text))


def test_every_command_and_option(shoal, say):
    rows, used, missing = table(), set(), []
    counts = {"commands": 0, "options": 0}
    for name, options in sorted(commands_of_ray().items()):
        if (name, None) in rows:
            used.add((name, None))
            continue
        ours = options_of_shoal(shoal, name)
        counts["commands"] += 1
        if ours is None:
            missing.append(name)
            continue
        for option in sorted(options):
            if (name, option) in rows:
                used.add((name, option))
                assert option not in ours or option == "-h", (name, option)
            elif option not in ours:
                missing.append(f"{name} {option}")
            counts["options"] += option in ours
    say("commands of Ray: {commands} with {options} options are in Shoal; ".format(**counts) +
        f"{len(used)} are on the page")
    assert not missing, "neither in Shoal nor on the page: " + ", ".join(missing)
    used |= {(name, None) for name in EXTRAS}
    assert used == rows, f"rows about nothing that Ray has: {sorted(rows - used, key=str)}"


def test_names_with_underscores(shoal):
    """Python's names, which old scripts use."""
    for name in commands_of_ray():
        old = name.replace("-", "_")
        if old != name and options_of_shoal(shoal, name) is not None:
            assert options_of_shoal(shoal, old) == options_of_shoal(shoal, name), old

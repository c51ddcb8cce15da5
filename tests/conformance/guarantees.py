"""What each provider cannot guarantee: the table of docs/dev/providers.md. The tests of each
provider compare it with what `conform rules` says, and with the abilities that a plug-in names.
"""

import pathlib
import re

PAGE = pathlib.Path(__file__).resolve().parents[2] / "docs" / "dev" / "providers.md"
TITLE = "## What a provider cannot guarantee\n"
# Lines of `conform rules` of a provider that has it, and of one that has not.
HELD = {"tokens": "ok   on demand: the same call again gives the same machines",
        "atomic_swap": "ok   of two who take at once one wins",
        "tags": "ok   on demand: listed with their tags from the first sight on",
        "stop": "ok   it starts again", "places": "ok   a machine runs"}
NOT_HELD = {"stop": "none a machine stops and starts: the machines keep running",
            "places": "none zones and spot instances: there are neither"}
# Of `conform late` and `conform rules`, if the cloud is slow enough.
LATE = "ok   a launch was answered after the end of the lease"


def table():
    """{provider: {guarantee: "held" or "not held: why"}}."""
    text = PAGE.read_text(encoding="utf-8").partition(TITLE)[2].partition("\n## ")[0]
    lines = [line.strip("|").split("|") for line in text.splitlines() if line.startswith("|")]
    names = [cell.strip().strip("`") for cell in lines[0][1:]]
    found = {name: {} for name in names}
    for cells in lines[2:]:
        key = re.match(r" *`(\w+)`", cells[0]).group(1)
        for name, cell in zip(names, cells[1:], strict=True):
            found[name][key] = cell.strip()
    return found


def show(provider):
    for key, cell in table()[provider].items():
        print(f"{provider:16} {key:12} {cell}")


def check(provider, out):
    """`out` is what `conform rules` wrote for the provider."""
    show(provider)
    lines = out.splitlines()
    assert not [line for line in lines if line.startswith("FAIL")], out
    for key, cell in table()[provider].items():
        assert re.match("held$|not held: .", cell), (provider, key, cell)
        if cell == "held":
            assert HELD[key] in lines and NOT_HELD.get(key) not in lines, (provider, key, out)
        elif key in NOT_HELD:
            assert NOT_HELD[key] in lines, (provider, key, out)


def check_abilities(provider, can):
    """`can` is the answer of a plug-in."""
    for key, cell in table()[provider].items():
        if key != "places":
            assert (cell == "held") == (key in can), (provider, key, can)

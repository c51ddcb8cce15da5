"""docs/user/migrating-from-ray-up.md: the marked commands run, in their order, on one cluster."""

import pathlib
import re
import shlex

PAGE = pathlib.Path(__file__).resolve().parents[2] / "docs" / "user" / "migrating-from-ray-up.md"


def commands():
    text = PAGE.read_text(encoding="utf-8")
    return [re.sub(r"\s+", " ", found) for found in re.findall(r"`(shoal [^`]*)`\s+✓", text)]


def test_the_page(front):
    laptop = front.laptop()
    laptop.file("cluster.yaml", front.cluster("demo", workers=1))
    laptop.file("script.py", "print('from the script')\n")
    lines = commands()
    assert len(lines) >= 20 and len(re.findall(r"^\d+\. \*\*", PAGE.read_text(), re.M)) == 21
    said = {}
    for line in lines:
        done = laptop.run(*shlex.split(line)[1:])
        said[line] = done
        assert done.status == 0, f"{line}: {done}"
    assert said["shoal exec cluster.yaml 'echo hello'"].out == "hello\n"
    assert "from the script" in said["shoal submit cluster.yaml script.py"].out
    assert (laptop.here / "copy.py").read_text() == "print('from the script')\n"
    assert front.remains() == {}

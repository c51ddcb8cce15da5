"""The blocks of docs/user that are marked "run on a cluster": their commands succeed, in order."""

import pathlib
import shlex
import sys

import pytest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "cli"))

import doc_blocks  # noqa: E402

BLOCKS = [block for block in doc_blocks.blocks() if block.mark == "run on a cluster"]
ASKS = {"up", "down"}  # a person answers; here the option does


@pytest.mark.parametrize("page", sorted({block.page for block in BLOCKS}))
def test_the_page(front, page):
    laptop = front.laptop()
    laptop.file("cluster.yaml", front.cluster("demo", workers=1))
    lines = [shlex.split(command) for block in BLOCKS if block.page == page
             for command, _ in doc_blocks.commands(block)]
    verbs = [words[1] for words in lines]
    if "up" not in verbs and set(verbs) != {"plan"}:
        laptop("up", "-y", "cluster.yaml")
    for words in lines:
        assert words[0] == "shoal"
        more = ["-y"] if words[1] in ASKS else []
        done = laptop.run(words[1], *more, *words[2:])
        assert done.status == 0, f"{words}: {done}"
    if "down" not in verbs and front.alive():
        laptop("down", "-y", "cluster.yaml")
    assert front.remains() == {}

"""The cluster files that users are shown as a start."""

import json
import pathlib
import re

import pytest

FOLDER = pathlib.Path(__file__).resolve().parents[2] / "examples" / "clusters"
EXAMPLES = sorted(FOLDER.glob("*.yaml"))


def test_there_are_examples():
    assert EXAMPLES and all(path.suffix == ".yaml" for path in FOLDER.iterdir())


@pytest.mark.parametrize("path", EXAMPLES, ids=lambda path: path.stem)
def test_it_validates(shoal, path):
    """From any folder, on a machine with an empty home."""
    done = shoal("validate", path)
    assert (done.returncode, done.stderr) == (0, ""), done.stdout
    result = json.loads(shoal("validate", "-o", "json", path).stdout)
    assert result["errors"] == 0


@pytest.mark.parametrize("path", EXAMPLES, ids=lambda path: path.stem)
def test_it_is_clean_or_says_why_not(shoal, path):
    """A warning in an example must be about what the example is there to show."""
    result = json.loads(shoal("validate", "-o", "json", path).stdout)
    assert {one["code"] for one in result["findings"]} <= {"legacy-key"}


@pytest.mark.parametrize("path", EXAMPLES, ids=lambda path: path.stem)
def test_it_has_a_configuration(shoal, path):
    done = shoal("config", "-o", "json", path)
    assert done.returncode == 0, done.stderr
    config = json.loads(done.stdout)
    assert config["head_node_type"] in config["available_node_types"]
    assert shoal("config", path).stdout.startswith("cluster_name: ")
    hashes = json.loads(shoal("config", "--hashes", "-o", "json", path).stdout)
    assert set(hashes["launch"]) == set(config["available_node_types"])


@pytest.mark.parametrize("path", EXAMPLES, ids=lambda path: path.stem)
def test_it_explains_itself(path):
    lines = path.read_text(encoding="utf-8").splitlines()
    assert re.match(r"# For ", lines[0]), "the first line says whom it is for"
    assert re.match(r"# .*[Cc]hange", lines[1]), "the second line says what to change"
    assert not any(line.endswith(" ") or "\t" in line for line in lines)

"""The code blocks of docs/user do what the pages say (doc_blocks.py has the rules)."""

import json
import re
import xml.etree.ElementTree

import pytest

import doc_blocks
import test_readme

SMALLEST = "cluster_name: demo\nprovider: {type: aws, region: us-west-2}\n"
TYPE = "available_node_types:\n  head:\n    node_config:\n      InstanceType: m5.large\n"
# Ray has no defaults for its external provider.
CLASS_FILE = ("cluster_name: demo\nmax_workers: 2\nauth: {ssh_user: ubuntu}\n"
              "head_node_type: head\n"
              "available_node_types: {head: {node_config: {}, resources: {CPU: 4}}}\n"
              "cluster_synced_files: []\nsetup_commands: []\nhead_setup_commands: []\n"
              "worker_setup_commands: []\n")
ALL = doc_blocks.blocks()


def chosen(language, mark):
    return [pytest.param(block, id=f"{block.page}:{block.line}") for block in ALL
            if (not language or block.language == language) and re.fullmatch(mark, block.mark)]


def as_file(block):
    """The cluster file that a yaml block is, or is a part of."""
    if block.mark == "in: class_file":
        return CLASS_FILE + block.text
    if block.mark:
        inside = "".join(f"      {line}\n" for line in block.text.splitlines())
        return SMALLEST + TYPE + inside + "head_node_type: head\n"
    return block.text if re.search(r"^cluster_name:", block.text, re.MULTILINE) else \
        SMALLEST + block.text


@pytest.fixture(name="place")
def laid_out(folder, home, repository, build):
    """A folder with what the commands of the pages name."""
    test_readme.lay_out(folder, repository, build)
    (folder / "cluster.yaml").write_text(SMALLEST)
    (folder / "broken").mkdir()
    (folder / "broken" / "cluster.yaml").write_text(SMALLEST + "max_worker: 3\n")
    workload = next(block for block in ALL if block.mark == "in: workload")
    (folder / "work.yaml").write_text(workload.text)
    (home / ".ssh").mkdir()
    (home / ".ssh" / "id_ed25519").write_text("")
    (home / ".ssh" / "id_ed25519").chmod(0o600)
    return folder


def test_every_block_has_a_test_or_a_reason():
    wrong = [f"{block.page}:{block.line}: {doc_blocks.complaint(block)}" for block in ALL
             if doc_blocks.complaint(block)]
    assert not wrong, "\n".join(wrong)
    assert len(ALL) > 30


@pytest.mark.parametrize("block", chosen("yaml", "|in: node_config|in: class_file"))
def test_yaml(shoal, place, block):
    (place / "part.yaml").write_text(as_file(block))
    done = shoal("validate", "-o", "json", "part.yaml")
    findings = json.loads(done.stdout)["findings"]
    assert done.returncode == 0, findings


@pytest.mark.parametrize("block", chosen("yaml", "in: workload"))
def test_workloads(shoal, place, block):
    (place / "load.yaml").write_text(block.text)
    done = shoal("simulate", "examples/clusters/aws-mixed.yaml", "--workload", "load.yaml")
    assert done.returncode == 0, done.stderr


@pytest.mark.parametrize("block", chosen("console", ""))
def test_commands(run, place, need, block):
    for command, expected in doc_blocks.commands(block):
        done = run([need("bash"), "--norc", "-c", f"exec 2>&1\n{command}"], cwd=place)
        assert done.returncode == 0, f"{command}\n{done.stdout}"
        lines = [line.rstrip() for line in done.stdout.splitlines()]
        assert not expected or test_readme.matches(expected, lines), f"{command}\n{done.stdout}"


@pytest.mark.parametrize("block", chosen("", "printed by: .*"))
def test_printed(run, place, need, block):
    command = block.mark.removeprefix("printed by: ")
    done = run([need("bash"), "--norc", "-c", command], cwd=place)
    assert json.loads(done.stdout) == json.loads(block.text)


# ---- and the rules themselves ----


def test_blocks_are_found():
    text = ("a\n<!-- not run: it costs money -->\n```console\n$ one\n```\n\n"
            "- b\n\n  ```yaml\n  c: 1\n  ```\n\n```\nd\n```\n")
    found = doc_blocks.blocks_of(text)
    assert [(block.line, block.language, block.mark, block.text) for block in found] == [
        (3, "console", "not run: it costs money", "$ one\n"), (9, "yaml", "", "c: 1\n"),
        (13, "", "", "d\n")]


@pytest.mark.parametrize("language, mark, is_fine", [
    ("yaml", "", True), ("console", "", True), ("text", "", True), ("python", "", False),
    ("", "", False), ("python", "not run: needs a GPU", True), ("python", "not run:", False),
    ("console", "skip", False), ("yaml", "in: workload", True), ("yaml", "in: somewhere", False)])
def test_marks(language, mark, is_fine):
    block = doc_blocks.Block("page.md", 1, language, mark, "")
    assert (doc_blocks.complaint(block) is None) == is_fine


# ---- pictures ----


def test_the_picture_of_a_simulation(run, repository, folder):
    """A simulation gives the same result on every machine, so its picture does too."""
    run(["python3", repository / "tools/report_picture.py", folder / "out.svg", "--", "shoal",
         "simulate", "examples/clusters/aws-mixed.yaml", "--workload", "gpu-training", "--planner",
         "ray,price"], cwd=repository)
    kept = repository / "docs/images/simulate.svg"
    assert (folder / "out.svg").read_text() == kept.read_text(), "run: tools/pictures simulate"


def test_pictures_are_small_and_need_nothing_else(repository):
    pictures = sorted((repository / "docs/images").glob("*.svg"))
    assert len(pictures) >= 10
    for path in pictures:
        text = path.read_text(encoding="utf-8")
        assert xml.etree.ElementTree.fromstring(text).tag.endswith("svg")
        assert len(text) < 60_000, path
        found = re.findall(r"(?:href|src)=|url\(|@import|<script", text)
        assert not found, f"{path}: {found}"

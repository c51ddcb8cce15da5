"""The JSON Schemas of share/schema: current, true about real files, and true about real outputs."""

import glob
import importlib
import json
import os
import re
import sys
import typing

import jsonschema
import output_schema
import pytest
import yaml
from fake_service import FakeService
from test_top import answers

import ray

REPOSITORY = output_schema.FOLDER.parents[1]
RAY_FILES = sorted(glob.glob(os.path.join(os.path.dirname(ray.__file__),
                                          "autoscaler/*/example-*.yaml")))
EXAMPLES = sorted((REPOSITORY / "examples" / "clusters").glob("*.yaml"))
GOOD = "cluster_name: x\nprovider: {type: aws, region: us-west-2}\n"


@pytest.mark.parametrize("name", ["cluster", "workload"])
def test_schema_is_current(build, name):
    """After a change of the table of keys: cp build/docs/*.schema.json share/schema."""
    name = f"{name}.schema.json"
    assert (output_schema.FOLDER / name).read_text(encoding="utf-8") == \
        (build / "docs" / name).read_text(encoding="utf-8")


@pytest.mark.parametrize("name", ["cluster", "workload", "output"])
def test_schema_is_a_schema(name):
    jsonschema.Draft7Validator.check_schema(output_schema.read(name))


def problems(name, text):
    checker = jsonschema.Draft7Validator(output_schema.read(name))
    return [error.message for error in checker.iter_errors(yaml.safe_load(text))]


@pytest.mark.parametrize("path", [*EXAMPLES, *RAY_FILES], ids=lambda path: str(path)[-40:])
def test_cluster_schema_accepts_real_files(path):
    with open(path, encoding="utf-8") as stream:
        assert problems("cluster", stream.read()) == []


def test_workload_schema_accepts_the_examples():
    for path in (REPOSITORY / "examples" / "workloads").glob("*.yaml"):
        assert problems("workload", path.read_text(encoding="utf-8")) == [], path


@pytest.mark.parametrize("text, why", [
    ("max_worker: 3", "'max_worker' was unexpected"),
    ("max_workers: many", "'many' is not of type 'integer'"),
    ("max_workers: -1", "-1 is less than the minimum of 0"),
    ("setup_commands: [1]", "1 is not of type 'string'"),
    ("docker: {container: x}", "'container' was unexpected"),
    ("metadata: {shoal: {planner: cheap}}", "'cheap' is not one of"),
    ("available_node_types: {a: {resources: {}}}", "'node_config' is a required property"),
])
def test_cluster_schema_rejects_mistakes(shoal, text, why):
    """The program reports the same."""
    assert any(why in problem for problem in problems("cluster", GOOD + text))
    assert shoal("validate", "-", input=GOOD + text).returncode == 1 or "metadata" in text


def test_a_file_needs_a_name_and_a_provider():
    assert problems("cluster", GOOD) == []
    assert len(problems("cluster", "{}")) == 2


def test_every_command_with_json_has_a_schema(shoal):
    listing = shoal("help").stdout
    names = re.findall(r"^  ([a-z-]+) {2,}\S", listing, re.MULTILINE)
    assert len(names) > 30
    with_json = {name for name in names
                 if re.search(r"--(output|format) FORMAT(?s:.{0,80}?)json",
                              shoal("help", name).stdout)}
    known = output_schema.definitions() | set(output_schema.SAME) | set(output_schema.FILES)
    assert with_json >= {"status", "ls", "plan", "validate", "explain", "version", "train",
                         "config"}
    assert with_json - known == set()
    assert {"train-ls", "train-status"} <= known


@pytest.fixture(name="service")
def _service(home):
    fake = FakeService(home, answers())
    yield fake
    fake.close()


@pytest.mark.parametrize("verb", ["status", "top"])
def test_output_of_a_running_cluster(shoal, service, verb):
    """The fixture compares each output with its schema; plan, ls, gc and down have their tests."""
    done = shoal(verb, "-o", "json")
    said = json.loads(done.stdout)
    assert done.returncode == 0 and len(said["nodes"]) > 3 and len(said["demands"]) > 1, done
    assert service.asked and output_schema.name_of([verb, "-o", "json"]) == verb


def test_output_without_a_cluster(shoal, write):
    write("x.yaml", GOOD)
    for words in (["version"], ["validate", "x.yaml"], ["config", "--hashes", "x.yaml"],
                  ["config", "x.yaml"]):
        done = shoal(*words, "-o", "json")
        assert done.returncode == 0 and output_schema.name_of([*words, "-ojson"]), done
    assert shoal("validate", "-o", "json", "-", input="x: 1").returncode == 1
    assert shoal("status", "-o", "json", "missing.yaml").returncode == 1


EVENTS = [
    {"event": "run", "generation": 0, "pid": 7, "resumed": False},
    {"event": "generation", "generation": 2, "replicas": 3, "replicas_before": 2, "step": 40,
     "cause": "more slots are ready", "checkpoint": 1001, "steps_repeated": 0, "pause_s": 0.5,
     "save_s": 0.1, "transfer_s": 0.1, "start_s": 0.1, "rendezvous_s": 0.1, "load_s": 0.2},
    {"event": "rate", "generation": 2, "replicas": 3, "step": 50, "steps_per_s": 10.5},
    {"event": "message", "message": "a message"},
    {"event": "end", "generation": 2, "cause": "the script is complete", "step": 90}]


def test_output_of_a_training_job(shoal, run, program, write, home):
    """A job that waits for a Ray that does not run. Suite train checks those that train."""
    write("train.py", "import torch\n")
    done = run(["timeout", "-s", "TERM", "2", program, "train", "-f", "train.py", "-o", "json",
                "-u", "127.0.0.1:1", "--gcs", "127.0.0.1:1"])
    assert "message" in done.stdout, done
    output_schema.check(["train", "-o", "json"], done.stdout)
    with open(home / ".shoal/train/train/events.jsonl", "a", encoding="utf-8") as out:
        out.writelines(json.dumps({**event, "time": 1.5}) + "\n" for event in EVENTS)
    assert json.loads(shoal("train", "ls", "-o", "json").stdout)["jobs"][0]["job"] == "train"
    said = json.loads(shoal("train", "status", "-o", "json").stdout)
    assert {event["event"] for event in said["events"]} == {event["event"] for event in EVENTS}


@pytest.mark.parametrize("words, name", [
    (["train", "-f", "x.py", "-o", "json"], "train"), (["train", "ls", "-ojson"], "train-ls"),
    (["train", "status", "x", "--output=json"], "train-status"), (["stop", "-o", "json"], "down"),
    (["train", "-f", "x.py", "--", "-o", "json"], None), (["status"], None)])
def test_the_schema_of_a_command_line(words, name):
    assert output_schema.name_of(words) == name


def test_version_names_its_parts(shoal):
    said = json.loads(shoal("version", "-o", "json").stdout)
    assert {"libcurl", "libcrypto", "libuv", "sqlite3", "yaml-0.1", "expat", "jansson",
            "libprotobuf-c"} == set(said["libraries"])
    assert all(re.match(r"\d+\.\d+", version) for version in said["libraries"].values())
    assert re.match(r"(gcc|clang) \d+", said["build"]["compiler"])
    assert re.fullmatch("([0-9a-f]{40})?", said["commit"])


@pytest.mark.parametrize("change", [
    lambda said: said.pop("catalog"), lambda said: said.update(catalog=1),
    lambda said: said.update(more="x"), lambda said: said["libraries"].update(libcurl=None)])
def test_a_difference_is_noticed(shoal, change):
    said = json.loads(shoal("version", "-o", "json").stdout)
    output_schema.check(["version", "-o", "json"], json.dumps(said))
    change(said)
    with pytest.raises(AssertionError, match="does not match its schema"):
        output_schema.check(["version", "-o", "json"], json.dumps(said))


PYTHON = REPOSITORY / "packaging" / "python"


def test_python_types_are_current(run):
    """After a change of the schema, run packaging/python/make_types.py."""
    made = run([sys.executable, PYTHON / "make_types.py"]).stdout
    assert made == (PYTHON / "shoal_ray" / "types.py").read_text(encoding="utf-8")


def test_python_types_match_the_schema(monkeypatch, verbs):
    """Each object has its class with the same keys, and each command its type."""
    monkeypatch.syspath_prepend(str(PYTHON))
    types = importlib.import_module("shoal_ray.types")
    for name, schema in output_schema.read("output")["definitions"].items():
        if "properties" not in schema:
            continue
        made = getattr(types, "".join(map(str.capitalize, name.split("-"))))
        assert made.__required_keys__ == set(schema["required"]), name
        assert made.__required_keys__ | made.__optional_keys__ == set(schema["properties"]), name
        assert typing.get_type_hints(made)
    text = (PYTHON / "shoal_ray" / "types.py").read_text(encoding="utf-8")
    typed = set(re.findall(r'verb: Literal\["([a-z-]+)"\]', text))
    known = output_schema.definitions() | set(output_schema.SAME)
    assert typed == known.intersection(verbs)


def test_python_package_streams(program, service, environment, run):
    """packaging/python with the real program: objects one by one, and an error with its type."""
    code = """
import shoal_ray as s
watching = s.stream("status", "--watch")
print(next(watching)["cluster"], next(watching)["cluster"])
watching.close()
print(s.query("top")["cluster"])
try:
    print(list(s.stream("events", "missing.yaml")))
except s.CommandFailed as error:
    print(error.json()["error_kind"], "missing.yaml" in str(error))
"""
    done = run([sys.executable, "-c", code], env={
        **environment, "SHOAL_PROGRAM": str(program),
        "PYTHONPATH": str(REPOSITORY / "packaging" / "python")})
    assert done.stderr == "" and service.asked
    assert done.stdout == "demo demo\ndemo\nnot-found True\n"

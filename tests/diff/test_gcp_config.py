"""Cluster files for gcp: the filled-in configuration and the hashes are Ray's, and `validate`
rejects what Ray rejects before its first call to Google, or what Google's own document rejects.

SHOAL_DIFF_GCP  number of generated files (default 300)
"""

import json
import os
import pathlib
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor

import pytest

import need_ray  # noqa: F401  skips this module without Ray

import emit
import generate
import workers
from emit import Map, tree_of
from test_config import difference

HERE = pathlib.Path(__file__).resolve().parent
FILES = int(os.environ.get("SHOAL_DIFF_GCP") or 300)
SHOWN = 10

# Findings that Google's document decides, and other rules of Google that Ray does not know.
DOCUMENT_CODES = {"unknown-parameter", "wrong-type", "bad-value", "label"}
GOOGLE_CODES = DOCUMENT_CODES | {"tpu", "unknown-machine", "region", "cluster-name"}

# Planted in a node_config; Google's document says which of them are wrong.
PLANTED = [
    {"disk": []}, {"networkInterface": []}, {"favouriteColour": "red"}, {"hostName": "h"},
    {"canIpForward": "yes"}, {"canIpForward": False}, {"description": 5}, {"description": None},
    {"disks": {}}, {"disks": ["x"]}, {"disks": [{"boot": "yes"}]}, {"disks": [{"sizeGb": 5}]},
    {"disks": [{"type": "persistent"}]}, {"disks": [{"type": "SCRATCH"}]}, {"disks": None},
    {"disks": [{"initializeParams": {"diskSizeGb": "many"}}]},
    {"disks": [{"initializeParams": {"diskSizeGB": 50}}]},
    {"disks": [{"initializeParams": {"diskSizeGb": "0050"}}]},
    {"scheduling": {"provisioningModel": "spot"}}, {"scheduling": [{"preemptible": "true"}]},
    {"scheduling": {"maxRunDuration": {"seconds": 3600}}}, {"scheduling": ["preemptible"]},
    {"guestAccelerators": [{"acceleratorCount": "1"}]}, {"guestAccelerators": [{"count": 1}]},
    {"labels": ["a"]}, {"labels": {"a": 1}}, {"labels": {}}, {"tags": {"items": ["Ray"]}},
    {"tags": ["ray"]}, {"serviceAccounts": [{"email": "e", "scope": []}]}, {"status": 5},
    {"selfLink": []}, {"metadata": {"items": [{"key": "a", "value": True}]}},
    {"metadata": {"startup-script": "x"}}, {"shieldedInstanceConfig": {"enableVtpm": True}},
    {"networkConfig": {"any": 1}}, {"advancedMachineFeatures": {"threadsPerCore": "1"}},
    {"networkInterfaces": [{"accessConfigs": [{"nat": True}]}]},
]


class GcpGenerator(generate.Generator):
    def file(self, key):
        config = Map([["cluster_name", self.pick(["demo", "my-cluster", "Big", "pool.a"])]])
        config.set("provider", self.provider())
        config.set("auth", tree_of({"ssh_user": "ubuntu", "ssh_private_key": key}))
        self.add_types(config, "gcp")
        config.set("max_workers", 50)
        if self.maybe(0.5):
            config.set("setup_commands", self.commands())
        types = config.get("available_node_types", None)
        for name, node_type in types.pairs if types else []:
            self.finish(node_type.get("node_config", None), name == config.get("head_node_type"))
        return emit.emit(config, self.rng)

    def provider(self):
        return self.some(
            {"type": "gcp", "region": "us-west1", "project_id": "my-project",
             "availability_zone": self.pick(["us-west1-a", "us-west1-a", "us-east1-b"])},
            {"cache_stopped_nodes": True, "use_internal_ips": True,
             "gcp_credentials": self.pick([
                 {"type": "service_account", "credentials": '{"a": 1}'},
                 {"type": "service_account", "credentials": "key.json"},
                 {"type": "service_account"}, {"type": "credentials_token", "credentials": "t"}])},
            drop=["project_id"], chance=0.1)

    def finish(self, node, is_head):
        if node is None or "machineType" not in node:
            return
        if self.maybe(0.5):
            for key in ("networkInterfaces", "serviceAccounts")[:2 if is_head else 1]:
                if key not in node:
                    node.set(key, [])
        if self.maybe(0.35):
            for key, value in self.pick(PLANTED).items():
                node.set(key, generate.as_tree(value))


@pytest.fixture(scope="module")
def files(tmp_path_factory, seed):
    folder = tmp_path_factory.mktemp("gcp")
    key = folder / "key"
    key.write_text("a key\n", encoding="ascii")
    key.chmod(0o600)
    paths = []
    for number in range(FILES):
        path = folder / ("%05d.yaml" % number)
        text = GcpGenerator("%d/gcp/%d" % (seed, number)).file(str(key))
        path.write_text(text, encoding="utf-8", newline="")
        paths.append(str(path))
    return paths + [str(path) for path in sorted(HERE.glob("corpus/gcp_*.yaml"))] + \
        [ray_defaults(folder)]


def ray_defaults(folder):
    """The one example of the installed Ray."""
    import ray
    path = pathlib.Path(ray.__file__).parent / "autoscaler" / "gcp" / "defaults.yaml"
    text = path.read_text(encoding="utf-8").replace("project_id: null", "project_id: p")
    assert "project_id: p" in text
    copied = folder / "ray-defaults.yaml"
    copied.write_text(text, encoding="utf-8")
    return str(copied)


@pytest.fixture(scope="module")
def verdicts(files):
    """What Ray and Google's document say."""
    done = subprocess.run([sys.executable, str(HERE / "gcp_oracle.py")],
                          input="".join(path + "\n" for path in files), stdout=subprocess.PIPE,
                          text=True, check=True, timeout=workers.TIME_LIMIT_S,
                          env=dict(os.environ, PYTHONUTF8="1", PYTHONDONTWRITEBYTECODE="1"))
    found = [json.loads(line) for line in done.stdout.splitlines()]
    assert len(found) == len(files)
    return found


def run_all(shoal, files, *words):
    def run(path):
        return subprocess.run([shoal, *words, "-o", "json", path], capture_output=True, text=True,
                              timeout=300, check=False)

    with ThreadPoolExecutor(2) as pool:
        return list(pool.map(run, files))


def report(say, what, total, wrong):
    say("gcp: %d files, %d %s" % (total, len(wrong), what))
    assert not wrong, "\n".join(wrong[:SHOWN])


def show(path, *words):
    return "\n".join([*map(str, words), pathlib.Path(path).read_text(encoding="utf-8")])


def test_hashes_are_rays(shoal, files, verdicts, say):
    wrong = []
    complete = 0
    for path, verdict, done in zip(files, verdicts, run_all(shoal, files, "config", "--hashes")):
        if verdict["accepts"] != (done.returncode == 0):
            wrong.append(show(path, verdict, done.stderr))
            continue
        if not verdict["accepts"]:
            continue
        found = json.loads(done.stdout)
        problem = difference(verdict["launch"], found["launch"]) or difference(
            verdict["runtime"], [found["runtime"]["head"], found["runtime"]["worker"]])
        if problem:
            wrong.append(show(path, problem))
        # What the file leaves to Ray's bootstrap is in the tags of Ray's machines.
        complete += verdict["filled"] == found["launch"]
    report(say, "with another hash; %d leave nothing to Ray's bootstrap" % complete, len(files),
           wrong)
    assert sum(verdict["accepts"] for verdict in verdicts) > 0.5 * len(files)
    assert FILES < 300 or complete > 0.05 * len(files)


def test_a_complete_file_has_the_hashes_of_rays_machines(shoal, files, verdicts):
    for path, verdict, done in zip(files, verdicts, run_all(shoal, files, "config")):
        if not verdict["accepts"] or not verdict["filled"]:
            continue
        config = json.loads(done.stdout)
        nodes = {name: one["node_config"] for name, one in config["available_node_types"].items()}
        complete = "serviceAccounts" in nodes[config["head_node_type"]] and \
            all("networkInterfaces" in one or "networkConfig" in one for one in nodes.values())
        assert (verdict["filled"] == verdict["launch"]) == complete, path


def test_validate_rejects_what_ray_and_google_reject(shoal, files, verdicts, say):
    wrong = []
    refused = 0
    for path, verdict, done in zip(files, verdicts, run_all(shoal, files, "validate")):
        result = json.loads(done.stdout)
        codes = {one["code"] for one in result["findings"]}
        errors = {one["code"] for one in result["findings"] if one["level"] == "error"}
        assert all(one["line"] >= 1 and one["column"] >= 1 for one in result["findings"])
        if not verdict["accepts"]:
            problem = None if errors else "Ray rejects it: " + verdict["error"]
        elif not verdict["starts"]:
            problem = None if errors else "Ray stops before its first call"
        else:
            problem = "Ray starts" if errors - GOOGLE_CODES else None
        if verdict["accepts"] and not problem:
            google = [text for text in verdict["google"].values() if text]
            refused += bool(google)
            if google and not codes & DOCUMENT_CODES:
                problem = "Google: " + google[0]
            elif not google and codes & {"unknown-parameter", "wrong-type"}:
                problem = "Google's document allows it"
        if problem:
            wrong.append(show(path, problem, done.stdout))
    report(say, "with another verdict; Google's document refuses %d" % refused, len(files), wrong)
    assert FILES < 300 or refused > 0.1 * len(files)

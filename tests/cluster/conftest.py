"""A cluster on the bed, end to end: laptops, clusters, and the same bed as in tests/bed.

SHOAL_REQUIRE_BED  1: a machine that cannot have a bed is a failure, not a skip
SHOAL_BED_KEEP     1: the bed stays up after the tests
"""

import importlib.util
import os
import signal
import sys

import pytest

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, HERE)


def _bed_fixtures():
    """tests/bed/conftest.py under another name: this file is `conftest` here."""
    path = os.path.join(HERE, "..", "bed", "conftest.py")
    spec = importlib.util.spec_from_file_location("bed_conftest", path)
    module = importlib.util.module_from_spec(spec)
    sys.modules["bed_conftest"] = module
    spec.loader.exec_module(module)
    return module


_bed = _bed_fixtures()
aws, ec2, bed, key_files, key_name = _bed.aws, _bed.ec2, _bed.bed, _bed.key_files, _bed.key_name
group, run, machine, running_base_bed = _bed.group, _bed.run, _bed.machine, _bed.running_bed
pytest_configure = _bed.pytest_configure

import driver  # noqa: E402
import files  # noqa: E402
import programs  # noqa: E402


@pytest.fixture(scope="session")
def running_bed(running_base_bed):
    """With the machines that have Ray."""
    driver.client.up(["base", "ray"], seconds=3600)
    return running_base_bed


@pytest.fixture(autouse=True)
def bounded(request):
    """A test that hangs fails at the place where it hangs. A long test may set its own limit."""
    is_long = request.node.get_closest_marker("long")
    seconds = driver.PATIENCE * (is_long.kwargs.get("seconds", 420) if is_long else 150)

    def ring(*_):
        raise AssertionError(f"no result within {seconds} s")

    before = signal.signal(signal.SIGALRM, ring)
    signal.alarm(seconds)
    yield
    signal.alarm(0)
    signal.signal(signal.SIGALRM, before)


class Cluster:
    """A cluster file on a laptop, and the cluster that `up` creates from it."""

    def __init__(self, laptop, config, bed, aws, name="cluster.yaml"):
        self.laptop, self.config, self.bed, self.aws = laptop, config, bed, aws
        self.ec2 = aws("ec2")
        self.name = config["cluster_name"]
        self.path = laptop.file(name, config)

    def __call__(self, verb, *words, **more):
        """`shoal VERB FILE WORDS`, which must succeed."""
        return self.laptop(verb, self.path, *words, **more)

    def run(self, verb, *words, **more):
        return self.laptop.run(verb, self.path, *words, **more)

    def start(self, verb, *words, **more):
        return self.laptop.start(verb, self.path, *words, **more)

    def rewrite(self, **more):
        """Change the cluster file."""
        self.config = {**self.config, **more}
        self.laptop.file(self.path.name, self.config)

    def up(self, *words, seconds=120, **more):
        return self("up", "-y", *words, seconds=seconds, **more)

    def down(self, seconds=60):
        return self("down", "-y", seconds=seconds)

    def machines(self, **more):
        """The instances, the head first."""
        return driver.machines(self.ec2, self.name, **more)

    @property
    def head(self):
        found = self.machines()
        assert found and driver.tag_of(found[0], "ray-node-type") == "head", found
        return found[0]["InstanceId"]

    def alive(self):
        """How many nodes Ray lists as alive. Runs on the head without a counted ssh session."""
        said = driver.in_machine(self.head, "bash", "-lic", f"python3 -c '{programs.ALIVE}'",
                                 check=False)
        return int(said.split()[-1]) if said.split() else 0

    def orders(self):
        """{instance: the words that its steps wrote to ~/order}."""
        ids = [i["InstanceId"] for i in self.machines(states=("running",))]
        return {i: driver.in_machine(i, "cat", "order", check=False).split() for i in ids}

    def registered(self):
        return driver.registered(f"bed-{self.head}")

    def remains(self, seconds=15):
        """What the cloud and the laptop still have of the cluster."""
        left = driver.remains(self.aws, self.name, seconds)
        files_left = self.laptop.leftovers()
        return {**left, "laptop": files_left} if files_left else left


@pytest.fixture
def laptop(tmp_path):
    return driver.Laptop(tmp_path / "laptop")


@pytest.fixture
def cluster(bed, aws, laptop):
    """cluster(config): on an empty bed; removed after the test, without shoal."""
    made = []

    def make(config, on=None):
        made.append(Cluster(on or laptop, config, bed, aws))
        return made[-1]

    yield make
    bed.reset()


@pytest.fixture(scope="module")
def lasting_cluster(running_bed, aws, tmp_path_factory):
    """lasting_cluster(config): one cluster for all following tests of a file."""
    _bed.empty(running_bed)
    yield lambda config: Cluster(driver.Laptop(tmp_path_factory.mktemp("lasting")), config,
                                 running_bed, aws)
    running_bed.reset()


@pytest.fixture(scope="module")
def shared(running_bed, aws, tmp_path_factory):
    """A head and two workers, for the tests of one file that do not change them."""
    _bed.empty(running_bed)
    laptop = driver.Laptop(tmp_path_factory.mktemp("shared"))
    config = files.quick("shared", setup_commands=["echo setup was here"],
                         file_mounts={"/home/ubuntu/mounted": "./mounted"})
    laptop.file("mounted/a.txt", "a\n")
    made = Cluster(laptop, config, running_bed, aws)
    made.said = made.up()
    yield made
    running_bed.reset()

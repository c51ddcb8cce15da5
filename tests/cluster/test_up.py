"""Cluster files of users: up, a real Ray program on all nodes, down, nothing left.

Two run at a time, each from its own laptop: most of the time is waiting, and they must not
interfere.
"""

import concurrent.futures

import driver
import files
import programs
import pytest

from cloud import images


@pytest.fixture
def laptops(tmp_path):
    return [driver.Laptop(tmp_path / name) for name in ("one", "other")]


def use_all(cluster, nodes=3):
    """A program that ends only after it has run on this many instances."""
    cluster.laptop.file("spread.py", programs.SPREAD)
    done = cluster("submit", cluster.laptop.here / "spread.py", nodes, "a b", seconds=90)
    hosts = {"ip-" + i["PrivateIpAddress"].replace(".", "-") for i in cluster.machines()}
    said = next(line for line in done.out.splitlines() if line.startswith("hosts "))
    assert set(said.split()[1:]) == hosts
    return done


def full_circle(cluster, nodes=3):
    done = cluster.up()
    assert len(cluster.machines()) == nodes
    assert len(cluster.registered()) == nodes, str(done)
    assert f"{nodes} nodes" in done.out + done.err, str(done)
    use_all(cluster, nodes)
    cluster.down()
    assert cluster.remains() == {}
    return done


def side_by_side(*works):
    with concurrent.futures.ThreadPoolExecutor(len(works)) as pool:
        for job in [pool.submit(*work) for work in works]:
            job.result()


def test_a_minimal_file_and_one_of_2019(cluster, laptops):
    side_by_side((full_circle, cluster(files.minimal(), laptops[0])),
                 (full_circle, cluster(files.of_2019(), laptops[1])))


def test_a_bare_image_and_a_full_file(cluster, laptops):
    images.ensure_wheels()
    full = cluster(files.full(), laptops[1])
    files.full_folder(full.laptop)
    side_by_side((bare_image, cluster(files.minimal("bare", image=files.BASE), laptops[0])),
                 (full_file, full))


def bare_image(made):
    """Neither the instances nor the file have Ray: it is installed from the index, into its own
    folder.
    """
    made.up(seconds=120)
    found = driver.in_machine(made.head, "bash", "-lic", "command -v ray; ray --version")
    assert "/home/ubuntu/" in found and "version" in found
    use_all(made)
    made.down()
    assert made.remains() == {}


def home(instance, *words, **more):
    return driver.in_machine(instance, *words, **more)


def full_file(made):
    """Mounts, exclusions, each kind of command in order and place, variables, two node types."""
    made.up()
    nodes = made.machines()
    kinds = [driver.tag_of(i, "ray-user-node-type") for i in nodes]
    assert kinds[0] == "head" and sorted(kinds[1:]) == ["large", "small"]
    large = nodes[kinds.index("large")]
    assert large["InstanceType"] == "m5.xlarge" and large["InstanceLifecycle"] == "spot"
    expected = {"head": ["init 1", "setup 1", "second line", "head 1"],
                "small": ["init 1", "setup 1", "second line", "worker 1"],
                "large": ["init 1", "large 1"]}  # the commands of a node type replace all others
    for kind, machine in zip(kinds, nodes):
        ident = machine["InstanceId"]
        order = home(ident, "cat", "order").splitlines()
        assert order == expected[kind], kind
        listed = set(home(ident, "sh", "-c", "cd app && find . -type f").split())
        assert listed == {"./main.py", "./data.bin", "./deep/er/file", "./.gitignore"}, kind
        assert home(ident, "cat", "one file.txt") == "one\n"
        assert ("export APP_MODE=real" in home(ident, "cat", ".bashrc")) == (kind != "large")
        # Ray was started with the variable that the line before exported.
        found = home(ident, "sh", "-c", "tr '\\0' '\\n' < /proc/$(pgrep -o raylet)/environ")
        assert 'FROM_FILE=a "b"' in found
    head_ip = nodes[0]["PrivateIpAddress"]
    small = nodes[kinds.index("small")]
    assert home(small["InstanceId"], "cat", "head-ip").strip() == head_ip
    use_all(made)
    made.down()
    assert made.remains() == {}

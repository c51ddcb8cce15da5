"""Which cluster a command is about: a default file, SHOAL_CLUSTER, names instead of files."""

import pytest

FILE = "cluster_name: {name}\nprovider: {{type: aws, region: {region}}}\n"
NOBODY = {"AWS_EC2_METADATA_DISABLED": "true"}
WRONG = "cluster_name: demo\nprovider: {type: aws}\nno_such_key: 1\n"


@pytest.fixture
def know(home, folder):
    """know("demo", "us-west-2", "x.yaml"): as if `shoal up x.yaml` had run on this machine."""

    def note(name, region, file):
        place = home / ".local" / "state" / "shoal" / f"aws-{region}-{name}"
        place.mkdir(parents=True, mode=0o700)
        if file:
            (place / "file").write_text(str(folder / file), encoding="utf-8")

    return note


def test_without_a_file_there_is_a_default(shoal, write):
    done = shoal("validate")
    assert (done.returncode, done.stdout) == (2, "")
    assert "missing argument FILE: there is no cluster.yaml in this directory" in done.stderr
    write("cluster.yaml", FILE.format(name="one", region="us-west-2"))
    assert shoal("validate").stdout == shoal("validate", "cluster.yaml").stdout
    write("other.yaml", WRONG)
    done = shoal("validate", env={"SHOAL_CLUSTER": "other.yaml"})
    assert done.returncode == 1 and "other.yaml:3" in done.stdout + done.stderr
    assert shoal("validate", "cluster.yaml", env={"SHOAL_CLUSTER": "other.yaml"}).returncode == 0
    assert shoal("validate", env={"SHOAL_CLUSTER": ""}).returncode == 0


@pytest.mark.parametrize("words", [
    ["exec", "ray status"], ["submit", "train.py"], ["submit", "train.py", "a", "b"],
    ["logs", "worker-2"], ["explain", "GPU"], ["down", "-y"], ["status"], ["top"], ["attach"],
    ["events"], ["ls-no-such"]], ids=" ".join)
def test_the_default_leaves_other_arguments_alone(shoal, write, words):
    """It is read, and found wrong; without it the same words lack their FILE."""
    write("train.py", "")
    lacking = shoal(*words, env=NOBODY)
    assert lacking.returncode in (1, 2)
    write("cluster.yaml", WRONG)
    done = shoal(*words, env=NOBODY)
    is_command = words[0] != "ls-no-such"
    assert ("cluster.yaml is not valid" in done.stderr) == is_command, done.stderr


@pytest.mark.parametrize("words", [["exec", "cluster.yaml"], ["submit", "cluster.yaml"]])
def test_a_file_alone_is_never_a_command(shoal, write, words):
    write("cluster.yaml", FILE.format(name="one", region="us-west-2"))
    done = shoal(*words)
    assert done.returncode == 2 and "missing argument" in done.stderr


def test_an_unquoted_command_is_explained(shoal):
    done = shoal("exec", "cluster.yaml", "ray", "status")
    assert done.returncode == 2
    assert "quote the command: shoal exec FILE 'ray status'" in done.stderr


def test_a_name_stands_for_its_file(shoal, write, know):
    write("x.yaml", WRONG)
    done = shoal("status", "demo", env=NOBODY)
    assert done.returncode == 1 and "demo: No such file" in done.stderr
    know("demo", "us-west-2", "x.yaml")
    know("not-demo", "us-west-2", "y.yaml")  # ends with the same letters
    for words in (["status", "demo"], ["exec", "demo", "true"], ["logs", "demo"]):
        done = shoal(*words, env=NOBODY)
        assert done.returncode == 1, done.stderr
        assert "x.yaml is not valid; nothing was changed" in done.stderr, done.stderr
    write("demo", FILE.format(name="one", region="us-west-2"))  # a file of that name comes first
    assert "x.yaml" not in shoal("status", "demo", env=NOBODY).stderr


def test_a_name_in_two_regions_is_not_guessed(shoal, write, know):
    write("x.yaml", WRONG)
    know("demo", "us-west-2", "x.yaml")
    know("demo", "eu-west-1", "x.yaml")
    done = shoal("status", "demo")
    assert done.returncode == 2
    assert "us-west-2" in done.stderr and "eu-west-1" in done.stderr


@pytest.mark.parametrize("file", ["gone.yaml", None])
def test_a_name_whose_file_is_gone(shoal, know, file):
    know("demo", "us-west-2", file)
    done = shoal("status", "demo")
    assert done.returncode == 1
    assert "shoal down demo --region us-west-2" in done.stderr
    down = shoal("down", "-y", "demo", env=NOBODY)  # needs no file
    assert down.returncode == 1 and "credentials" in down.stderr, down.stderr

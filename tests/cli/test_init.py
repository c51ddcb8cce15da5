"""`shoal init`: the file that it writes is valid, and it never replaces one."""

import os
import pty
import resource
import signal

import pytest


def write_all(shoal, *words, **more):
    done = shoal("init", *words, **more)
    assert done.returncode == 0, done.stderr
    return done


def test_defaults_without_a_terminal(shoal, tmp_path):
    done = write_all(shoal)
    assert "cluster.yaml" in done.stdout and "up to 4 spot workers m5.large" in done.stdout
    checked = shoal("validate", "cluster.yaml")
    assert checked.returncode == 0 and "cluster.yaml is fine" in checked.stdout, checked.stderr


@pytest.mark.parametrize("words, texts", [
    (["--on-demand"], ["up to 4 on-demand workers"]),
    (["-t", "g5.xlarge", "--max-workers", "1"], ["up to 1 spot worker g5.xlarge"]),
    (["--region", "eu-central-1", "--name", "gpu_2"], ["cluster gpu_2 in eu-central-1"]),
    (["-t", "c7g.large"], ["head m6g.large, up to 4 spot workers c7g.large"]),
])
def test_options(shoal, words, texts):
    done = write_all(shoal, "-y", "mine.yaml", *words)
    assert all(text in done.stdout for text in texts)
    checked = shoal("validate", "mine.yaml")
    assert checked.returncode == 0 and "is fine" in checked.stdout, checked.stderr


@pytest.mark.parametrize("words, texts", [
    ([], ["in us-central1, head n2-standard-4, up to 4 spot workers n2-standard-4",
          "your project"]),
    (["-t", "g2-standard-8", "--region", "us-west1"], ["up to 4 spot workers g2-standard-8"]),
    (["-t", "t2a-standard-2"], ["head t2a-standard-2, up to 4 spot workers t2a-standard-2"]),
    (["--on-demand", "-t", "n2-custom-6-20480"], ["on-demand workers n2-custom-6-20480"]),
])
def test_a_file_for_gcp(shoal, words, texts):
    done = write_all(shoal, "-y", "--provider", "gcp", "--project", "my-project-id", "--name",
                     "a-1", *words)
    assert all(text in done.stdout for text in texts), done.stdout
    checked = shoal("validate", "cluster.yaml")
    assert checked.returncode == 0 and "is fine" in checked.stdout, checked.stdout + checked.stderr


def test_an_existing_file_is_kept(shoal, write):
    path = write("cluster.yaml", "cluster_name: mine\n")
    done = shoal("init")
    assert done.returncode == 1 and "cluster.yaml exists" in done.stderr
    assert path.read_text() == "cluster_name: mine\n"


@pytest.mark.parametrize("words, error", [
    (["--region", "US West"], "--region US West: AWS has no such region"),
    (["--region", "us-wset-2"], "--region us-wset-2: AWS has no such region; did you mean "
                                "us-west-2?"),
    (["--region", "us-central1"], "AWS has no such region"),
    (["--provider", "gcp", "--project", "my-project-id", "--region", "us-west-2"],
     "--region us-west-2: this is not the name of a region; an example is us-central1"),
    (["--provider", "gcp", "--project", "my-project-id", "--region", "us-central"],
     "this is not the name of a region"),
    (["-t", "m5.larg"], "did you mean m5.large?"),
    (["--max-workers", "0"], "--max-workers 0: the number of workers must be from 1 to 10000"),
    (["--max-workers", "many"], "must be from 1 to 10000"),
    (["--name", "a b"], "--name can contain only letters"),
    (["--provider", "gcp"], "--project : give the ID of the project"),
    (["--project", "my-project-id"], "--project needs --provider gcp"),
    (["--provider", "gcp", "--name", "Big"], "--name can contain only small letters"),
    (["--provider", "gcp", "--project", "my-project-id", "-t", "m5.large"],
     "not the name of a machine type"),
    (["nowhere/cluster.yaml"], "cannot create nowhere/cluster.yaml: No such file or directory"),
])
def test_mistakes_write_nothing(shoal, tmp_path, words, error):
    done = shoal("init", *words)
    assert done.returncode in (1, 2) and error in done.stderr
    assert not list(tmp_path.rglob("*.yaml"))


@pytest.mark.parametrize("limit, error", [(0, "File too large"), (100, "No space left on device")])
def test_a_write_that_fails_leaves_no_file(shoal, tmp_path, limit, error):
    def no_room():
        signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
        resource.setrlimit(resource.RLIMIT_FSIZE, (limit, limit))
    done = shoal("init", preexec_fn=no_room)
    assert done.returncode == 1 and f"cannot write cluster.yaml: {error}" in done.stderr
    assert not list(tmp_path.rglob("*.yaml"))


def answer(shoal, text, *words):
    """Runs it on a terminal and types the text."""
    master, slave = pty.openpty()
    try:
        os.write(master, text.encode())
        return shoal("init", *words, stdin=slave)
    finally:
        os.close(master)
        os.close(slave)


def test_questions_are_repeated_until_they_are_answered(shoal):
    done = answer(shoal, "Mars\nus-east-1\nm5.huge\ng5.xlarge\n-1\n2\n")
    assert done.returncode == 0, done.stderr
    assert "AWS region [us-west-2]: " in done.stderr and "did you mean" in done.stderr
    assert "up to 2 spot workers g5.xlarge" in done.stdout and "us-east-1" in done.stdout


def test_an_empty_answer_is_the_default_and_options_are_not_asked(shoal):
    done = answer(shoal, "\n\n", "--max-workers", "7")
    assert done.returncode == 0, done.stderr
    assert "Largest number" not in done.stderr
    assert "in us-west-2" in done.stdout and "up to 7 spot workers m5.large" in done.stdout


def test_the_end_of_input_writes_nothing(shoal, tmp_path):
    done = answer(shoal, "us-east-1\n\x04")
    assert done.returncode == 1 and "no file was written" in done.stderr
    assert not list(tmp_path.rglob("*.yaml"))

"""Options and mistakes of `shoal train`, without a cluster."""

import datetime
import json

import pytest

SPEED = ["--speed", "1:2,2:3.8,4:7"]


@pytest.mark.parametrize("words, error", [
    (["-m", "0"], '-m needs a number of replicas from 1 to 127, not "0"'),
    (["-m", "128"], "-m needs a number of replicas from 1 to 127"),
    (["--min", "5", "-m", "3"], "--min is 5, but the largest number of replicas is 3"),
    (["--checkpoint-every", "-3"], "--checkpoint-every needs a whole number from 1"),
    (["--max-hourly-cost", "3"], "--max-hourly-cost needs --price"),
    (["--max-hourly-cost", "0", "--price", "1"], "--max-hourly-cost must be more than 0"),
    (["--finish-by", "8h"], "--finish-by needs --total-steps"),
    (["--finish-by", "soon", "--total-steps", "9"], "a duration such as 8h or 90m"),
    (["--finish-by", "2020-01-01T00:00:00Z", "--total-steps", "9"], "a future time in UTC"),
    (["--price", "much"], "--price needs a number"),
    (["--simulate"], "--simulate needs --speed"),
    (["--simulate", "--speed", ""], "--simulate needs --speed"),
    (["--simulate", "--speed", "1:x"], "steps per second by number of replicas"),
    (["--simulate", "--speed", "0:1"], "steps per second by number of replicas"),
], ids=lambda value: " ".join(value) if isinstance(value, list) else "")
def test_wrong_options(shoal, write, words, error):
    write("train.py", "import torch\n")
    done = shoal("train", "-f", "train.py", *words)
    assert done.returncode == 2 and error in done.stderr


def test_simulated_deadline_in_utc(shoal):
    """It counts from now, as a duration does."""
    until = datetime.datetime.now(datetime.timezone.utc) + datetime.timedelta(hours=10)
    words = ["--simulate", *SPEED, "-m", "8", "--total-steps", "200000", "--price", "0.16"]
    spans = [shoal("train", *words, "--finish-by", text).stdout
             for text in ("10h", until.strftime("%Y-%m-%dT%H:%M:%SZ"))]
    hours = [float(span.splitlines()[1].split()[1]) for span in spans]
    assert abs(hours[0] - hours[1]) < 0.2, spans


def test_fetch_needs_a_name(shoal, write):
    """The name becomes a part of a path on the head."""
    write("cluster.yaml", "cluster_name: demo\n")
    done = shoal("train", "fetch", "cluster.yaml", "a;b")
    assert done.returncode == 2 and "is not the name of a job" in done.stderr


@pytest.mark.parametrize("words, error", [
    ([], "the training script is missing"),
    (["statsu"], 'did you mean "train status"?'),
    (["train.py"], "name the training script with -f"),
    (["cluster.yaml", "status"], 'the command "status" must directly follow "train"'),
], ids=lambda value: " ".join(value) if isinstance(value, list) else "")
def test_no_script(shoal, words, error):
    done = shoal("train", *words)
    assert done.returncode == 2 and error in done.stderr


@pytest.mark.parametrize("home", [".", "below"])
def test_a_home_directory_is_not_copied(shoal, write, home):
    script = write("train.py", "import torch\n")
    (script.parent / home).mkdir(exist_ok=True)
    done = shoal("train", "-f", "train.py", env={"HOME": str(script.parent / home)})
    assert done.returncode == 2 and "contains your home directory" in done.stderr


def figures(text):
    rows = [line.split() for line in text.splitlines()[1:] if not line.startswith("  complete")]
    return {row[0]: [float(word) for word in row[1:]] for row in rows}


def test_a_deadline_is_cheaper_than_the_largest_size(shoal):
    words = ["train", "--simulate", *SPEED, "-m", "8", "--total-steps", "200000", "--price", "0.16"]
    largest, cheap = (shoal(*words, *more) for more in ([], ["--finish-by", "10h"]))
    assert largest.returncode == cheap.returncode == 0
    assert "complete on 100 of 100 days" in cheap.stdout
    assert figures(cheap.stdout)["hours"][2] <= 10
    assert figures(cheap.stdout)["dollars"][0] < 0.9 * figures(largest.stdout)["dollars"][0]


def recorded_finish(home):
    command = json.loads((home / ".shoal/train/train/job.json").read_text())["command"]
    return [word for word in command if word.startswith("--finish-by=")]


def test_a_deadline_survives_a_stop(run, program, write, home):
    """"8h" is from the first run on; a job whose time is over can be continued."""
    write("train.py", "import torch\n")
    nothing = ["-u", "127.0.0.1:1", "--gcs", "127.0.0.1:1"]    # no Ray: the job waits
    stopped = ["timeout", "-s", "TERM", "2", program, "train"]
    before = datetime.datetime.now(datetime.timezone.utc)
    done = run([*stopped, "-f", "train.py", *nothing, "--finish-by", "8h", "--total-steps", "9"])
    finish = recorded_finish(home)
    assert len(finish) == 1, done.stdout + done.stderr
    at = datetime.datetime.fromisoformat(finish[0].partition("=")[2].replace("Z", "+00:00"))
    assert 0 <= (at - before).total_seconds() - 8 * 3600 + 1 < 30
    run([*stopped, "resume"])
    assert recorded_finish(home) == finish
    record = home / ".shoal/train/train/job.json"
    over = "--finish-by=2020-01-01T00:00:00Z"
    record.write_text(record.read_text().replace(finish[0], over))
    done = run([*stopped, "resume"])
    assert "a future time" not in done.stderr and recorded_finish(home) == [over], done.stderr


@pytest.mark.parametrize("option", ["--checkpoint-timeout", "--checkpoint-every", "--total-steps",
                                    "--keep", "--price", "--max-hourly-cost"])
def test_an_explicit_zero_is_not_the_default(shoal, write, option):
    write("train.py", "")
    done = shoal("train", "-d", ".", "-f", "train.py", option, "0")
    assert done.returncode == 2 and option in done.stderr, done.stderr


def test_the_wait_for_other_replicas_can_be_zero(shoal, write):
    write("train.py", "")
    done = shoal("train", "-f", "train.py", "--cluster-rescale-timeout", "0", "--output", "no")
    assert "--output" in done.stderr, done.stderr
    done = shoal("train", "-f", "train.py", "--cluster-rescale-timeout", "-1", "--output", "no")
    assert "--cluster-rescale-timeout needs a whole number from 0" in done.stderr, done.stderr


def test_the_simulation_obeys_scaled_batch(shoal):
    """Each replica has its own batch: two replicas that step as fast as one do twice the work."""
    words = ("train", "--simulate", "--speed", "1:2.0,2:2.0", "-m", "2")
    plain, scaled = (figures(shoal(*words, *more).stdout)["steps"][0]
                     for more in ((), ("--scaled-batch",)))
    assert scaled > 1.9 * plain > 0


def test_an_option_that_is_not_utf8_is_refused(shoal, write):
    write("train.py", "")
    done = shoal("train", "-f", "train.py", "--prepare", "\udcff")
    assert done.returncode == 2 and "--prepare is not UTF-8" in done.stderr, done.stderr

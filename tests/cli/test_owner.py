"""One machine, one cluster file, two AWS accounts: a command acts on the cluster of the account
that its credentials name, and on no other, neither in the cloud nor on this machine."""

import fcntl
import hashlib
import shutil
import subprocess

import pytest

from moto_cloud import ACCOUNT, REGION
from moto_cluster import FILE, cloud, payloads, run_up, server, things  # noqa: F401

OTHER = "222222222222"
TIMES = "horizon=3000,call_timeout=500"


@pytest.fixture
def other(cloud):
    return cloud.account(OTHER)


@pytest.fixture
def records(home):
    return home / ".local" / "state" / "shoal"


@pytest.fixture
def plain(records):
    return records / f"aws-{REGION}-demo"


@pytest.fixture
def of_other(records):
    digest = hashlib.sha256(f"account {OTHER}".encode()).hexdigest()[:8]
    return records / f"aws-{REGION}-demo@{digest}"


@pytest.fixture
def run_in(shoal, cloud, payloads):
    def run(account, *words, env=None, **more):
        return shoal(*words, env={**account.environment, "SHOAL_TEST_TIMES": TIMES,
                                  "SHOAL_PAYLOADS": str(payloads), **(env or {})}, **more)

    return run


@pytest.fixture
def up_in(cloud, payloads, environment, program, folder):
    """`shoal up` in an account, killed after it launched the head."""

    def run(account, *words, failpoint="up:after-head-launch"):
        env = {**environment, **account.environment, "SHOAL_PAYLOADS": str(payloads),
               "SHOAL_FAILPOINT": failpoint}
        return subprocess.run([program, "up", *(words or ["-y"]), "x.yaml"], cwd=folder, env=env,
                              check=False, capture_output=True, encoding="utf-8", timeout=60,
                              stdin=subprocess.DEVNULL)

    return run


def state_of(folder):
    """The bytes of every file; the shared memory of a journal is none of its state."""
    return {str(path.relative_to(folder)): path.read_bytes() for path in sorted(folder.rglob("*"))
            if path.is_file() and not path.name.endswith(("-shm", "-wal"))}


def uids(account):
    found = account.ec2.describe_instances()["Reservations"]
    return {tag["Value"] for r in found for i in r["Instances"] for tag in i.get("Tags", [])
            if tag["Key"] == "shoal-cluster-uid"}


def strip(plain):
    """As an older release left it."""
    (plain / "owner").unlink()


# ---- down ----

def test_down_with_another_account_changes_nothing(run_up, run_in, cloud, other, records):
    run_up()
    before, cloud_before = state_of(records), things(cloud)
    done = run_in(other, "down", "-y", "x.yaml")
    assert done.returncode == 1, done.stderr
    assert f"account {OTHER} has no cluster demo" in done.stderr
    assert f"is of account {ACCOUNT}" in done.stderr and "Nothing was changed" in done.stderr
    assert "nothing is left" not in done.stderr
    assert state_of(records) == before and things(cloud) == cloud_before
    done = run_in(cloud, "down", "-y", "x.yaml")
    assert done.returncode == 0 and "Checked: nothing is left" in done.stderr
    assert not any(things(cloud).values()) and not list(records.iterdir())


def test_down_with_another_account_does_not_stop_up(run_up, run_in, other, plain):
    """The lock of the other account's `up` is not even tried."""
    run_up()
    with open(plain / "lock", "r+", encoding="utf-8") as lock:
        fcntl.lockf(lock, fcntl.LOCK_EX)  # of this process
        done = run_in(other, "down", "-y", "x.yaml")
        assert done.returncode == 1 and "asked it to stop" not in done.stderr
        assert f"account {OTHER} has no cluster demo" in done.stderr


def test_down_finds_a_cluster_of_this_account_without_its_records(run_up, up_in, run_in, cloud,
                                                                   other, records, of_other):
    run_up()
    up_in(other)
    shutil.rmtree(of_other)
    before = state_of(records)
    done = run_in(other, "down", "-y", "x.yaml")
    assert done.returncode == 0, done.stderr
    assert other.living() == [] and len(cloud.living()) == 1 and state_of(records) == before


def test_an_account_that_cannot_be_known_proves_nothing(run_up, run_in, cloud, other, records):
    """A private network without an endpoint of STS: the cloud's evidence alone decides."""
    run_up()
    before = state_of(records)
    cloud.refuse("GetCallerIdentity", "AccessDenied")
    done = run_in(other, "down", "-y", "x.yaml")
    assert done.returncode == 1 and "nothing is left" not in done.stderr, done.stderr
    assert state_of(records) == before and len(cloud.living()) == 1
    done = run_in(cloud, "down", "-y", "x.yaml")
    assert done.returncode == 0 and cloud.living() == [], done.stderr


# ---- up ----

def test_up_with_another_account_makes_a_separate_cluster(run_up, up_in, run_in, cloud, other,
                                                          plain, of_other):
    run_up()
    before = state_of(plain)
    done = up_in(other)
    assert done.returncode == -9, done.stderr
    assert f"also knows a cluster demo of account {ACCOUNT}" in done.stderr
    assert f"the new one is of account {OTHER}" in done.stderr
    assert len(cloud.living()) == len(other.living()) == 1
    assert len(uids(cloud)) == len(uids(other)) == 1 and uids(cloud) != uids(other)
    assert state_of(plain) == before
    for name in ("key", "secret"):
        assert (plain / name).read_bytes() != (of_other / name).read_bytes()
    assert (of_other / "owner").read_text() == f"account {OTHER}\n"
    assert run_in(cloud, "down", "-y", "x.yaml").returncode == 0
    assert len(other.living()) == 1 and not plain.exists() and (of_other / "key").exists()
    assert run_in(other, "down", "-y", "x.yaml").returncode == 0
    assert other.living() == [] and not of_other.exists()


def test_up_again_says_nothing(run_up, up_in, other):
    run_up()
    assert up_in(other).returncode == -9
    done = up_in(other, failpoint="up:after-take")
    assert "also knows" not in done.stderr


def test_start_creates_no_second_cluster(run_up, run_in, cloud, other, records):
    run_up()
    before = state_of(records)
    done = run_in(other, "exec", "--start", "x.yaml", "true")
    assert done.returncode == 1 and f"is of account {ACCOUNT}" in done.stderr, done.stderr
    assert other.living() == [] and state_of(records) == before


@pytest.mark.parametrize("failpoint", ["file:owner:before", "file:owner:after",
                                       "file:secret:after", "file:key:after", "after-take",
                                       "after-head-launch"])
def test_an_up_that_was_killed_belongs_to_its_account(run_up, up_in, run_in, cloud, other, plain,
                                                      records, failpoint):
    """Whatever was written, the next command handles it."""
    run_up(f"up:{failpoint}")
    had_owner = (plain / "owner").exists()
    assert had_owner == (failpoint != "file:owner:before")
    up_in(other)
    assert uids(cloud) != uids(other) or not uids(cloud)
    for account in (other, cloud):
        done = run_in(account, "down", "-y", "x.yaml")
        assert done.returncode == 0 or not had_owner or account is cloud, done.stderr
    assert cloud.living() == other.living() == []
    assert not any(path.name == "key" for path in records.rglob("*"))


# ---- records of an older release ----

def test_old_records_are_adopted_if_their_uid_is_there(run_up, run_in, cloud, other, plain):
    run_up()
    strip(plain)
    before = state_of(plain)
    done = run_in(other, "down", "-y", "x.yaml")
    assert done.returncode == 1 and "older release" in done.stderr, done.stderr
    assert state_of(plain) == before and len(cloud.living()) == 1
    done = run_in(cloud, "down", "-y", "x.yaml")
    assert done.returncode == 0 and "Checked: nothing is left" in done.stderr, done.stderr
    assert not plain.exists()


def test_old_records_are_refused_by_up_elsewhere(run_up, up_in, cloud, other, plain):
    run_up()
    strip(plain)
    done = up_in(other)
    assert done.returncode == 1 and "do not say whose they are" in done.stderr, done.stderr
    assert len(cloud.living()) == 1
    assert other.living() == [] and not (plain / "owner").exists()
    up_in(cloud, failpoint="up:after-take")
    assert (plain / "owner").read_text() == f"account {ACCOUNT}\n"


def test_an_imported_key_without_a_uid_is_not_adopted(run_up, up_in, run_in, cloud, other, plain):
    """Of an older release, which did not say whose it is: the name alone proves nothing."""
    run_up()
    strip(plain)
    for path in plain.glob("journal*"):
        path.unlink()
    done = up_in(cloud)
    assert done.returncode == 1 and "do not say whose they are" in done.stderr
    assert not (plain / "owner").exists()
    done = run_in(cloud, "down", "-y", "x.yaml")
    assert done.returncode == 0 and cloud.living() == [] and (plain / "key").exists(), done.stderr


def test_a_command_that_finds_the_head_adopts_its_records(run_up, up_in, run_in, cloud, other,
                                                          plain, of_other):
    run_up()
    up_in(other)
    shutil.rmtree(of_other)  # started from another machine
    strip(plain)
    assert run_in(other, "get-head-ip", "x.yaml").returncode == 0
    assert not (plain / "owner").exists()
    assert run_in(cloud, "get-head-ip", "x.yaml").returncode == 0
    assert (plain / "owner").read_text() == f"account {ACCOUNT}\n"


# ---- other commands ----

@pytest.mark.parametrize("words", [("exec", "x.yaml", "true"), ("status", "x.yaml"),
                                   ("get-head-ip", "x.yaml"), ("stop", "-y", "x.yaml"),
                                   ("logs", "x.yaml", "head"), ("ssh-config", "x.yaml"),
                                   ("attach", "x.yaml"), ("rsync-up", "x.yaml", "a", "b")])
def test_commands_name_both_accounts(run_up, run_in, other, cloud, records, words):
    run_up()
    before = state_of(records)
    done = run_in(other, *words)
    assert done.returncode == 1, done.stderr
    assert f"account {OTHER} has no cluster demo" in done.stderr, done.stderr
    assert f"is of account {ACCOUNT}" in done.stderr
    assert state_of(records) == before and len(cloud.living()) == 1


def test_a_hostile_owner_is_printed_escaped(run_up, run_in, other, plain):
    run_up()
    (plain / "owner").write_text("account 1\x1b[2J\n")
    done = run_in(other, "down", "-y", "x.yaml")
    assert done.returncode == 1 and "\x1b" not in done.stderr and "account 1" in done.stderr


def test_records_without_key_and_journal_are_ignored(write, run_in, other, plain):
    """Left by a command that only pinned a host key."""
    write("x.yaml", FILE)
    (plain / "known_hosts").mkdir(parents=True)
    for folder in (plain / "known_hosts", *list(plain.parents)[:4], plain):
        folder.chmod(0o700)
    (plain / "owner").write_text(f"account {ACCOUNT}\n")
    done = run_in(other, "down", "-y", "x.yaml")
    assert done.returncode == 0 and ACCOUNT not in done.stderr, done.stderr


# ---- the key on another machine ----

@pytest.fixture
def there(tmp_path):
    """The home of another machine."""
    path = tmp_path / "there"
    path.mkdir()
    return path


def test_an_exported_key_says_whose_it_is(run_up, up_in, run_in, cloud, other, plain, of_other,
                                          there):
    run_up()
    up_in(other)
    cloud.calls.clear()
    texts = {}
    for account, folder in ((cloud, plain), (other, of_other)):
        done = run_in(account, "key", "export", "x.yaml")
        assert done.returncode == 0 and (folder / "key").read_text() in done.stdout, done.stderr
        texts[account] = done.stdout
    assert texts[cloud].splitlines()[1] == f"owner account {ACCOUNT}"
    assert texts[other].splitlines()[1] == f"owner account {OTHER}"
    assert cloud.actions() == ["GetCallerIdentity"] * 2  # only because there are two
    cloud.calls.clear()
    records = there / ".local" / "state" / "shoal"
    for account in (other, cloud):
        done = run_in(account, "key", "import", "x.yaml", "-", env={"HOME": str(there)},
                      input=texts[account])
        assert done.returncode == 0, done.stderr
    first = records / plain.name
    assert (first / "owner").read_text() == f"account {OTHER}\n"
    assert (first / "key").read_text() == (of_other / "key").read_text()
    second, = [path for path in records.iterdir() if path != first]
    assert (second / "key").read_text() == (plain / "key").read_text()
    assert cloud.actions() == []


def test_the_key_of_an_older_release_is_not_guessed_at(run_up, run_in, cloud, plain, there):
    run_up()
    text = run_in(cloud, "key", "export", "x.yaml").stdout
    assert cloud.actions()[-1] != "GetCallerIdentity"
    lines = text.splitlines(keepends=True)
    old = "".join([lines[0].replace("shoal-key 2", "shoal-key 1"), *lines[2:]])
    at_home = {"HOME": str(there)}
    done = run_in(cloud, "key", "import", "x.yaml", "-", env=at_home, input=old)
    assert done.returncode == 1 and "export it again" in done.stderr
    for owner in ("owner \n", "owner a\x1b[2J\n", "owner " + "x" * 400 + "\n", ""):
        damaged = "".join([lines[0], owner, *lines[2:]])
        done = run_in(cloud, "key", "import", "x.yaml", "-", env=at_home, input=damaged)
        assert done.returncode == 1 and "\x1b" not in done.stderr, owner
    assert not list((there / ".local" / "state").rglob("key"))
    strip(plain)
    done = run_in(cloud, "key", "export", "x.yaml")
    assert done.returncode == 1 and "not known whose cluster" in done.stderr and not done.stdout
    done = run_in(cloud, "key", "import", "x.yaml", "-", input=text)  # the same key, with its owner
    assert done.returncode == 0 and (plain / "owner").read_text() == f"account {ACCOUNT}\n"


def test_a_name_of_two_accounts_is_enough(run_up, up_in, run_in, cloud, other):
    """Both were made from one file: the credentials choose."""
    run_up()
    up_in(other)
    assert run_in(other, "down", "-y", "demo").returncode == 0
    assert other.living() == [] and len(cloud.living()) == 1

"""The bed's fixtures, and the program that is driven."""

import importlib.util
import os
import pathlib
import subprocess
import sys

import pytest

HERE = pathlib.Path(__file__).resolve().parent
BED = HERE.parent / "bed"
sys.path.insert(0, str(BED))
spec = importlib.util.spec_from_file_location("bed_conftest", BED / "conftest.py")
bed_conftest = importlib.util.module_from_spec(spec)
sys.modules["bed_conftest"] = bed_conftest
spec.loader.exec_module(bed_conftest)

running_bed, bed, paper = bed_conftest.running_bed, bed_conftest.bed, bed_conftest.paper
pytest_configure = bed_conftest.pytest_configure
aws, ec2, run, key_files = (bed_conftest.aws, bed_conftest.ec2, bed_conftest.run,
                            bed_conftest.key_files)

from cloud import client as bed_client  # noqa: E402
from cloud import settings  # noqa: E402

BUILD = pathlib.Path(os.environ.get("SHOAL_BUILD", HERE.parent.parent / "build"))
ENOUGH = 1_000_000


@pytest.fixture
def cloud(paper):
    """An empty bed without machines' containers and with room for thousands of them."""
    paper.set(vcpu_quota=ENOUGH, spot_vcpu_quota=ENOUGH, terminating=0.3)
    return paper


class Conform:
    """The program, for one cluster on the bed."""

    def __init__(self, key, cluster, folder):
        self.words = ["--cluster", cluster, "--image", bed_conftest.BASE, "--zone", "us-west-2a",
                      "--zone", "us-west-2b", "--key", str(key)]
        self.cluster = cluster
        self.journal = folder / "journal"
        self.errors = folder / "stderr"
        self.environment = {**os.environ, **bed_client.environment(), "HOME": str(folder),
                            "SHOAL_CALLER_URL": f"http://{settings.GATEWAY}:"
                                                f"{settings.CALLER_PORT}/"}

    def start(self, verb, *more):
        with self.errors.open("ab") as errors:
            return subprocess.Popen([BUILD / "tests" / "conformance" / "conform", verb,
                                     *self.words, *map(str, more)], env=self.environment,
                                    stdout=subprocess.PIPE, stderr=errors, text=True)

    def run(self, verb, *more, seconds=600):
        """(exit status, standard output)."""
        child = self.start(verb, *more)
        try:
            out, _ = child.communicate(timeout=seconds)
        except subprocess.TimeoutExpired:
            child.kill()
            child.wait()
            pytest.fail(f"conform {verb} took more than {seconds} s:\n{self.tail()}")
        return child.returncode, out

    def tail(self):
        return self.errors.read_text(errors="replace")[-3000:]


@pytest.fixture
def conform(key_files, tmp_path):
    key = key_files[0].with_suffix(".pub")
    return Conform(key, "conform-" + os.urandom(3).hex(), tmp_path)

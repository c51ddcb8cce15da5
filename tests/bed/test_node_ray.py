"""Ray is installed on a machine that has only python3."""

import os
import pathlib
import subprocess

import pytest
from cloud import images
from conftest import HERE

pytestmark = pytest.mark.long

BUILD = pathlib.Path(os.environ.get("SHOAL_BUILD") or HERE.parents[1] / "build").resolve()


def test_ray_comes_to_a_bare_machine(bed, machine, ssh):
    images.ensure_wheels()
    shell = ssh(machine())
    with open(BUILD / "src" / "cli" / "shoal", "rb") as stream:
        subprocess.run([*shell.words, "mkdir -p .shoal/bin && cat > .shoal/bin/shoal && "
                        "chmod 700 .shoal/bin/shoal"], stdin=stream, check=True, timeout=60)
    said = shell(".shoal/bin/shoal node probe --bare")
    assert "no ray, no pip, no docker" in said
    said = shell(".shoal/bin/shoal node ray --version 2.60.0 && .shoal/bin/shoal node env "
                 "--make-token", seconds=300)
    print(said)
    assert "pip comes from http://198.18.0.1:4568/simple" in said
    assert "Ray 2.60.0 is installed after" in said
    assert shell("bash --login -c -i 'source ~/.bashrc; ray --version; echo $RAY_AUTH_MODE' "
                 "2>/dev/null", seconds=60).split() == ["ray,", "version", "2.60.0", "token"]
    assert shell(".shoal/bin/shoal node idle") == "Ray is not running here\n"

"""The tables in src/config/catalog match the packages from which they were made.

Run with the Python that has moto, botocore and ray. If one is missing the test is skipped, or fails
if SHOAL_REQUIRE_RAY=1.
"""

import os
import pathlib
import subprocess
import sys

import pytest

DATA = pathlib.Path(__file__).resolve().parents[2] / "src" / "config" / "catalog"
NOT_INSTALLED = 3  # the scripts' exit status for a missing package


def changed_lines(diff):
    """The added and removed lines of a unified diff without context."""
    lines = [line for line in diff.splitlines() if line[:1] in ("+", "-")]
    return [line for line in lines if line[:3] not in ("+++", "---")]


@pytest.mark.parametrize("table", ["ec2_types", "ec2_params", "gce_fields"])
def test_table_is_what_its_packages_say(table):
    run = subprocess.run(
        [sys.executable, str(DATA / f"make_{table}.py"), "--check"],
        capture_output=True,
        text=True,
        timeout=900,
        check=False,
    )
    if run.returncode == NOT_INSTALLED:
        if os.environ.get("SHOAL_REQUIRE_RAY") == "1":
            pytest.fail(run.stderr)
        pytest.skip(run.stderr.strip())
    assert run.returncode in (0, 1) and "Traceback" not in run.stderr, run.stderr

    # --check itself ignores the date; only versions remain in the header.
    lines = changed_lines(run.stdout)
    versions = [line for line in lines if line[1:].startswith("# source: ")]
    if {line[0] for line in versions} != {"+", "-"}:
        versions = []  # a header without its sources does not count as another version
    content = [line for line in lines if line not in versions]
    if versions:
        print(f"note: {table}.tsv was made from other versions:", *versions, sep="\n")
        if content:
            changed = f"{len(content)} changed lines in {table}.tsv"
            pytest.skip(f"catalog made from another version: {changed}")
    assert not content, f"{table}.tsv is stale, run make_{table}.py:\n" + "\n".join(content[:40])
    assert run.returncode == (1 if versions else 0), run.stdout


@pytest.mark.parametrize("table", ["ec2_types", "ec2_params", "ec2_prices", "gce_fields"])
def test_table_can_be_searched(table):
    """The reader uses binary search over lines and splits them at tabs."""
    lines = (DATA / f"{table}.tsv").read_bytes().splitlines()
    head = [line for line in lines if line.startswith(b"#")]
    rows = [line for line in lines if not line.startswith(b"#")]
    assert lines == head + rows
    names = [row.split(b"\t")[0] for row in rows]
    assert len(names) > 100
    assert names == sorted(set(names))
    (columns,) = [line.split()[2:] for line in head if line.startswith(b"# columns: ")]
    fields = {len(row.split(b"\t")) for row in rows}
    # Only some parameters have the last column, the allowed values.
    assert fields == ({2, 3} if table in ("ec2_params", "gce_fields") else {len(columns)})

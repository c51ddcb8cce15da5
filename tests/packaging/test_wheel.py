"""The wheel: pip installs, runs and removes it, and its Python package drives the real program."""

import base64
import csv
import hashlib
import io
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tarfile
import time
import zipfile

import pytest
from conftest import REPOSITORY, STATIC, project_version

HERE = os.uname().machine
CLUSTER = REPOSITORY / "examples" / "clusters" / "aws-mixed.yaml"
WHEEL = STATIC.parent / "wheel"


def files_of(folder):
    """Every file below a folder. pip leaves empty folders, and Python compiles its own modules."""
    return {str(path.relative_to(folder)) for path in folder.rglob("*")
            if not path.is_dir() and "__pycache__" not in path.parts}


def pip(venv, *words):
    """pip of this Python, for a venv that has none: that is made in a moment, without network."""
    done = subprocess.run([sys.executable, "-m", "pip", "--python", venv / "bin/python",
                           "--no-input", "--disable-pip-version-check", *words],
                          capture_output=True, text=True, check=False,
                          env={**os.environ, "PIP_NO_INDEX": "1"})
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


@pytest.fixture(scope="module", name="empty")
def _empty(tmp_path_factory):
    """A fresh venv, and the names of its files."""
    venv = tmp_path_factory.mktemp("wheel") / "venv"
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", venv], check=True)
    return venv, files_of(venv)


@pytest.fixture(scope="module", name="venv")
def _venv(empty, make):
    pip(empty[0], "install", make("wheel", HERE))
    return empty[0]


@pytest.fixture(name="python")
def _python(venv, tmp_path):
    """python(code): runs it in the venv, in an empty home; what it printed."""

    def run_python(code, *words, **env):
        done = subprocess.run(
            [venv / "bin/python", "-I", "-c", code, *words], capture_output=True, text=True,
            check=False, cwd=tmp_path, timeout=600,
            env={"PATH": os.defpath, "HOME": str(tmp_path), "LC_ALL": "C.UTF-8", **env})
        assert done.returncode == 0, done.stderr
        return done.stdout

    return run_python


@pytest.mark.parametrize("arch", ["x86_64", "aarch64"])
def test_name_and_tags_agree(make, arch):
    path = make("wheel", arch)
    version = project_version()
    assert path.name == (f"shoal_ray-{version}-py3-none-"
                         f"manylinux_2_17_{arch}.musllinux_1_1_{arch}.whl")
    with zipfile.ZipFile(path) as archive:
        info = archive.read(f"shoal_ray-{version}.dist-info/WHEEL").decode()
        metadata = archive.read(f"shoal_ray-{version}.dist-info/METADATA").decode()
    assert re.findall("^Tag: (.*)$", info, re.MULTILINE) == [
        f"py3-none-manylinux_2_17_{arch}", f"py3-none-musllinux_1_1_{arch}"]
    assert f"\nName: shoal-ray\nVersion: {version}\n" in metadata


@pytest.mark.parametrize("arch, apple", [("x86_64", "x86_64"), ("aarch64", "arm64")])
def test_a_mac_gets_both_programs_for_nodes(make, arch, apple):
    path = make("wheel", f"{arch}-macos")
    version = project_version()
    assert path.name == f"shoal_ray-{version}-py3-none-macosx_12_0_{apple}.whl"
    with zipfile.ZipFile(path) as archive:
        names = archive.namelist()
        info = archive.read(f"shoal_ray-{version}.dist-info/WHEEL").decode()
        metadata = archive.read(f"shoal_ray-{version}.dist-info/METADATA").decode()
    assert f"\nTag: py3-none-macosx_12_0_{apple}\n" in info
    assert "Operating System :: MacOS\n" in metadata
    for other in ("x86_64", "aarch64"):
        assert f"shoal_ray-{version}.data/data/libexec/shoal/payload/shoal-{other}" in names


@pytest.mark.parametrize("arch", ["x86_64", "aarch64", "x86_64-macos", "aarch64-macos"])
def test_is_small(make, arch):
    assert make("wheel", arch).stat().st_size <= 12_000_000


@pytest.mark.parametrize("arch", ["x86_64", "aarch64"])
def test_record_lists_every_file(make, arch):
    with zipfile.ZipFile(make("wheel", arch)) as archive:
        names = archive.namelist()
        assert names[-1].endswith(".dist-info/RECORD")
        rows = list(csv.reader(io.StringIO(archive.read(names[-1]).decode())))
        assert [row[0] for row in rows] == names and rows[-1][1:] == ["", ""]
        for name, digest, size in rows[:-1]:
            content = archive.read(name)
            wanted = base64.urlsafe_b64encode(hashlib.sha256(content).digest()).rstrip(b"=")
            assert (digest, size) == (f"sha256={wanted.decode()}", str(len(content)))


def test_the_same_tarball_gives_the_same_bytes(make, tarballs, tmp_path):
    """Later, and from a copy with another time."""
    first = make("wheel", HERE)
    copy = tmp_path / tarballs[HERE].name
    shutil.copyfile(tarballs[HERE], copy)
    os.utime(copy, (0, time.time()))
    subprocess.run([WHEEL, copy], check=True, stdout=subprocess.DEVNULL,
                   env={**os.environ, "TZ": "Asia/Kolkata", "PYTHONHASHSEED": "7"})
    assert (tmp_path / first.name).read_bytes() == first.read_bytes()


def pack(folder, version, names):
    """A tarball of empty files."""
    top = f"shoal-{version}-linux-{HERE}"
    with tarfile.open(folder / f"{top}.tar.gz", "w:gz") as archive:
        for name in names:
            archive.addfile(tarfile.TarInfo(f"{top}/{name}"))
    return folder / f"{top}.tar.gz"


def test_bad_tarballs_are_refused(tarballs, tmp_path):
    cut = tmp_path / tarballs[HERE].name
    cut.write_bytes(tarballs[HERE].read_bytes()[:100_000])
    other = tmp_path / f"shoal-9-linux-{HERE}.tar.gz"
    other.write_bytes(tarballs[HERE].read_bytes())
    payloads = [f"libexec/shoal/payload/shoal-{arch}" for arch in ("x86_64", "aarch64")]
    partial = pack(tmp_path, "8", ["bin/shoal", payloads[0]])
    odd = pack(tmp_path, "1.0-beta", ["bin/shoal", *payloads])
    for path, why in ((cut, "cannot read"), (other, "is not a file of shoal-9"),
                      (tmp_path / "x", "is not named"), (partial, f"has no {payloads[1]}"),
                      (odd, "1.0-beta is not a version")):
        done = subprocess.run([WHEEL, path], capture_output=True, text=True, check=False)
        assert done.returncode == 1 and done.stderr.startswith("wheel: ") and why in done.stderr
    assert not list(tmp_path.glob("*.whl"))


def test_the_command_needs_no_python(venv, tmp_path):
    said = subprocess.run([venv / "bin/shoal", "version"], capture_output=True, text=True,
                          check=True, env={}).stdout
    assert said.startswith(f"shoal {project_version()} ")
    checked = subprocess.run([venv / "bin/shoal", "validate", CLUSTER], capture_output=True,
                             text=True, check=True, env={"HOME": str(tmp_path)}).stdout
    assert "is fine" in checked
    assert (venv / "bin/shoal").read_bytes()[:4] == b"\x7fELF"


def test_brings_payload_manual_and_completions(venv):
    other = {"x86_64": "aarch64", "aarch64": "x86_64"}[HERE]
    payloads = venv / "libexec/shoal/payload"
    assert [path.name for path in payloads.iterdir()] == [f"shoal-{other}"]
    assert os.access(payloads / f"shoal-{other}", os.X_OK)
    for name in ("man/man1/shoal.1", "man/man5/shoal-cluster.5", "zsh/site-functions/_shoal",
                 "bash-completion/completions/shoal", "fish/vendor_completions.d/shoal.fish",
                 "doc/shoal/openssl.copyright"):
        assert (venv / "share" / name).stat().st_size > 0, name


def test_python_runs_the_installed_program(python, venv):
    said = python("import shoal_ray as s\n"
                  "print(s.program(), s.version(), s.query('version')['version'])\n"
                  "print(s.run('version'), end='')")
    version = project_version()
    first, second = said.splitlines()
    assert first == f"{os.path.realpath(venv / 'bin/shoal')} {version} {version}"
    assert second.startswith(f"shoal {version} ")


def test_python_finds_a_program_elsewhere(python, venv, tmp_path):
    own = pathlib.Path(tmp_path, "own")
    own.symlink_to(venv / "bin/shoal")
    assert python("import shoal_ray as s; print(s.program())", SHOAL_PROGRAM=str(own)) == f"{own}\n"


def test_python_errors_have_types(python, tmp_path):
    (tmp_path / "bad.yaml").write_text("cluster_name: x\nmax_worker: 3\n", encoding="utf-8")
    assert python("""
import pickle, shoal_ray as s
def failing(*words):
    try:
        s.query(*words)
    except s.ShoalError as error:
        return error
bad = failing("validate", "bad.yaml")
assert type(bad) is s.CommandFailed and bad.status == 1
assert any("max_worker" in finding["text"] for finding in bad.json()["findings"]), bad.json()
again = pickle.loads(pickle.dumps(bad))
assert (again.status, again.stdout, str(again)) == (bad.status, bad.stdout, str(bad))
missing = failing("validate", "missing.yaml")
assert type(missing) is s.CommandFailed and "No such file" in str(missing), missing
assert missing.json()["error_kind"] == "not-found"
usage = failing("validate", "--bogus")
assert type(usage) is s.UsageError and usage.status == 2 and "--bogus" in str(usage)
print("ok")
""") == "ok\n"


def test_python_takes_input_and_timeouts(python):
    assert python("""
import subprocess, shoal_ray as s
text = "cluster_name: demo\\nprovider: {type: aws, region: us-west-2}\\n"
assert s.query("validate", "-", input=text)["findings"] == []
try:
    s.run("autoscaler", "--help", timeout=0)
except subprocess.TimeoutExpired:
    print("ok")
""") == "ok\n"


STAND_IN = """#!/bin/sh
# Prints as `shoal events -f -o json` does, and says how it ended.
[ "$*" = "events -f x.yaml -o json" ] || { echo "unexpected: $*" >&2; exit 2; }
trap 'echo ended > ended; exit 143' TERM
echo '{"n": 1}'; echo; echo '{"n": 2}'
[ -e forever ] && { sleep 60 & wait; }
echo 'shoal: error: the head is gone' >&2
exit 255
"""


def test_python_streams_objects(python, tmp_path):
    """Objects arrive while the command runs; closing the iterator ends the command."""
    program = tmp_path / "shoal"
    program.write_text(STAND_IN, encoding="ascii")
    program.chmod(0o755)
    code = """
import sys, shoal_ray as s
events, seen = s.stream("events", "-f", "x.yaml"), []
try:
    for event in events:
        seen.append(event["n"])
        if sys.argv[1:] and len(seen) == 2:
            break
    events.close()
except s.SshError as error:
    seen.append(str(error))
print(seen)
"""
    given = {"SHOAL_PROGRAM": str(program)}
    assert python(code, **given) == "[1, 2, 'shoal: error: the head is gone']\n"
    (tmp_path / "forever").touch()
    assert python(code, "stop", **given) == "[1, 2]\n"
    assert (tmp_path / "ended").exists()


def test_python_package_is_small_and_typed(venv):
    (package,) = venv.glob("lib/python3*/site-packages/shoal_ray")
    assert (package / "py.typed").exists()
    assert (package / "__init__.py").read_text(encoding="utf-8").count("\n") < 200


def test_uninstall_leaves_nothing(empty, venv):
    """Last: the other tests need it installed."""
    pip(venv, "uninstall", "-y", "shoal-ray")
    assert files_of(venv) == empty[1]

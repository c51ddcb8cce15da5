"""install.sh against a server on loopback: installs, upgrades, removes, and refuses what it cannot
verify."""

import functools
import hashlib
import http.server
import os
import pathlib
import shutil
import subprocess
import threading

import pytest
from conftest import STATIC, project_version

SCRIPT = STATIC.parent / "install.sh"
LIST = "share/shoal/installed-files"


class Quiet(http.server.SimpleHTTPRequestHandler):
    def log_message(self, *_):
        pass


@pytest.fixture(scope="module", name="release")
def _release(tarballs, tmp_path_factory):
    """A folder that is served: the tarball and SHA256SUMS. Its path and its address."""
    folder = tmp_path_factory.mktemp("release")
    tarball = shutil.copy(tarballs[os.uname().machine], folder)
    digest = hashlib.sha256(pathlib.Path(tarball).read_bytes()).hexdigest()
    (folder / "SHA256SUMS").write_text(f"{'0' * 64}  another.tar.gz\n"
                                       f"{digest}  {os.path.basename(tarball)}\n", encoding="ascii")
    handler = functools.partial(Quiet, directory=folder)
    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), handler) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield folder, f"http://127.0.0.1:{server.server_port}"
        server.shutdown()


@pytest.fixture(name="script")
def _script(release, tmp_path):
    """script(...): runs install.sh with an empty home, under the strictest shell there is."""
    (tmp_path / "home").mkdir()

    def run_script(*words, path=os.defpath, script=SCRIPT, pinned=True, shell=()):
        if pinned and "--uninstall" not in words:
            words = ("--from", release[1], "--version", project_version(), *words)
        strict = shutil.which("dash") or "/bin/sh"
        return subprocess.run([*shell, strict, script, *words], capture_output=True, text=True,
                              check=False, cwd=tmp_path, timeout=120,
                              env={"PATH": path, "HOME": str(tmp_path / "home")})

    return run_script


def files_below(folder):
    return sorted(str(path.relative_to(folder)) for path in folder.rglob("*"))


def test_installs_upgrades_and_removes(script, tmp_path):
    prefix = tmp_path / "home/.local"
    mine = prefix / "share/man/man1/mine.1"
    mine.parent.mkdir(parents=True)
    mine.touch()
    before = files_below(prefix)
    done = script()
    assert done.returncode == 0, done.stderr
    for words in ("Downloading http://127.0.0.1", "Verified shoal-", "SHA-256 ",
                  f"Installed shoal {project_version()} ", f"Add {prefix}/bin to your PATH",
                  f"--uninstall --prefix {prefix}"):
        assert words in done.stdout, words
    said = subprocess.run([prefix / "bin/shoal", "version"], capture_output=True, text=True,
                          check=True).stdout
    assert said.startswith(f"shoal {project_version()} ")
    assert not (prefix / "LICENSE").exists()
    # An upgrade removes files that the new version does not have.
    (prefix / "share/man/man1/shoal-gone.1").touch()
    with open(prefix / LIST, "a", encoding="ascii") as stream:
        stream.write("share/man/man1/shoal-gone.1\n")
    assert script().returncode == 0
    assert not (prefix / "share/man/man1/shoal-gone.1").exists()
    done = script("--uninstall")
    assert done.returncode == 0, done.stderr
    assert files_below(prefix) == before
    assert not list(tmp_path.glob("home/.local/**/*.new.*"))


def test_runs_nothing_in_the_folder_for_temporary_files(script, tmp_path):
    """Some systems mount it with the option noexec."""
    noexec = tmp_path / "noexec"
    noexec.mkdir()
    with open(tmp_path / "inside.sh", "w", encoding="ascii") as stream:
        stream.write(f"mount -t tmpfs -o noexec,mode=1777 none {noexec}\n"
                     f'export TMPDIR={noexec}; shift; exec "$@"\n')
    done = script("--prefix", str(tmp_path / "there"), shell=[
        "unshare", "-m", "sh", str(tmp_path / "inside.sh"), "--"])
    assert done.returncode == 0, done.stderr
    assert (tmp_path / "there/bin/shoal").exists()
    assert not list(tmp_path.glob("there/.shoal-install*"))


@pytest.mark.parametrize("words", [(), ("--uninstall",)])
def test_a_signal_leaves_no_folder(script, tmp_path, words):
    """It arrives when the folder for temporary files was just made."""
    tools, made = tmp_path / "tools", tmp_path / "made"
    tools.mkdir()
    (tools / "mktemp").write_text(f'#!/bin/sh\n{shutil.which("mktemp")} "$@" | tee {made}\n'
                                  "kill -TERM $PPID\n", encoding="ascii")
    (tools / "mktemp").chmod(0o755)
    done = script("--prefix", str(tmp_path / "there"), *words, path=f"{tools}:{os.defpath}")
    assert done.returncode == 143, done.stderr
    assert made.read_text().strip() and not os.path.exists(made.read_text().strip())
    assert not (tmp_path / "there").exists()


def test_a_mac_gets_its_own_tarball(script, tmp_path):
    for name, text in (("uname", 'case $1 in -s) echo Darwin ;; -m) echo arm64 ;; esac'),
                       ("other/uname", 'case $1 in -s) echo Plan9 ;; -m) echo x86_64 ;; esac')):
        path = tmp_path / name
        path.parent.mkdir(exist_ok=True)
        path.write_text(f"#!/bin/sh\n{text}\n", encoding="ascii")
        path.chmod(0o755)
    done = script(path=f"{tmp_path}:{os.defpath}")
    assert done.returncode == 1
    assert f"shoal-{project_version()}-macos-aarch64.tar.gz" in done.stderr
    done = script(path=f"{tmp_path}/other:{os.defpath}")
    assert done.returncode == 1 and "runs on Linux and macOS, not on Plan9" in done.stderr
    assert files_below(tmp_path / "home") == []


def test_a_flipped_byte_installs_nothing(script, release, tmp_path):
    (tarball,) = release[0].glob("*.tar.gz")
    good = tarball.read_bytes()
    bad = bytearray(good)
    bad[len(bad) // 2] ^= 1
    tarball.write_bytes(bad)
    try:
        done = script()
    finally:
        tarball.write_bytes(good)
    assert done.returncode == 1
    assert "has the SHA-256" in done.stderr and "nothing was installed" in done.stderr
    assert files_below(tmp_path / "home") == []


def test_a_given_digest_counts_more_than_the_servers(script, tmp_path):
    done = script("--sha256", "f" * 64)
    assert done.returncode == 1 and f"expected {'f' * 64}" in done.stderr
    assert "SHA256SUMS" not in done.stdout
    assert files_below(tmp_path / "home") == []


@pytest.mark.parametrize("lacking", ["SHA256SUMS", "line", "tarball"])
def test_what_is_missing_is_named(script, release, tmp_path, lacking):
    sums = release[0] / "SHA256SUMS"
    text = sums.read_text(encoding="ascii")
    more = []
    if lacking == "SHA256SUMS":
        sums.unlink()
    elif lacking == "line":
        sums.write_text(text.splitlines()[0] + "\n", encoding="ascii")
    else:
        more = ["--version", "9.9"]
    try:
        done = script(*more)
    finally:
        sums.write_text(text, encoding="ascii")
    assert done.returncode == 1
    assert {"SHA256SUMS": "cannot download http", "line": "SHA256SUMS has no line for shoal-",
            "tarball": "shoal-9.9-linux"}[lacking] in done.stderr
    assert files_below(tmp_path / "home") == []


def test_nothing_is_published_yet(script):
    done = script(pinned=False)
    assert done.returncode == 1 and "no release is published yet" in done.stderr
    assert script("--bogus").returncode == 2
    assert script("--version").returncode == 2
    assert script("--help").stdout.startswith("usage: ")


def test_other_files_are_left_alone(script, tmp_path):
    own = tmp_path / "p/bin/shoal"
    own.parent.mkdir(parents=True)
    own.write_text("mine", encoding="ascii")
    done = script("--prefix", "p")
    assert done.returncode == 1 and "was not installed by this script" in done.stderr
    assert own.read_text(encoding="ascii") == "mine"
    done = script("--uninstall", "--prefix", "p")
    assert done.returncode == 1 and "nothing to remove" in done.stderr
    # A list that was changed by another program does not lead out of the prefix.
    (tmp_path / "p" / LIST).parent.mkdir(parents=True)
    for line in ("../victim", "/etc/victim", "share/../../victim"):
        (tmp_path / "p" / LIST).write_text(line + "\n", encoding="ascii")
        (tmp_path / "victim").touch()
        done = script("--uninstall", "--prefix", "p")
        assert done.returncode == 1 and "outside the prefix" in done.stderr
        assert (tmp_path / "victim").exists()


def test_every_cut_of_the_script_does_nothing(script, tmp_path):
    """As when a download of the script itself breaks off."""
    lines = SCRIPT.read_text(encoding="utf-8").splitlines(keepends=True)
    assert lines[-1] == 'main "$@"\n'
    for count in range(len(lines)):
        (tmp_path / "cut").write_text("".join(lines[:count]), encoding="utf-8")
        script(script=tmp_path / "cut")
    assert files_below(tmp_path / "home") == []


@pytest.fixture(name="signed")
def _signed(release, tmp_path):
    """install.sh with the key of the signature that the server has."""
    key, sums = tmp_path / "key.pem", release[0] / "SHA256SUMS"
    for words in (["genpkey", "-algorithm", "ed25519", "-out", key],
                  ["pkeyutl", "-sign", "-rawin", "-inkey", key, "-in", sums, "-out",
                   release[0] / "SHA256SUMS.sig"]):
        subprocess.run(["openssl", *words], check=True, stderr=subprocess.DEVNULL)
    public = subprocess.run(["openssl", "pkey", "-in", key, "-pubout"], check=True,
                            capture_output=True, text=True).stdout.splitlines()[1]
    path = tmp_path / "signed.sh"
    text = SCRIPT.read_text(encoding="utf-8")
    path.write_text(text.replace("\npublic_key=\n", f"\npublic_key={public}\n"), encoding="utf-8")
    yield path
    (release[0] / "SHA256SUMS.sig").unlink(missing_ok=True)


def test_the_signature_is_verified(script, release, signed, tmp_path):
    done = script(script=signed)
    assert done.returncode == 0 and "Verified the signature of SHA256SUMS" in done.stdout, done
    assert "Not verified" not in done.stdout
    # The server sends other files, with sums that fit.
    sums = release[0] / "SHA256SUMS"
    text = sums.read_text(encoding="ascii")
    sums.write_text(text + "0  more\n", encoding="ascii")
    try:
        done = script("--prefix", str(tmp_path / "other"), script=signed)
    finally:
        sums.write_text(text, encoding="ascii")
    assert done.returncode == 1 and "the signature of SHA256SUMS is wrong" in done.stderr
    assert not (tmp_path / "other").exists()
    (release[0] / "SHA256SUMS.sig").unlink()
    done = script("--prefix", str(tmp_path / "other"), script=signed)
    assert done.returncode == 1 and not (tmp_path / "other").exists()


def test_what_is_not_verified_is_said(script, signed, tmp_path):
    done = script()
    assert "Not verified: this script has no key" in done.stdout and done.returncode == 0
    (tmp_path / "bin").mkdir()
    (tmp_path / "bin/openssl").write_text("#!/bin/sh\necho 'pkeyutl -verify' >&2\nexit 1\n")
    (tmp_path / "bin/openssl").chmod(0o755)
    done = script(script=signed, path=f"{tmp_path}/bin:{os.defpath}")
    assert "Not verified: OpenSSL 3 is needed" in done.stdout and done.returncode == 0
    assert "Not verified" not in script("--sha256", "f" * 64).stdout  # the user's own digest


def test_works_with_wget(script, tmp_path):
    """In a PATH without curl."""
    (tmp_path / "bin").mkdir()
    for name in ("uname mktemp rm mkdir rmdir cp mv find sed sort grep awk cut dirname tar gzip "
                 "sha256sum wget").split():
        if shutil.which(name):
            (tmp_path / "bin" / name).symlink_to(shutil.which(name))
    done = script(path=str(tmp_path / "bin"))
    if shutil.which("wget"):
        assert done.returncode == 0, done.stderr
        assert "shoal up also needs ssh" in done.stdout
    else:
        assert "curl is needed" in done.stderr

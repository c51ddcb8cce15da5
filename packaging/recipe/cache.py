"""What is fetched and built once per machine, outside the repository.

sources/   the tarballs of sources.tsv, by their names
zig-KEY/   the compiler in an environment of its own
built/     ARCH/LIBRARY-KEY: one installed library; the key says from what and how it was made
zig-cache/ what the compiler keeps for itself: its C library, compiled once per architecture
debian/    packages of Debian that are needed and not installed, unpacked
work/      where libraries are being built; may be deleted at any time
"""

import contextlib
import fcntl
import hashlib
import json
import os
import pathlib
import shutil
import subprocess
import tarfile

HERE = pathlib.Path(__file__).resolve().parent.parent  # packaging/
ROOT = HERE.parent


class Trouble(Exception):
    """Something that the user can do something about; printed without a traceback."""


def folder(*parts):
    base = os.environ.get("XDG_CACHE_HOME") or os.path.expanduser("~/.cache")
    return pathlib.Path(base, "shoal-static", *parts)


def key_of(*facts):
    """A short name for everything that was said in `facts`, whatever the order of its dicts."""
    text = json.dumps(facts, sort_keys=True, default=str)
    return hashlib.sha256(text.encode()).hexdigest()[:16]


@contextlib.contextmanager
def made_once(target):
    """Yields a folder to fill, which becomes `target` when all went well; None if it is there.

    Two runs at once wait for each other, and a run that was killed leaves nothing that looks done.
    """
    if target.exists():
        yield None
        return
    target.parent.mkdir(parents=True, exist_ok=True)
    with open(target.parent / f".{target.name}.lock", "w", encoding="ascii") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if target.exists():
            yield None
            return
        fresh = target.parent / f".{target.name}.new"
        shutil.rmtree(fresh, ignore_errors=True)
        fresh.mkdir()
        yield fresh
        fresh.rename(target)


def debian(name):
    """The folder with the files of a Debian package, which is not installed."""
    target = folder("debian", name)
    with made_once(target) as fresh:
        if fresh is not None:
            run(["apt-get", "-o", "APT::Sandbox::User=root", "download", name], cwd=fresh)
            (deb,) = fresh.glob("*.deb")
            run(["dpkg-deb", "-x", deb, fresh])
            deb.unlink()
    return target


def unpack(tarball, into):
    """Unpacks a tarball; entries that lead out of the folder are refused."""
    # Python 3.11.2, which Debian 12 started with, has no filters yet.
    safely = {"filter": "data"} if hasattr(tarfile, "data_filter") else {}
    with tarfile.open(tarball) as archive:
        archive.extractall(into, **safely)


def run(command, *, cwd=None, env=None, log=None):
    """Runs a program; on failure shows the end of what it said."""
    done = subprocess.run([str(word) for word in command], cwd=cwd, env=env, check=False,
                          stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                          stderr=subprocess.STDOUT, text=True, errors="replace")
    if log:
        with open(log, "a", encoding="utf-8") as stream:
            stream.write(f"$ {' '.join(str(word) for word in command)}\n{done.stdout}\n")
    if done.returncode != 0:
        end = "\n".join(done.stdout.splitlines()[-40:])
        more = f"\nthe whole of it: {log}" if log else ""
        raise Trouble(f"{command[0]} failed ({done.returncode}):\n{end}{more}")
    return done.stdout

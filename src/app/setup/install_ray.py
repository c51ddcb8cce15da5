"""Ray into an environment of its own: install_ray.py FOLDER VERSION

Without a VERSION, the environment gets pip only, for the setup commands of a machine that has no
pip, or whose pip may not install anything (PEP 668). Ray then comes into the same environment.
Runs with whatever Python a machine has: without pip, and without what Debian calls python3-venv.
"""

import configparser
import hashlib
import html.parser
import os
import re
import shutil
import subprocess
import sys
import sysconfig
import time
import urllib.parse
import urllib.request
import venv

PYPI = "https://pypi.org/simple"


def say(text):
    print(text, flush=True)


def stop(text):
    print("error: " + text, file=sys.stderr, flush=True)
    sys.exit(1)


# ---- pip ----

def index_url():
    """Where pip itself would look."""
    if os.environ.get("PIP_INDEX_URL"):
        return os.environ["PIP_INDEX_URL"]
    home = os.path.expanduser("~")
    paths = ["/etc/pip.conf", "/etc/xdg/pip/pip.conf", home + "/.pip/pip.conf",
             os.environ.get("XDG_CONFIG_HOME", home + "/.config") + "/pip/pip.conf",
             os.environ.get("PIP_CONFIG_FILE", "")]
    config = configparser.RawConfigParser()
    try:
        config.read([path for path in paths if path])
    except configparser.Error as error:
        say("pip's configuration is not understood: %s" % error)
    for section in ("install", "global"):
        if config.has_option(section, "index-url"):
            return config.get(section, "index-url").strip()
    return PYPI


class Links(html.parser.HTMLParser):
    """The wheels of an index page that fit this Python: (version, link)."""

    def __init__(self):
        super().__init__()
        self.found = []

    def handle_starttag(self, tag, attrs):
        attrs = dict(attrs)
        link = attrs.get("href") or ""
        name = urllib.parse.unquote(link.split("#")[0].rsplit("/", 1)[-1])
        match = re.fullmatch(r"pip-([0-9.]+)-py3-none-any\.whl", name)
        least = re.search(r">=\s*3\.(\d+)", attrs.get("data-requires-python") or "")
        if tag == "a" and match and "data-yanked" not in attrs and not (
                least and int(least.group(1)) > sys.version_info[1]):
            version = tuple(int(part) for part in match.group(1).split(".") if part)
            self.found.append((version, link))


def fetch(url):
    for attempt in range(4):
        try:
            with urllib.request.urlopen(url, timeout=30) as reply:
                return reply.geturl(), reply.read()
        except OSError as error:
            problem = error
            time.sleep(0.5 * 2 ** attempt)
    return stop("%s cannot be read: %s" % (url, problem))


def download_pip(folder):
    index = index_url().rstrip("/")
    address, page = fetch(index + "/pip/")
    links = Links()
    links.feed(page.decode("utf-8", "replace"))
    if not links.found:
        stop("%s has no pip for Python %d.%d" % (index, *sys.version_info[:2]))
    link = urllib.parse.urljoin(address, max(links.found)[1])
    path, _, digest = link.partition("#")
    name = urllib.parse.unquote(path.rsplit("/", 1)[-1])
    say("pip comes from %s: %s" % (index, name))
    wheel = fetch(path)[1]
    if digest.startswith("sha256=") and hashlib.sha256(wheel).hexdigest() != digest[7:]:
        stop("%s is not what the index says it is" % name)
    target = os.path.join(folder, name)
    with open(target, "wb") as file:
        file.write(wheel)
    return target


def bundled_pip():
    """A wheel that this Python was shipped with."""
    folders = ["/usr/share/python-wheels"]
    try:
        import ensurepip
        folders.insert(0, os.path.join(list(ensurepip.__path__)[0], "_bundled"))
    except ImportError:
        pass
    for folder in folders:
        if os.path.isdir(folder):
            for name in sorted(os.listdir(folder), reverse=True):
                if name.startswith("pip-") and name.endswith(".whl"):
                    return os.path.join(folder, name)
    return None


def installer(folder, python):
    """The words that install into the environment."""
    uv = shutil.which("uv")
    if uv:
        return [uv, "pip", "install", "--python", python]
    wheel = bundled_pip() or download_pip(folder)
    # A wheel is a zip file, and Python runs what is in one. To compile everything ahead takes
    # longer than all the rest; what is used is compiled when it is.
    return [python, os.path.join(wheel, "pip"), "install", "--no-input", "--progress-bar", "off",
            "--disable-pip-version-check", "--no-compile", "--no-cache-dir"]


# ---- the whole ----

def main():
    folder, version = sys.argv[1:]
    what = "Ray " + version if version else "pip"
    stdlib = sysconfig.get_path("stdlib")
    if not version and shutil.which("pip") and not os.path.exists(
            os.path.join(stdlib, "EXTERNALLY-MANAGED")):
        return say("pip is installed")
    say("%s is installed into %s with Python %d.%d.%d" % (what, folder, *sys.version_info[:3]))
    if not os.path.exists(os.path.join(folder, "has-pip")):
        shutil.rmtree(folder, ignore_errors=True)
        os.makedirs(folder, mode=0o755)
        # Without pip: what puts it there is missing on Debian, and takes seconds elsewhere.
        venv.EnvBuilder(with_pip=False, symlinks=True).create(folder)
    python = os.path.join(folder, "bin", "python3")
    words = installer(folder, python) + ["pip"] + (["ray[default]==" + version] if version else [])
    began = time.monotonic()
    status = subprocess.call(words)
    if status != 0:
        sys.exit(status if status > 0 else 1)
    with open(os.path.join(folder, "ready" if version else "has-pip"), "w") as file:
        file.write(version + "\n")
    return say("%s is installed after %.0f s" % (what, time.monotonic() - began))


main()

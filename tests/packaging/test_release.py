"""packaging/release: a dry run with given tarballs makes every file of a release, signed and
verifiable; a final release is refused unless everything is ready."""

import hashlib
import json
import os
import re
import shutil
import subprocess

import pytest
import yaml
from conftest import REPOSITORY, STATIC, project_version

import libraries
import sources

RELEASE = STATIC.parent / "release"
URL = "https://downloads.example/shoal"


def release(*words, **more):
    return subprocess.run([RELEASE, *words], capture_output=True, text=True, check=False, **more)


def same_twice(tarballs, folder):
    """The words that name two folders with the same tarballs."""
    words = []
    for name in ("first", "second"):
        (folder / name).mkdir()
        for path in tarballs.values():
            shutil.copy(path, folder / name)
        words += ["--tarballs", folder / name]
    return words


@pytest.fixture(scope="module", name="key")
def _key(tmp_path_factory):
    path = tmp_path_factory.mktemp("key") / "key.pem"
    subprocess.run(["openssl", "genpkey", "-algorithm", "ed25519", "-out", path], check=True,
                   stderr=subprocess.DEVNULL)
    return path


@pytest.fixture(scope="module", name="made")
def _made(tarballs, key, tmp_path_factory):
    """The folder of a dry run."""
    folder = tmp_path_factory.mktemp("release")
    done = release(project_version(), "--out", folder / "out", "--url", URL, "--key", "-",
                   *same_twice(tarballs, folder), input=key.read_text(encoding="ascii"))
    assert done.returncode == 0, done.stderr
    assert "dry run: the tarballs were given" in done.stdout
    assert "two times 17 files: the same bytes" in done.stdout
    return folder / "out"


def test_has_every_file(made):
    version = project_version()
    names = {"RELEASE_NOTES.md", "SHA256SUMS", "SHA256SUMS.sig", "install.sh", "sbom.cdx.json",
             "shoal-ray.rb"}
    for arch, debian in (("x86_64", "amd64"), ("aarch64", "arm64")):
        names |= {f"shoal-{version}-linux-{arch}.tar.gz", f"shoal-ray_{version}_{debian}.deb",
                  f"shoal-ray-{version}-1.{arch}.rpm", f"shoal_ray-{version}-py3-none-"
                  f"manylinux_2_17_{arch}.musllinux_1_1_{arch}.whl"}
    for arch, apple in (("x86_64", "x86_64"), ("aarch64", "arm64")):
        names |= {f"shoal-{version}-macos-{arch}.tar.gz",
                  f"shoal_ray-{version}-py3-none-macosx_12_0_{apple}.whl"}
    assert {path.name for path in made.iterdir()} == names
    assert (made / "RELEASE_NOTES.md").stat().st_size > 100


def test_sums_and_signature_fit(made, key):
    subprocess.run(["sha256sum", "--check", "--strict", "--quiet", "SHA256SUMS"], cwd=made,
                   check=True)
    listed = {line.split()[1] for line in (made / "SHA256SUMS").read_text().splitlines()}
    assert listed == {path.name for path in made.iterdir()} - {"SHA256SUMS", "SHA256SUMS.sig"}
    public = made.parent / "public.pem"
    subprocess.run(["openssl", "pkey", "-in", key, "-pubout", "-out", public], check=True)

    def verify(sums):
        return subprocess.run(["openssl", "pkeyutl", "-verify", "-rawin", "-pubin", "-inkey",
                               public, "-in", sums, "-sigfile", made / "SHA256SUMS.sig"],
                              stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
                              check=False).returncode == 0

    assert verify(made / "SHA256SUMS")
    changed = made.parent / "changed"
    changed.write_text((made / "SHA256SUMS").read_text().replace("a", "b"), encoding="ascii")
    assert not verify(changed)


def test_a_flipped_byte_is_named(made, tmp_path):
    """In any file; a user runs this command."""
    shutil.copytree(made, tmp_path / "download")
    for path in sorted((tmp_path / "download").iterdir()):
        if path.name.startswith("SHA256SUMS"):
            continue
        good = path.read_bytes()
        path.write_bytes(good[:-1] + bytes([good[-1] ^ 1]))
        done = subprocess.run(["sha256sum", "--check", "--quiet", "SHA256SUMS"], check=False,
                              cwd=path.parent, capture_output=True, text=True)
        path.write_bytes(good)
        assert done.returncode == 1 and done.stdout == f"{path.name}: FAILED\n"


def test_installer_and_formula_are_filled_in(made):
    script = (made / "install.sh").read_text(encoding="utf-8")
    assert re.search(rf"\nversion={project_version()}\nfrom={URL}\npublic_key=[\w+/=]{{60}}\n",
                     script)
    assert os.access(made / "install.sh", os.X_OK)
    formula = (made / "shoal-ray.rb").read_text(encoding="utf-8")
    assert "@" not in formula and formula.startswith("class ShoalRay < Formula")
    for label in ("linux-x86_64", "linux-aarch64", "macos-x86_64", "macos-aarch64"):
        name = f"shoal-{project_version()}-{label}.tar.gz"
        digest = hashlib.sha256((made / name).read_bytes()).hexdigest()
        assert re.search(f'url "{URL}/{name}"\n *sha256 "{digest}"', formula)


def test_bill_of_materials_names_every_source(made):
    bill = json.loads((made / "sbom.cdx.json").read_text(encoding="utf-8"))
    assert (bill["bomFormat"], bill["specVersion"]) == ("CycloneDX", "1.5")
    assert bill["metadata"]["component"]["version"] == project_version()
    used = {library.name for library in libraries.asked_for(libraries.PROGRAM)}
    assert {row["name"] for row in bill["components"]} == used
    assert "openssl" in used and "cmocka" not in used
    for row in bill["components"]:
        assert row["version"] == sources.version(row["name"])
        digests = [ref["hashes"][0]["content"] for ref in row["externalReferences"]]
        assert digests == [file["sha256"] for file in sources.table()[row["name"]]]
        assert re.fullmatch(r"pkg:deb/debian/[a-z0-9-]+@[^+ ]+\?arch=source", row["purl"])
    assert set(bill["dependencies"][0]["dependsOn"]) == {
        row["bom-ref"] for row in bill["components"]}


def test_two_builds_that_differ_are_an_error(tarballs, tmp_path):
    words = same_twice(tarballs, tmp_path)
    path = tmp_path / "second" / tarballs["aarch64"].name
    path.write_bytes(path.read_bytes() + b"\0")
    done = release(project_version(), "--out", tmp_path / "out", *words)
    assert done.returncode == 1 and f"two builds differ: {path.name}\n" in done.stderr
    assert not (tmp_path / "out").exists()
    path.unlink()
    done = release(project_version(), "--out", tmp_path / "out", *words)
    assert done.returncode == 1 and f"has no {path.name}" in done.stderr


def test_a_file_with_the_date_is_an_error(tarballs, tmp_path):
    """The second time, the programs that make packages see another day."""
    tree = tmp_path / "tree"
    shutil.copytree(STATIC.parent, tree / "packaging")
    for path in ["meson.build", "CHANGELOG.md", *REPOSITORY.glob("src/*/meson.build")]:
        target = tree / os.path.relpath(REPOSITORY / path, REPOSITORY)
        target.parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(REPOSITORY / path, target)
    wheel = tree / "packaging/wheel"
    text = wheel.read_text(encoding="utf-8")
    dated = text.replace("time.gmtime(int(zig.EPOCH))[:6]", "(*time.gmtime()[:3], 0, 0, 0)")
    assert dated != text
    wheel.write_text(dated, encoding="utf-8")
    git = ("git", "-C", tree, "-c", "user.name=x", "-c", "user.email=x@x.example")
    for words in (("init", "-q"), ("add", "."), ("commit", "-q", "-m", "x")):
        subprocess.run([*git, *words], check=True)
    done = subprocess.run([tree / "packaging/release", project_version(), "--out",
                           tmp_path / "out", *same_twice(tarballs, tmp_path)],
                          capture_output=True, text=True, check=False)
    assert done.returncode == 1, done.stdout
    differing = done.stderr.partition("two builds differ: ")[2].strip().split(", ")
    assert [name.split("-")[0] for name in differing] == ["SHA256SUMS", *["shoal_ray"] * 4]
    assert not (tmp_path / "out").exists()


def test_final_release_needs_everything(tarballs, tmp_path):
    done = release("9.9.9", "--final", "--out", tmp_path / "out", *same_twice(tarballs, tmp_path))
    assert done.returncode == 1
    for words in ("not ready", "not 9.9.9", "no section ## 9.9.9", "no tag v9.9.9", "--key",
                  "--url", "were given, not built"):
        assert words in done.stderr, words
    assert not (tmp_path / "out").exists()


def test_a_missing_key_is_noticed_first(tmp_path):
    done = release(project_version(), "--out", tmp_path / "out", "--key", tmp_path / "missing")
    assert done.returncode == 1 and "cannot read the key" in done.stderr
    assert not (tmp_path / "out").exists()


def test_an_old_folder_is_not_mixed_in(tarballs, tmp_path):
    (tmp_path / "out").mkdir()
    (tmp_path / "out" / "old").touch()
    done = release(project_version(), "--out", tmp_path / "out", *same_twice(tarballs, tmp_path))
    assert done.returncode == 1 and "is not empty" in done.stderr


def test_bad_words_are_refused(tmp_path):
    assert release(project_version(), "--url", "http://x.example").returncode == 2
    assert release(project_version(), "--tarballs", tmp_path).returncode == 2


def test_workflows_only_call_it():
    github = yaml.safe_load((REPOSITORY / ".github/workflows/release.yml").read_text())
    steps = github["jobs"]["release"]["steps"]
    assert [step["run"] for step in steps if "run" in step] == ["packaging/ci-release"]
    assert github["permissions"] == {"contents": "read"}
    gitlab = yaml.safe_load((REPOSITORY / ".gitlab-ci.yml").read_text())
    assert gitlab["release"]["script"] == ["packaging/ci-release"]
    subprocess.run(["sh", "-n", REPOSITORY / "packaging/ci-release"], check=True)

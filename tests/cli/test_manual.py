"""Manual pages: they render without a warning and leave nothing out."""

import re

import pytest


@pytest.fixture
def pages(build, need):
    """{name: path} of every page that was built."""
    need("man")
    need("scdoc")
    found = {path.name: path for path in sorted((build / "docs").glob("*.[1-8]"))}
    assert "shoal.1" in found and "shoal-cluster.5" in found
    return found


@pytest.fixture
def render(run, pages):
    """render("shoal.1"): the page as a reader sees it, 80 columns wide."""

    def read(name, *words):
        env = {"MANWIDTH": "80", "MANPAGER": "cat", "PAGER": "cat", "MANOPT": "", "TERM": "dumb"}
        done = run(["man", "--warnings", *words, "-l", pages[name]], env=env)
        assert (done.returncode, done.stderr) == (0, ""), name
        return re.sub(".\b", "", done.stdout)

    return read


def plain(text):
    """One line without hyphenation, to look for words in; dashes of our own stay."""
    text = re.sub("-\n *", "-", re.sub("\u2010\n *", "", text))
    return re.sub(r"\s+", " ", text)


def test_every_page_renders(pages, render, verbs):
    assert set(pages) == {"shoal.1", "shoal-cluster.5", "shoal-workload.5",
                          *(f"shoal-{verb}.1" for verb in verbs)}
    for name in pages:
        text = render(name)
        assert max(map(len, text.splitlines())) <= 80, name
        assert "\nNAME\n" in text and "\nDESCRIPTION\n" in text, name
        assert "\\" not in re.sub(r"\\[nteU\"\\]", "", text), f"{name}: markup shows through"


def test_the_first_page_names_every_verb(render, verbs, shoal):
    text = plain(render("shoal.1"))
    for verb in verbs:
        summary = shoal("help", verb).stdout.splitlines()[0].partition(": ")[2]
        assert f"shoal {verb} {summary}" in text
        assert f"shoal-{verb}(1)" in text
    assert "shoal-cluster(5)" in text and "EXIT STATUS" in text


def test_the_page_of_a_verb_says_what_its_help_says(render, verbs, shoal):
    for verb in verbs:
        text = plain(render(f"shoal-{verb}.1"))
        help_text = shoal("help", verb).stdout
        usage = re.search(r"^usage: (.*)$", help_text, re.MULTILINE).group(1)
        assert usage in text
        for option in re.findall(r"^  (?:(-\w), |    )(--[a-z-]+(?: [A-Z]+)?)", help_text,
                                 re.MULTILINE):
            assert ", ".join(filter(None, option)) in text, (verb, option)
        for section in ("SYNOPSIS", "OPTIONS", "EXIT STATUS", "SEE ALSO"):
            assert section in text, (verb, section)


def test_every_key_is_explained(render, keys):
    text = plain(render("shoal-cluster.5"))
    for key in keys:
        name = key.split(".")[-1]
        if name != "*":  # a name of the user's own choice
            assert re.search(rf"(?<!\w){re.escape(name)}: ", text), key


def test_examples_can_be_copied(render):
    """A hyphen that the reader's screen put into a value is an error in a cluster file."""
    text = render("shoal-cluster.5")
    assert "--autoscaling-config=~/ray_bootstrap_config.yaml" in text


def test_the_markdown_has_every_key_too(build, keys):
    text = (build / "docs" / "cluster-file.md").read_text(encoding="utf-8")
    for key in keys:
        assert key.split(".")[-1].replace("*", "") in text, key


def test_man_finds_them_by_name(run, pages, tmp_path):
    """As `man shoal` after an installation."""
    for name, path in pages.items():
        folder = tmp_path / "man" / f"man{name[-1]}"
        folder.mkdir(parents=True, exist_ok=True)
        (folder / name).write_bytes(path.read_bytes())
    for name in pages:
        done = run(["man", "-w", name[-1], name[:-2]], env={"MANPATH": str(tmp_path / "man")})
        assert done.returncode == 0 and done.stdout.strip().endswith(name), done.stderr

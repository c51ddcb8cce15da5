"""The picture of a cluster that comes up, on a real pseudo-terminal and in a pipe."""

import os
import re
import subprocess
import time

import pytest

from terminal import Screen, Terminal


@pytest.fixture
def probe(build):
    path = build / "tests" / "live_probe"
    if not path.exists():
        pytest.fail(f"{path} is not built", pytrace=False)
    return path


@pytest.fixture
def play(probe, environment):
    """play(columns, lines, workers): the terminal, and a way to go on with the story."""
    open_ones = []

    def start(columns, lines, workers=2, **more):
        reader, writer = os.pipe()
        terminal = Terminal([probe, workers], env={**environment, **more}, columns=columns,
                            lines=lines, stdin=reader)
        os.close(reader)
        open_ones.append((terminal, writer))
        return terminal, lambda: os.write(writer, b"\n")

    yield start
    for terminal, writer in open_ones:
        os.close(writer)
        terminal.close()


def finish(terminal, go_on):
    for phase in (rb"booting", rb"setup", rb"3 of 3|ready"):
        go_on()
        terminal.read(phase)
    time.sleep(0.1)
    go_on()
    data, status = terminal.end()
    assert status == 0
    return data


def test_the_finished_picture_stays(play):
    terminal, go_on = play(80, 24)
    data = finish(terminal, go_on)
    screen = Screen(80, 24)
    screen.feed(data)
    text = re.sub(r" +\d+s", " 0s", screen.text())
    assert text == "\n".join([
        "Cluster demo   aws us-west-2".ljust(71) + "$0.30/h",
        "",
        "  head      i-00000  m5.large  198.51.100.7  ready 0s",
        "  worker-1  i-00001  m5.large  spot          ready 0s",
        "  worker-2  i-00002  m5.large  spot          ready 0s",
        "",
        "Ray 2.60.0 on 198.51.100.7: 3 of 3 nodes joined.",
        "below the picture"])


@pytest.mark.parametrize("columns", [20, 37, 60, 79, 200])
def test_any_width(play, columns):
    terminal, go_on = play(columns, 24)
    screen = Screen(columns, 24)
    screen.feed(finish(terminal, go_on))  # complains about wide lines and wrong places itself
    assert screen.text().count("Cluster demo") == 1 and screen.text().endswith("below the picture")


@pytest.mark.parametrize("workers", [30, 500])
def test_more_nodes_than_lines(play, workers):
    terminal, go_on = play(80, 24, workers)
    screen = Screen(80, 24)
    screen.feed(finish(terminal, go_on))
    text = screen.text()
    assert f"{workers} nodes  ready" in text and text.count("Cluster demo") == 1
    assert len(text.splitlines()) < 24


def test_it_becomes_wider(play):
    terminal, go_on = play(40, 24)
    go_on()
    terminal.read(rb"booting")
    terminal.resize(200, 24)
    go_on()
    terminal.read(rb"too-long-for-narrow-screens")  # not cut any more
    terminal.child.kill()


def test_a_pipe_gets_lines(probe, environment):
    done = subprocess.run([probe], input=b"\n\n\n\n", env={**environment, "TZ": "UTC"},
                          stderr=subprocess.PIPE, check=True, timeout=30)
    lines = done.stderr.decode().splitlines()
    assert all(re.match(r"\d\d:\d\d:\d\d \S", line) for line in lines[:-1])
    said = [line[9:] for line in lines]
    assert "worker-1 booting: m5.large i-00001" in said
    assert any(line.startswith("worker-2 setup 2 of 5: pip install ") for line in said)
    assert "worker-2 ready after 0s" in said
    assert "Ray 2.60.0 on 198.51.100.7: 3 of 3 nodes joined." in said
    assert b"\x1b" not in done.stderr


@pytest.mark.parametrize("more", [{"TERM": "dumb"}, {"CI": "true"}])
def test_terminals_that_cannot_be_redrawn(play, more):
    terminal, go_on = play(80, 24, **more)
    data = finish(terminal, go_on)
    assert b"\x1b" not in data and re.search(rb"\d\d:\d\d:\d\d head booting", data)

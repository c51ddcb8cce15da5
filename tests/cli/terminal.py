"""A terminal for tests: a pseudo-terminal, and a screen that knows as much as our pictures need."""

import fcntl
import os
import pty
import re
import select
import signal
import struct
import subprocess
import termios
import time

SEQUENCE = re.compile(rb"\x1b\[([0-9;]*)([A-Za-z])")


class Screen:
    """Lines of text, with what was scrolled away above them."""

    def __init__(self, columns, lines):
        self.columns, self.lines = columns, lines
        self.rows = [""]
        self.row = self.column = 0

    def put(self, char):
        line = self.rows[self.row].ljust(self.column)
        assert self.column < self.columns, f"wider than the screen: {line}{char}"
        self.rows[self.row] = line[:self.column] + char + line[self.column + 1:]
        self.column += 1

    def control(self, number, letter):
        if letter == "A":
            top = max(0, len(self.rows) - self.lines)
            assert self.row - number >= top, "drawn over what was scrolled away"
            self.row -= number
        elif letter == "K":
            self.rows[self.row] = self.rows[self.row][:self.column]
        elif letter == "J":
            self.rows = self.rows[:self.row + 1]
            self.rows[self.row] = self.rows[self.row][:self.column]
        else:
            assert letter == "m", f"a sequence that this screen does not know: {letter}"

    def feed(self, data):
        at = 0
        while at < len(data):
            match = SEQUENCE.match(data, at)
            if match:
                self.control(int(match[1] or b"0" if match[2] == b"m" else match[1] or b"1")
                             if b";" not in match[1] else 0, match[2].decode())
                at = match.end()
                continue
            char = data[at:at + 1]
            at += 1
            if char == b"\r":
                self.column = 0
            elif char == b"\n":
                self.row += 1
                if self.row == len(self.rows):
                    self.rows.append("")
            elif char[0] & 0xC0 != 0x80:  # a letter of several bytes counts once
                self.put(char.decode("ascii", "replace") if char[0] < 0x80 else "*")

    def text(self):
        return "\n".join(row.rstrip() for row in self.rows).rstrip("\n")


class FullScreen:
    """A screen that is drawn by places, as full-screen programs do; it knows what top needs."""

    ANY = re.compile(rb"\x1b\[(\??)([0-9;]*)([A-Za-z])")

    def __init__(self, columns, lines):
        self.columns, self.lines = columns, lines
        self.clear()
        self.modes = set()  # the private ones that are on
        self.modes_seen = set()
        self.style = ""
        self.drawn = 0  # letters that were written

    def clear(self):
        self.cells = [[(" ", "")] * self.columns for _ in range(self.lines)]
        self.row = self.column = 0

    def control(self, private, words, letter):
        if private:
            (self.modes.add if letter == "h" else self.modes.discard)(words)
            self.modes_seen.add(words)
        elif letter == "H":
            self.row, self.column = (int(word) - 1 for word in words.split(";"))
            assert 0 <= self.row < self.lines and 0 <= self.column < self.columns
        elif letter == "K":
            for column in range(self.column, self.columns):
                self.cells[self.row][column] = (" ", "")
        elif letter == "J":
            assert words == "2"
            self.clear()
        else:
            assert letter == "m", f"a sequence that this screen does not know: {letter}"
            self.style = "" if words in ("", "0") else words

    def feed(self, data):
        at = 0
        while at < len(data):
            match = self.ANY.match(data, at)
            if match:
                self.control(match[1], match[2].decode(), match[3].decode())
                at = match.end()
                continue
            size = next(size for size, top in ((1, 0x80), (2, 0xE0), (3, 0xF0), (4, 0x100))
                        if data[at] < top)
            char = data[at:at + size].decode()
            at += size
            if "1049" not in self.modes:
                continue  # what is written on the usual screen
            assert char.isprintable(), f"a letter that moves things: {char!r}"
            assert self.column < self.columns, f"wider than the screen: {self.text()}"
            self.cells[self.row][self.column] = (char, self.style)
            self.column += 1
            self.drawn += 1

    def text(self):
        return "\n".join("".join(char for char, _ in row).rstrip() for row in self.cells)


class Terminal:
    """A program on a pseudo-terminal of its own, as its session's leader."""

    def __init__(self, words, *, env, columns=80, lines=24, stdin=None):
        self.outer, inner = pty.openpty()
        self.resize(columns, lines, tell=False)
        self.data = b""

        def start():
            # Ignored in the background of a shell, or by nohup.
            for number in (signal.SIGINT, signal.SIGQUIT, signal.SIGHUP):
                signal.signal(number, signal.SIG_DFL)
            fcntl.ioctl(0 if stdin is None else 2, termios.TIOCSCTTY, 0)

        self.child = subprocess.Popen(
            [str(word) for word in words], env=env, stdin=inner if stdin is None else stdin,
            stdout=inner, stderr=inner, start_new_session=True, preexec_fn=start)
        os.close(inner)

    def resize(self, columns, lines, tell=True):
        fcntl.ioctl(self.outer, termios.TIOCSWINSZ, struct.pack("HHHH", lines, columns, 0, 0))
        del tell  # the kernel tells the foreground group

    def type(self, data):
        os.write(self.outer, data)

    def has(self, pattern):
        return re.search(pattern, self.data) or re.search(
            pattern, re.sub(rb" ?\r\n *", b" ", self.data))

    def read(self, until=None, seconds=60):
        """Reads until a pattern has come (anywhere), or to the end; returns all that came. Long
        lines are folded between words; a pattern may also match the text without folds."""
        end = time.monotonic() + seconds
        while time.monotonic() < end:
            if until is not None and self.has(until):
                return self.data
            if select.select([self.outer], [], [], 0.05)[0]:
                try:
                    piece = os.read(self.outer, 65536)
                except OSError:  # Linux says so when the other end is closed
                    piece = b""
                if not piece:
                    break
                self.data += piece
        assert until is None or self.has(until), self.data.decode(errors="replace")
        return self.data

    def end(self, seconds=60):
        """All output, and the exit status."""
        self.read(None, seconds)
        return self.data, self.child.wait(timeout=seconds)

    def close(self):
        if self.child.poll() is None:
            os.killpg(self.child.pid, signal.SIGKILL)
            self.child.wait()
        os.close(self.outer)

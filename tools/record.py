#!/usr/bin/env python3
"""Record a command on a terminal as an animated SVG.

usage: record.py OUT.svg [OPTIONS] -- COMMAND [ARGUMENT...]

The command runs on a pseudo-terminal of its own. Each change of the screen becomes a frame at the
time when it happened; pauses longer than --longest-pause are shortened. The SVG needs no script:
it is animated by CSS and shows the last frame where motion is reduced. With --still, it has only
the last frame. tests/cluster/record_up.py and record_pictures.py use this.
"""

import argparse
import datetime
import fcntl
import html
import os
import pty
import re
import select
import struct
import subprocess
import sys
import termios
import time

CELL, LINE, MARGIN = 8.4, 19, 14  # pixels; CELL is the width of a letter at 14 px
COLOURS = {"31": "r", "32": "g", "33": "y", "34": "b", "35": "m", "36": "c", "1": "o", "2": "d",
           "7": "v"}
CSS = """text{font:14px ui-monospace,SFMono-Regular,Menlo,Consolas,monospace;fill:#d6dbe1;
white-space:pre}.r{fill:#ff7b72}.g{fill:#7ee787}.y{fill:#e3b341}.b{fill:#79c0ff}.m{fill:#d2a8ff}
.c{fill:#76e3ea}.o{font-weight:bold}.d{fill:#8b949e}.v{fill:#fff}"""
QUIET = 0.05  # seconds without output that end a frame
HOLD = 4.0  # seconds for which the last frame stays


class Screen:
    """Rows of (character, style) cells; knows the sequences that shoal writes, and no others.

    A full-screen program replaces the rows; what follows when it leaves its screen is not shown.
    """

    TOKEN = re.compile(r"\x1b\[(\??)([0-9;]*)([A-Za-z])|\r|\n|[^\x1b\r\n]+")

    def __init__(self, columns, lines):
        self.columns, self.lines, self.rows, self.style = columns, lines, [[]], ""
        self.row = self.column = 0
        self.is_full = self.is_over = False
        self.faults = set()  # rows that were wider than the screen or scrolled away

    def feed(self, text):
        for token in self.TOKEN.finditer(text):
            word = token.group()
            if self.is_over:
                return
            if token.group(3):
                self.control(token.group(1), token.group(2), token.group(3))
            elif word == "\r":
                self.column = 0
            elif word == "\n":
                self.down()
            else:
                self.put(word)

    def down(self):
        self.row += 1
        while len(self.rows) <= self.row:
            self.rows.append([])

    def put(self, word):
        for char in word:
            if self.column == self.columns:
                self.faults.add("wider than the screen: " + self.text(self.row))
                self.down()
                self.column = 0
            row = self.rows[self.row]
            row += [(" ", "")] * (self.column + 1 - len(row))
            row[self.column] = (char, self.style)
            self.column += 1

    def control(self, private, words, letter):
        if private and words == "1049":
            self.is_over = self.is_full and letter == "l"
            if letter == "h":
                self.is_full, self.rows, self.row, self.column = True, [[]], 0, 0
        elif private:
            pass
        elif letter == "A":
            self.row -= int(words or 1)
            if self.row < max(0, len(self.rows) - self.lines):
                self.faults.add("drawn over what was scrolled away")
                self.row = max(0, self.row)
        elif letter == "H":
            self.row, self.column = (int(word) - 1 for word in (words or "1;1").split(";"))
            self.rows += [[] for _ in range(self.row + 1 - len(self.rows))]
            if self.row >= self.lines:
                self.faults.add(f"drawn below the screen: row {self.row + 1}")
        elif letter in "KJ":
            if words == "2":
                self.rows = [[] for _ in self.rows]
            del self.rows[self.row][self.column:]
            if letter == "J":
                del self.rows[self.row + 1:]
        elif letter == "m":
            styles = [COLOURS.get(word, "") for word in words.split(";")]
            self.style = " ".join(filter(None, styles))
        else:
            sys.exit(f"record.py: unknown control sequence ESC[{words}{letter}")

    def text(self, row):
        return "".join(char for char, _ in self.rows[row])

    def picture(self):
        """The rows as tuples of (style, text)."""
        return tuple(self.spans(row) for row in self.rows)

    @staticmethod
    def spans(row):
        found = []
        for char, style in row:
            if found and found[-1][0] == style:
                found[-1] = (style, found[-1][1] + char)
            else:
                found.append((style, char))
        return tuple(found)


def run(words, size, answer, keys=None):
    """Run the command: ([(seconds, text)], exit status). `size` is (columns, lines), `answer`
    (pattern, text) or None, `keys` (seconds, text) or None: what is typed at that time.
    """
    outer, inner = pty.openpty()
    fcntl.ioctl(outer, termios.TIOCSWINSZ, struct.pack("HHHH", size[1], size[0], 0, 0))
    began, chunks, seen = time.monotonic(), [], ""
    child = subprocess.Popen(words, stdin=inner, stdout=inner, stderr=inner, start_new_session=True,
                             preexec_fn=lambda: fcntl.ioctl(0, termios.TIOCSCTTY, 0))
    os.close(inner)
    while True:
        left = max(0, began + float(keys[0]) - time.monotonic()) if keys else None
        if not select.select([outer], [], [], left)[0]:
            os.write(outer, keys[1].encode())
            keys = None
            continue
        try:
            data = os.read(outer, 65536)
        except OSError:  # Linux reports the end of the other side like this
            data = b""
        if not data:
            return chunks, child.wait()
        text = data.decode("utf-8", "replace")
        chunks.append((time.monotonic() - began, text))
        seen += text
        if answer and re.search(answer[0], seen):
            time.sleep(1.0)  # time to read the question
            os.write(outer, answer[1].encode() + b"\n")
            answer = None


def frames(chunks, size, first_line, longest_pause):
    """([(seconds, picture)], each picture different from the one before; the screen)."""
    screen = Screen(*size)
    screen.feed(first_line + "\r\n")
    found, clock, last = [(0.0, screen.picture())], 0.0, 0.0
    for number, (at, text) in enumerate(chunks):
        clock += min(at - last, longest_pause)
        last = at
        screen.feed(text)
        is_whole = number + 1 == len(chunks) or chunks[number + 1][0] - at > QUIET
        if is_whole and screen.picture() != found[-1][1]:
            found.append((clock, screen.picture()))
    return found, screen


def lives(found, end):
    """Each row of the recording as [(row, spans, from, until)]: a row is drawn once per change."""
    pieces = []
    for row in range(max(len(picture) for _, picture in found)):
        now, since = (), 0.0
        for at, picture in found + [(end, ())]:
            spans = picture[row] if row < len(picture) else ()
            if spans != now:
                if now:
                    pieces.append((row, now, since, at))
                now, since = spans, at
    return pieces


def reversed_bars(row, spans):
    """SVG: the background of text in reverse video. Such rows are not animated."""
    bars, column = "", 0
    for style, text in spans:
        if "v" in style.split():
            bars += (f'<rect x="{MARGIN + column * CELL:.1f}" y="{MARGIN + row * LINE}" '
                     f'width="{len(text) * CELL:.1f}" height="{LINE}" fill="#30415d"/>')
        column += len(text)
    return bars


def drawn(piece, number, end):
    """(CSS, SVG) of one row during one part of the recording."""
    row, spans, since, until = piece
    texts = "".join(f'<tspan class="{style}">{html.escape(text)}</tspan>' if style
                    else html.escape(text) for style, text in spans)
    place = f'x="{MARGIN}" y="{MARGIN + (row + 1) * LINE - 5}"'
    is_last = until >= end
    bars = reversed_bars(row, spans)
    if since == 0.0 and is_last:
        return "", f"{bars}<text {place}>{texts}</text>"
    begin, stop = 100 * since / end, 100 * until / end
    css = f"@keyframes k{number}{{0%{{opacity:{int(since == 0.0)}}}{begin:.2f}%{{opacity:1}}"
    css += "" if is_last else f"{stop:.2f}%{{opacity:0}}"
    css += f"}}#t{number}{{animation:k{number} {end:.1f}s step-end infinite}}"
    hidden = "" if is_last else ' opacity="0"'
    return css, f'<text id="t{number}" {place}{hidden}>{texts}</text>'


def svg(found, columns, title, description):
    end = found[-1][0] + HOLD
    parts = [drawn(piece, number, end) for number, piece in enumerate(lives(found, end))]
    rows = max(len(picture) for _, picture in found)
    width, height = round(columns * CELL + 2 * MARGIN), rows * LINE + 2 * MARGIN
    animation = "\n".join(css for css, _ in parts if css)
    return "\n".join([
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" width="{width}" '
        'xml:space="preserve">',
        f"<title>{html.escape(title)}</title>", f"<desc>{html.escape(description)}</desc>",
        f"<style>{CSS}\n@media (prefers-reduced-motion:no-preference){{\n{animation}\n}}</style>",
        f'<rect width="{width}" height="{height}" rx="8" fill="#0d1117"/>',
        *(text for _, text in parts), "</svg>", ""])


def arguments(argv):
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("out")
    parser.add_argument("--columns", type=int, default=96)
    parser.add_argument("--lines", type=int, default=40)
    parser.add_argument("--still", action="store_true", help="only the last frame")
    parser.add_argument("--keys", nargs=2, metavar=("SECONDS", "TEXT"), help="type at that time")
    parser.add_argument("--title", help="the command as a reader would type it")
    parser.add_argument("--note", default="", help="the conditions, kept in the file")
    parser.add_argument("--answer", nargs=2, metavar=("PATTERN", "TEXT"), help="answer a question")
    parser.add_argument("--longest-pause", type=float, default=2.0, metavar="SECONDS")
    parser.add_argument("command", nargs="+")
    return parser.parse_args(argv)


def main(argv):
    args = arguments(argv)
    title = args.title or " ".join(args.command)
    size = args.columns, args.lines
    chunks, status = run(args.command, size, args.answer, args.keys)
    found, screen = frames(chunks, size, f"\x1b[1m$ {title}\x1b[0m", args.longest_pause)
    if args.still:
        found = [(0.0, found[-1][1])]
    note = f"Recorded on {datetime.date.today()}. {args.note}".strip()
    with open(args.out, "w", encoding="utf-8") as out:
        out.write(svg(found, args.columns, title, note))
    print(f"{args.out}: {len(found)} frames, {chunks[-1][0] if chunks else 0:.1f} s recorded, "
          f"exit status {status}")
    for fault in sorted(screen.faults):
        print(f"{args.out}: {fault}")
    return status


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))

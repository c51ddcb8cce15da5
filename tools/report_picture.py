#!/usr/bin/env python3
"""The first charts of a page of `shoal simulate --report` as one SVG for the documentation.

usage: report_picture.py OUT.svg -- shoal simulate FILE ... (without --report)

The colors follow the reader's light or dark setting, as in the page. The same command gives the
same picture on every machine.
"""

import html
import pathlib
import re
import subprocess
import sys
import tempfile

WIDTH, HEIGHT, TOP, GAP = 560, 240, 64, 24  # of one chart, of the title, and between charts
CHART = re.compile(r"<figcaption>(.*?)</figcaption><svg [^>]*>(.*?)</svg>", re.DOTALL)
# Rules for charts; those for the page itself mean nothing in a picture.
RULE = re.compile(r":root|@media\(prefers|svg text|svg \.|\.(grid|area|line|pending|c\d|hit)")
HOVER = re.compile(r'<(\w+) class="hit"[^>]*?(?:/>|>.*?</\1>)', re.DOTALL)


def picture(page, title, count=2):
    style = re.search(r"<style>(.*?)</style>", page, re.DOTALL).group(1)
    rules = [rule for rule in style.split("\n") if RULE.match(rule)]
    charts = CHART.findall(page)[:count]
    width, height = count * WIDTH + (count - 1) * GAP, TOP + HEIGHT
    lines = [f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" '
             f'width="{width}">', f"<title>{html.escape(title)}</title>",
             "<style>" + "\n".join(rules) + "\ntext{font-family:system-ui,sans-serif}"
             ".name{font-size:15px;font-weight:600;fill:var(--text)}</style>",
             f'<rect width="{width}" height="{height}" rx="8" style="fill:var(--card)"/>',
             f'<text x="16" y="26" class="name">{html.escape(title)}</text>']
    for number, (caption, body) in enumerate(charts):
        x = number * (WIDTH + GAP)
        lines.append(f'<g transform="translate({x} {TOP})"><text x="50" y="-12" class="name">'
                     f'nodes, planner {caption}</text>{HOVER.sub("", body)}</g>')
    return "\n".join(lines) + "\n</svg>\n"


def main(argv):
    out, _, *command = argv
    with tempfile.TemporaryDirectory() as folder:
        page = pathlib.Path(folder, "page.html")
        subprocess.run([*command, "--report", page], check=True, stdout=subprocess.DEVNULL)
        title = " ".join([pathlib.Path(command[0]).name, *command[1:]])
        text = picture(page.read_text(encoding="utf-8"), title)
    pathlib.Path(out).write_text(text, encoding="utf-8")
    print(f"{out}: {len(text)} bytes")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))

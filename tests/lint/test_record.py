"""tools/record.py: what a terminal shows is what the SVG contains."""

import os
import re
import sys
import tempfile
import unittest
import xml.etree.ElementTree as ElementTree

ROOT = os.path.abspath(os.path.join(os.path.dirname(__file__), "..", ".."))
sys.path.insert(0, os.path.join(ROOT, "tools"))

import record

SVG = "{http://www.w3.org/2000/svg}"
REDRAW = r"printf 'one\n\033[32mtwo\033[0m\n'; sleep 0.3; printf '\033[1A\r\033[Kthree <&>\n'"


class Recording(unittest.TestCase):
    def record(self, *words):
        """The SVG of a command, as an XML tree."""
        with tempfile.TemporaryDirectory() as folder:
            path = os.path.join(folder, "out.svg")
            self.assertEqual(record.main([path, "--columns", "20", *words]), 0)
            return ElementTree.parse(path).getroot()

    @staticmethod
    def texts(tree, last_only):
        return ["".join(text.itertext()) for text in tree.iter(SVG + "text")
                if not last_only or text.get("opacity") is None]

    def test_a_line_that_is_drawn_again(self):
        tree = self.record("--title", "demo", "--", "sh", "-c", REDRAW)
        self.assertEqual(self.texts(tree, last_only=True), ["$ demo", "one", "three <&>"])
        self.assertIn("two", self.texts(tree, last_only=False))
        self.assertEqual([span.get("class") for span in tree.iter(SVG + "tspan")], ["o", "g"])

    def test_every_animation_belongs_to_a_text(self):
        tree = self.record("--", "sh", "-c", REDRAW)
        style = tree.find(SVG + "style").text
        names = {text.get("id") for text in tree.iter(SVG + "text") if text.get("id")}
        self.assertEqual(set(re.findall(r"#(t\d+)\{animation", style)), names)

    def test_a_question_is_answered(self):
        tree = self.record("--answer", "sure", "yes", "--", "sh", "-c",
                           "printf 'sure? '; read x; echo got $x")
        self.assertIn("got yes", self.texts(tree, last_only=True))

    def test_long_lines_wrap(self):
        tree = self.record("--", "printf", "%s", "x" * 25)
        self.assertIn("x" * 20, self.texts(tree, last_only=True))

    def test_faults_are_found(self):
        for size, text, fault in (((20, 5), "x" * 21, "wider than the screen: " + "x" * 20),
                                  ((20, 2), "a\r\n" * 5 + "\x1b[4A", "scrolled away"),
                                  ((20, 5), "\x1b[?1049h\x1b[9;1Hlow", "below the screen: row 9")):
            screen = record.Screen(*size)
            screen.feed(text)
            self.assertEqual(len(screen.faults), 1, text)
            self.assertIn(fault, screen.faults.pop())
        screen = record.Screen(20, 5)
        screen.feed("one\r\ntwo\x1b[1A\rthree")
        self.assertEqual(screen.faults, set())

    def test_a_full_screen_program_until_a_key(self):
        script = r"printf 'before\n\033[?1049h\033[2J\033[2;3H\033[7mmenu\033[0m'; read x; " \
                 r"printf '\033[?1049lafter\n'"
        tree = self.record("--still", "--keys", "0.3", "\n", "--", "sh", "-c", script)
        said = self.texts(tree, last_only=False)
        self.assertEqual([text.strip() for text in said if text.strip()], ["menu"])
        bars = [rect.get("x") for rect in tree.iter(SVG + "rect") if rect.get("x")]
        self.assertEqual(bars, [f"{record.MARGIN + 2 * record.CELL:.1f}"])


if __name__ == "__main__":
    unittest.main()

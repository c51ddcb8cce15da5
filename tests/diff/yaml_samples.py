"""Random YAML text: single scalars near every YAML 1.1 rule, and documents.

Nothing here tries to be valid. Most samples are, because the interesting errors are one character
away from valid text.
"""

import base64
import random

from emit import emit, tree_of

DIGITS = "0123456789"
NEAR = DIGITS + "__+-..::eExXbBoO TtZz~<=nNaAfFyY"
WORDS = ["yes", "no", "on", "off", "true", "false", "y", "n", "null", "nil", "~", "none", "<<", "=",
         "!", "&", "*", ".inf", ".nan", ".Inf", ".NaN", ".INF", ".NAN", "-.inf", "+.inf", "-.nan",
         "inf", "nan", "0x", "0b", "0o", "-", "+", ".", "..", "...", "---", "-.", "+.", "_", "0_",
         "-_", "1_", "._", ".0", "0.", "?", ":", "|", ">", "%", "@", "`", "#", "''", '""', "", " "]
PLAIN_TEXT = ["a", "word", "two words", "a: b", "a:b", "a #b", "a#b", "- a", "-a", "? a", "?a",
              ":a", "a:", "[a", "a]", "{a", "a}", "a, b", ",a", "a,", "&x a", "*x", "!t a", "|a",
              ">a", "%a", "@a", "`a", "'a", '"a', "a'b", 'a"b', "a\\b", "http://x:80/?q=1", "~/x",
              "~x", "é", "数据", "\U0001F680", "\u00a0", "a\u0085b", "a\u2028b", "\ufeffa",
              "a\ufeffb", "a\tb", "a\t", "\ta", "a \t #c", "\x7f", "\x80", "a\u200bb", "\ufffe",
              "\ufffd", "\x1b", "a\x00b", "\U0010ffff", "-\ta", "a:\tb", "?\ta", "key: 'v' x",
              "a::b", ": a", "a : b", "--- a", "... a", "---a", "<<: a", "=: a", "a&b", "a*b",
              "a!b"]
UNICODE_DIGITS = ["１２", "٣", "²", "Ⅷ", "१"]
# What Python's int() and float() accept although YAML has no such numbers.
LENIENT = ["1 ", " 1", "- 1", "--1", "+-1", "0x0x1", "0b0b1", "infinity", "-nan", "1e5", "1_000",
           "1\\n", "\\t2", "0o17", "1.5:2", "1:2.5", "0x-1", "YES", "tRuE"]
TAGS = ["!!int", "!!float", "!!str", "!!bool", "!!null", "!!timestamp", "!!binary", "!",
        "!<tag:yaml.org,2002:int>", "!!seq", "!!map", "!!set", "!!omap", "!!pairs", "!!merge",
        "!!value", "!!yaml", "!local", "!!python/none", "!<!int>", "!!in%74", "!e!x", "!!"]
ESCAPES = ["\\0", "\\a", "\\b", "\\t", "\\n", "\\v", "\\f", "\\r", "\\e", "\\ ", '\\"', "\\/",
           "\\\\", "\\N", "\\_", "\\L", "\\P", "\\x41", "\\xe9", "\\u00e9", "\\u2028",
           "\\U0001F600", "\\x4", "\\u12", "\\q", "\\'", "\\x00", "\\xZZ", "\\U00110000", "\\\t",
           "\\UFFFFFFFF", "\\u000A", "\\ud83d\\ude00", "\\uD800", "\\uFFFE", "\\x7f"]


def pick(rng, choices):
    return choices[int(rng.random() * len(choices))]


def digits(rng, most=6, alphabet=DIGITS):
    return "".join(pick(rng, alphabet) for _ in range(1 + int(rng.random() * most)))


def two(rng):
    """Two digits, usually a plausible part of a date or time."""
    return pick(rng,
                ["00", "01", "02", "09", "10", "12", "23", "28", "29", "30", "31", "59", "60", "24",
                 "99", "1", "7"])


# --- plain scalars, one function per rule ------------------------------------


def sign(rng):
    return pick(rng, ["", "", "", "-", "+"])


def decimal(rng):
    return sign(rng) + digits(rng, 12, DIGITS + "_")


def octal(rng):
    return sign(rng) + "0" + digits(rng, 8, "01234567_8" if rng.random() < 0.2 else "01234567_")


def hexadecimal(rng):
    return sign(rng) + pick(rng, ["0x", "0x", "0X"]) + digits(rng, 10, "0123456789abcdefABCDEF_")


def binary_number(rng):
    alphabet = "01_2" if rng.random() < 0.2 else "01_"
    return sign(rng) + pick(rng, ["0b", "0b", "0B"]) + digits(rng, 12, alphabet)


def modern_octal(rng):
    return sign(rng) + "0o" + digits(rng, 6, "01234567")


def sexagesimal(rng):
    parts = [digits(rng, 3)] + [two(rng) for _ in range(1 + int(rng.random() * 4))]
    return sign(rng) + ":".join(parts) + pick(rng, ["", "", "", ".", ".5", "._5", ".25_"])


def floating(rng):
    head = pick(rng, ["", digits(rng, 5, DIGITS + "_")])
    tail = pick(rng, ["", digits(rng, 5, DIGITS + "_"), digits(rng, 20)])
    power = pick(rng, ["", "", "e+", "E-", "e", "E"])
    if power:
        power += pick(rng, ["0", "5", "10", "300", "308", "309", "324", "400", "01", ""])
    return sign(rng) + head + "." + tail + power


def exponent_only(rng):
    return sign(rng) + digits(rng, 4) + pick(rng, ["e", "E"]) + sign(rng) + digits(rng, 2)


def not_finite(rng):
    words = [".inf", ".Inf", ".INF", ".nan", ".NaN", ".NAN", ".iNF", ".Nan", "inf"]
    return pick(rng, ["", "-", "+"]) + pick(rng, words)


def timestamp(rng):
    year = pick(rng, ["2024", "1999", "0001", "0000", "9999", "1970", "24", "02024"])
    text = "-".join([year, two(rng), two(rng)])
    if rng.random() < 0.35:
        return text
    text += pick(rng,
                 ["T", "t", " ", "  ", "\t", " \t "]) + ":".join([two(rng), two(rng), two(rng)])
    text += pick(rng, ["", "", ".", ".1", ".123456", ".1234567", ".0000009"])
    return text + pick(rng,
                       ["", "", "Z", " Z", "+1", "-5", " +05:30", "-12:00", "+24:00", "-23:59",
                        "+00:00", "z", "+5:3", "\tZ", "-00:00", "+99"])


def keyword(rng):
    word = pick(rng, WORDS)
    return pick(rng, [word, word, word.upper(), word.title(), word.swapcase()])


def near_miss(rng):
    text = list(pick(rng, RULES[:-1])(rng))
    for _ in range(pick(rng, [1, 1, 2])):
        place = int(rng.random() * (len(text) + 1))
        action = rng.random()
        if action < 0.4:
            text.insert(place, pick(rng, NEAR))
        elif text and action < 0.7:
            text[min(place, len(text) - 1)] = pick(rng, NEAR)
        elif text:
            text.pop(min(place, len(text) - 1))
    return "".join(text)


def huge(rng):
    """Numbers around Python's limit of 4300 decimal digits."""
    count = pick(rng, [50, 300, 4299, 4300, 4301, 20])
    if rng.random() < 0.3:
        return sign(rng) + pick(rng, ["0x" + digits(rng, 1, "123456789abcdef") * min(count, 3000),
                                      "0" + pick(rng, "1234567") * min(count, 3000),
                                      "0b1" + pick(rng, "01") * count])
    if rng.random() < 0.2:
        return "7" * count + ".5"
    return sign(rng) + pick(rng, "123456789") + pick(rng, DIGITS) * (count - 1)


def plain_text(rng):
    return pick(rng, PLAIN_TEXT)


RULES = [decimal, octal, hexadecimal, binary_number, modern_octal, sexagesimal, floating,
         exponent_only, not_finite, timestamp, keyword, near_miss]


def any_plain(rng):
    if rng.random() < 0.0005:
        return huge(rng)
    if rng.random() < 0.12:
        return plain_text(rng)
    return pick(rng, RULES)(rng)


# --- quoted and tagged scalars -----------------------------------------------


def double_quoted(rng):
    parts = []
    for _ in range(int(rng.random() * 5)):
        text = any_plain(rng).replace('"', "").replace("\\", "")
        parts.append(pick(rng, ESCAPES) if rng.random() < 0.5 else text)
    return '"' + pick(rng, ["", " ", "\n  ", " \n\n "]).join(parts) + '"'


def single_quoted(rng):
    parts = [any_plain(rng).replace("'", "''") for _ in range(int(rng.random() * 3))]
    return "'" + pick(rng, ["", " ", "''", "\n  ", " \n\n "]).join(parts) + "'"


def base64_text(rng):
    data = rng.randbytes(int(rng.random() * 12))
    text = list(base64.b64encode(data).decode())
    if rng.random() < 0.5:
        text.insert(int(rng.random() * (len(text) + 1)),
                    pick(rng, ["=", " ", "-", "é", "\\n", "A", "*", "=="]))
    return "".join(text)


def tagged(rng):
    """A tag before content that the tag's constructor may or may not accept."""
    if rng.random() < 0.12:
        return '!!binary "' + base64_text(rng) + '"'
    content = any_plain(rng)
    if rng.random() < 0.15:
        content = pick(rng, ["", " "]) + pick(rng, UNICODE_DIGITS + LENIENT)
    if rng.random() < 0.6:
        content = '"' + content.replace('"', "") + '"'
    return pick(rng, TAGS) + pick(rng, [" ", " ", " ", "  ", ""]) + content


def scalar(rng):
    kind = rng.random()
    if kind < 0.62:
        return any_plain(rng)
    if kind < 0.74:
        return double_quoted(rng)
    return single_quoted(rng) if kind < 0.8 else tagged(rng)


FRAMES = ["%s", "%s", "%s\n", "- %s\n", "- a\n- %s\n- b\n", "k: %s\n", "{k: %s}", "[%s, %s]",
          "%s: v\n", "? %s\n: v\n", "{%s: v}", "{%s}", "[%s]", "[ %s ]", "k: %s # comment\n",
          "--- %s\n...\n", "k:\n  %s\n", "- - %s\n", "{? %s : v}", "{k: %s, l: 1}",
          "k: {m: [%s]}\n", "k: &a %s\nl: *a\n"]


def scalar_document(rng):
    # A bare scalar is the fastest to check, and most rules need no more.
    frame = "%s" if rng.random() < 0.4 else pick(rng, FRAMES)
    return frame.replace("%s", scalar(rng) if rng.random() < 0.97 else plain_text(rng))


# --- documents ---------------------------------------------------------------

CALM = ["a", "word", "two words", "1", "-5", "2.5", "true", "no", "~", "null", "'single'",
        '"double"', "'it''s'", '"tab\\t"', "2024-01-02", "1:30", "0x1F", "a-b", "x.y/z",
        "http://h:80/p", "é", "!!str 5", "!!int '7'", "a#b", "''", '""', "it's", 'say "x"', "a\\b",
        "$HOME", "50%", ".py", "a,b", "-x", "?x", ":x", "12e3", "0777", "12_000", "=x"]


CALM_IN_FLOW = [text for text in CALM if text[0] not in "?:-" and "," not in text]


def mostly_calm(rng, choices=CALM):
    """A scalar that rarely makes the document around it invalid."""
    return scalar(rng) if rng.random() < 0.06 else pick(rng, choices)


class Writer:
    """Writes one random document, block or flow, in many styles."""

    def __init__(self, rng):
        self.rng = rng
        self.anchors = []

    def pick(self, choices):
        return pick(self.rng, choices)

    def chance(self, probability):
        return self.rng.random() < probability

    def document(self):
        text = self.prolog() + self.block(0, 0).lstrip("\n")
        if self.chance(0.05):
            text += self.pick(["\n...\n", "\n---\n", "\n--- x\n", "\n...\n# end", "\n... x",
                               "\n...\n...\n"])
        return text + ("\t\n" if self.chance(0.01) else self.pick(["\n", "\n", "", "\n\n", "  \n"]))

    def prolog(self):
        if self.chance(0.85):
            return ""
        return self.pick(["---\n", "--- # c\n", "%YAML 1.1\n---\n", "%YAML 1.2\n---\n",
                          "%YAML 2.0\n---\n", "%YAML 1.3\n---\n", "%TAG ! tag:x,2000:\n---\n",
                          "%TAG !! tag:yaml.org,2002:\n---\n", "%FOO bar\n---\n", "%YAML 1.1\n",
                          "%YAML 1.1\n%YAML 1.1\n---\n", "\ufeff", "# c\n---\n", "...\n---\n",
                          "%TAG !e! !x\n---\n", "---\t", "%YAML 1.1 # c\n---\n",
                          "%TAG !a! b:\n%TAG !a! c:\n---\n", "--- |\n", "---  "])

    # block

    def block(self, depth, indent):
        """Text that starts with a line break or a space."""
        roll = self.rng.random()
        if depth > 3 or roll < 0.3:
            return " " + self.leaf(indent)
        if roll < 0.62:
            return self.properties() + "\n" + self.mapping(depth, indent)
        if roll < 0.85:
            return self.properties() + "\n" + self.sequence(depth, indent)
        return self.properties() + " " + self.flow(depth)

    def mapping(self, depth, indent):
        lines = []
        keys = []
        for _ in range(1 + int(self.rng.random() * 4)):
            lines.extend(self.noise(indent))
            key = self.pick(keys) if keys and self.chance(0.08) else self.key()
            keys.append(key)
            lines.append(" " * indent + self.pair(key, depth, indent))
        return "\n".join(lines)

    def pair(self, key, depth, indent):
        if self.anchors and self.chance(0.08):
            return "<<: " + self.pick(["*%s", "[*%s]", "[*%s, {q: 1}]",
                                       "{q: 1, <<: *%s}"]) % self.pick(self.anchors)
        value = self.block(depth + 1, indent + self.pick([1, 2, 2, 2, 4]))
        if self.chance(0.06):
            return "? " + key + "\n" + " " * indent + ":" + value
        if self.chance(0.03):
            return "?" + self.block(depth + 1, indent + 2) + "\n" + " " * indent + ":" + value
        colon = ":\t" if self.chance(0.01) else self.pick([":", ":", ":", " :"])
        return key + colon + value

    def sequence(self, depth, indent):
        lines = []
        for _ in range(1 + int(self.rng.random() * 4)):
            lines.extend(self.noise(indent))
            lines.append(" " * indent + "-" + self.item(depth, indent))
        return "\n".join(lines)

    def item(self, depth, indent):
        if self.chance(0.3):  # a collection on the dash's own line
            inside = self.mapping if self.chance(0.7) else self.sequence
            return " " + inside(depth + 1, indent + 2).lstrip(" \n")
        if self.chance(0.03):
            return ""
        return self.block(depth + 1, indent + self.pick([1, 2, 2, 4]))

    def noise(self, indent):
        if self.chance(0.93):
            return []
        if self.chance(0.05):
            return [self.pick(["\t", " " * indent + "\t# c"])]
        return [self.pick(["", "  ", "# comment", " " * indent + "# c", "   #c"])]

    # parts

    def key(self):
        if self.chance(0.03):
            return scalar(self.rng)
        if self.chance(0.6):
            return self.pick(["a", "b", "c", "d", "e", "key", "a b", "'q'", '"d"'])
        return self.pick(["a", "b", "c", "key", "a b", "'q'", '"d"', "1", "1.0", "true", "yes",
                          "null", "~", "2001-01-01", "0x1", "01", "é", "k-1", "x.y", "=", "-1", "0",
                          "0.0", "-0.0", "!!str 1", "1e16", "1.0e+16", "10000000000000000", ".nan",
                          "!!binary YQ==", "2001-12-14t21:59:43Z", "2001-12-14 22:59:43 +1",
                          "2001-12-14 21:59:43"])

    def properties(self):
        text = ""
        if self.chance(0.07):
            text += " " + self.new_anchor()
        if self.chance(0.025):
            text += " " + self.pick(["!!map", "!!seq", "!!set", "!!omap", "!!pairs", "!!str",
                                     "!local", "!", "!!null", "!!int"])
        return text

    def new_anchor(self):
        name = "n%d" % (len(self.anchors) % 4)
        self.anchors.append(name)
        return ("& " if self.chance(0.02) else "&") + name

    def leaf(self, indent):
        roll = self.rng.random()
        if self.anchors and roll < 0.1:
            return "*" + self.pick(self.anchors)
        prefix = self.new_anchor() + " " if roll > 0.95 else ""
        if roll < 0.35:
            return prefix + self.block_scalar(indent)
        if roll < 0.5:
            return prefix + self.multi_line(indent)
        end = " \t#x" if self.chance(0.005) else self.pick(["", "", "", "", "", " # c", " #", "  "])
        return prefix + mostly_calm(self.rng) + end

    def block_scalar(self, indent):
        header = self.pick("|>") + self.pick(["", "", "", "-", "+", "-", "+"])
        if self.chance(0.15):
            header += self.pick(["2", "1", "4", "0", "9", "22", "+-"])
        if self.chance(0.15):
            header += self.pick([" # c", " # c", " # c", " ", " ", "\t", "#c", " x"])
        pad = " " * max(0, indent + self.pick([1, 2, 4, 0, -1] if self.chance(0.2) else [1, 2, 4]))
        lines = []
        for _ in range(int(self.rng.random() * 5)):
            start = self.pick([pad, pad + " ", pad + "\t", "", " ", pad[:-1],
                               "\t"]) if self.chance(0.2) else pad
            lines.append(start + self.pick(
                ["text", "more text", "text", "", "- x", "k: v", "# no comment", "a\ttab", "trail ",
                 "  deeper"]
                if self.chance(0.95) else ["é\u2028é", "a\u0085b", "...", "---"]))
        return header + "\n" + "\n".join(lines) if lines else header

    def multi_line(self, indent):
        pad = "\n" + " " * max(0, indent + self.pick([0, -1] if self.chance(0.03) else [1, 2, 4]))
        if self.chance(0.05):
            pad += "\t"
        lines = [self.pick(["one", "two words", "3", "four", "- x", "", " ", "end.", "x.y",
                            "a#b"]) if self.chance(0.97) else
                 self.pick(["# c", "k: v", "x #y", "...", "---", "\\"])
                 for _ in range(2 + int(self.rng.random() * 3))]
        text = pad.join(lines)
        quote = self.pick(["", "", "'", '"'])
        return quote + text + quote

    # flow

    def flow(self, depth):
        if self.chance(0.5):
            items = [self.flow_item(depth) for _ in range(int(self.rng.random() * 4))]
            return "[" + self.joined(items) + "]"
        items = [self.flow_pair(depth) for _ in range(int(self.rng.random() * 4))]
        return "{" + self.joined(items) + "}"

    def joined(self, items):
        comma = self.pick([", ", ", ", ", ", ",", " , ", ",\n        ", ", # c\n         "])
        end = self.pick(["", "", "", " ", ","])
        if self.chance(0.03):
            comma, end = self.pick([(",\n\t", ""), (comma, ", ,"), (comma, "\n ")])
        return self.pick(["", "", " "]) + comma.join(items) + (end if items else "")

    def flow_item(self, depth, may_be_pair=True):
        roll = self.rng.random()
        if depth < 4 and roll < 0.2:
            return self.properties().lstrip() + " " + self.flow(depth + 1)
        if roll < 0.35 and may_be_pair:
            return self.flow_pair(depth)
        if self.anchors and roll < 0.42:
            return "*" + self.pick(self.anchors)
        return mostly_calm(self.rng, CALM_IN_FLOW)

    def flow_pair(self, depth):
        key = self.key()
        if self.chance(0.1):
            return key
        if self.chance(0.06):
            return self.pick(["? ", "?"]) + key
        colon = self.pick([": ", ": ", ": ", " : "])
        if self.chance(0.06):
            colon = self.pick([":", " :", ":\n         "])
        return key + colon + (self.flow_item(depth + 1, False) if self.chance(0.93) else "")


# --- token soup and mutations ------------------------------------------------

TOKENS = ["- ", "-", ": ", ":", "? ", "?", "{", "}", "[", "]", ", ", ",", "&a", "*a", "&b ",
          "!!str ", "!t ", "| ", "> ", "|", ">", "#", " #", "# c", "'", '"', "''", "\\", "\n", "\n",
          "\n", "\n", "\n  ", "\n    ", "\n ", " ", "  ", "\t", "a", "b", "key", "1", "0x1", "~",
          "<<", "=", "---", "...", "\n---\n", "\n...\n", "%YAML 1.1\n", "%", "@", "`", "\r", "\r\n",
          "\u0085", "\u2028", "\ufeff", "é", "a: b", "- x", "k: ", "\n- ", "\n  - ", "\na: ", "|-",
          ">+", "|2\n"]


def soup(rng):
    return "".join(pick(rng, TOKENS) for _ in range(1 + int(rng.random() * 14)))


def mutate_bytes(rng, data):
    data = bytearray(data)
    for _ in range(pick(rng, [1, 1, 1, 2, 4])):
        place = int(rng.random() * (len(data) + 1))
        action = rng.random()
        if action < 0.45:
            data[place:place] = pick(rng, TOKENS).encode()
        elif action < 0.7:
            del data[place : place + pick(rng, [1, 1, 2, 5])]
        elif action < 0.9:
            data[place : place + 1] = pick(rng, TOKENS).encode()
        else:
            data[place : place + 1] = bytes([int(rng.random() * 256)])
    return bytes(data)


def mutate_lines(rng, data):
    lines = data.split(b"\n")
    first = int(rng.random() * len(lines))
    second = int(rng.random() * len(lines))
    action = rng.random()
    if action < 0.25:
        lines[first], lines[second] = lines[second], lines[first]
    elif action < 0.45:
        lines.insert(second, lines[first])
    elif action < 0.6:
        lines.pop(first)
    elif action < 0.75:
        lines[first] = pick(rng, [b" ", b"  ", b"\t"]) + lines[first]
    elif action < 0.85:
        lines[first] = lines[first][1:]
    elif action < 0.95:
        lines[first] += pick(rng,
                             [b" # c", b"#c", b" ", b"\t", b":", b" x", b",", b"]", b" &a", b"\r"])
    else:
        lines = lines[: first + 1]
    return b"\n".join(lines)


def excerpt(rng, data):
    """A few lines of a file, to save time."""
    lines = data.split(b"\n")
    first = int(rng.random() * len(lines)) if rng.random() < 0.7 else 0
    return b"\n".join(lines[first : first + 2 + int(rng.random() * 12)])


def small_tree(rng, depth=0):
    roll = rng.random()
    if depth > 2 or roll < 0.4:
        return pick(rng,
                    [1, -5, 2.5, True, None, "text", "two words", "yes", "1", "", "a\nb\n", "é: #",
                     1e20, "x" * 30])
    if roll < 0.7:
        keys = [pick(rng, ["a", "b", "c d", 1, "e:f"]) for _ in range(int(rng.random() * 4))]
        return {key: small_tree(rng, depth + 1) for key in keys}
    return [small_tree(rng, depth + 1) for _ in range(int(rng.random() * 4))]


def document(rng, corpus):
    """One document as bytes; `corpus` is a list of valid files' contents."""
    roll = rng.random()
    if roll < 0.4:
        return Writer(rng).document().encode()
    if roll < 0.5:
        return soup(rng).encode()
    if roll < 0.6:
        return emit(tree_of(small_tree(rng)), rng, flow=0.4, comments=0.1).encode()
    if roll < 0.8:
        base = Writer(rng).document().encode()
    else:
        base = excerpt(rng, pick(rng, corpus))
    return mutate_bytes(rng, base) if rng.random() < 0.6 else mutate_lines(rng, base)


def scalar_batch(seed, count):
    rng = random.Random(seed)
    return [scalar_document(rng).encode() for _ in range(count)]


def document_batch(seed, count, corpus):
    rng = random.Random(seed)
    return [document(rng, corpus) for _ in range(count)]

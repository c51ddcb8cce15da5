"""A small YAML writer with random style.

Trees are made of Map (ordered pairs, duplicates allowed), list, Raw (text
written as it is) and plain Python scalars. A Map or list that occurs twice in
a tree is written once with an anchor and then as an alias, because Python
shares such objects and Ray's changes to one are visible through the other.
"""

import re

import yaml

RESOLVERS = yaml.SafeLoader.yaml_implicit_resolvers
PLAIN = re.compile(r"[A-Za-z0-9_./~<=$][A-Za-z0-9_./=@+$~<>,;-]*( [A-Za-z0-9_./=@+$~-]+)*")
PLAIN_IN_FLOW = re.compile(r"[A-Za-z0-9_./~$][A-Za-z0-9_./=@+$~-]*")


class Map:
    """An ordered mapping that may hold the same key twice."""

    def __init__(self, pairs=()):
        self.pairs = [list(pair) for pair in pairs]

    def get(self, key, default=None):
        for name, value in self.pairs:
            if name == key and isinstance(name, str):
                return value
        return default

    def set(self, key, value):
        for pair in self.pairs:
            if pair[0] == key and isinstance(pair[0], str):
                pair[1] = value
                return
        self.pairs.append([key, value])

    def drop(self, key):
        self.pairs = [pair for pair in self.pairs if pair[0] != key]

    def keys(self):
        return [pair[0] for pair in self.pairs]

    def __contains__(self, key):
        return any(name == key for name in self.keys() if isinstance(name, str))


class Raw:
    """A scalar written exactly like this."""

    def __init__(self, text):
        self.text = text


def tree_of(value):
    """Python data as a tree; does not use anchors on purpose."""
    if isinstance(value, dict):
        return Map((key, tree_of(item)) for key, item in value.items())
    if isinstance(value, list):
        return [tree_of(item) for item in value]
    return value


def data_of(tree):
    """The Python data that a tree without merge keys represents."""
    if isinstance(tree, Map):
        return {data_of(key): data_of(value) for key, value in tree.pairs}
    if isinstance(tree, list):
        return [data_of(item) for item in tree]
    if isinstance(tree, Raw):
        return yaml.safe_load(tree.text)
    return tree


def resolves_to_string(text):
    candidates = RESOLVERS.get(text[:1], []) + RESOLVERS.get(None, [])
    return not any(pattern.match(text) for _, pattern in candidates)


class Emitter:
    def __init__(self, rng, flow=0.15, comments=0.05):
        self.rng = rng
        self.flow = flow
        self.comments = comments
        self.uses = {}
        self.names = {}
        self.has_block_scalar = False

    def document(self, tree):
        self.count(tree)
        if isinstance(tree, Map) and tree.pairs and self.rng.random() > 0.02:
            body = self.anchor_line(tree) + self.block_map(tree, 0)
        else:
            body = self.value(tree, -1, True).lstrip(" ")
        return self.opening() + body + self.ending()

    def opening(self):
        if self.rng.random() < 0.1:
            return self.rng.choice(["---\n", "# cluster\n", "%YAML 1.1\n---\n", "\n\n"])
        return ""

    def ending(self):
        # Without a final line break, a block scalar there would lose its own.
        endings = ["\n", "\n", "\n", "\n\n", "\n...\n", "\n# end\n"]
        return self.rng.choice(endings if self.has_block_scalar else endings + [""])

    def anchor_line(self, tree):
        anchor = self.anchor(tree)
        return "--- " + anchor + "\n" if anchor else ""

    # sharing

    def count(self, tree):
        if not isinstance(tree, (Map, list)):
            return
        self.uses[id(tree)] = self.uses.get(id(tree), 0) + 1
        if self.uses[id(tree)] > 1:
            return
        if isinstance(tree, Map):
            for _, value in tree.pairs:
                self.count(value)
        else:
            for item in tree:
                self.count(item)

    def anchor(self, tree):
        if self.uses.get(id(tree), 0) < 2:
            return ""
        self.names[id(tree)] = "shared_%d" % len(self.names)
        return "&" + self.names[id(tree)]

    # values: the text after `key:` or `-`

    def value(self, tree, indent, in_flow):
        if not isinstance(tree, (Map, list)):
            return " " + self.scalar(tree, indent, in_flow)
        if id(tree) in self.names:
            return " *" + self.names[id(tree)]
        anchor = self.anchor(tree)
        prefix = " " + anchor if anchor else ""
        size = len(tree.pairs if isinstance(tree, Map) else tree)
        if in_flow or size == 0 or self.rng.random() < self.flow:
            return prefix + " " + self.flow_text(tree)
        return prefix + self.block(tree, indent, bool(anchor))

    def flow_text(self, tree):
        space = self.rng.choice(["", " "])
        if isinstance(tree, list):
            items = [self.value(item, 0, True).strip(" ") for item in tree]
            return "[" + space + ", ".join(items) + space + "]"
        items = []
        for key, value in tree.pairs:
            text = self.key(key, True) + ":" + self.value(value, 0, True)
            items.append(text)
        return "{" + space + ", ".join(items) + space + "}"

    def block(self, tree, indent, anchored):
        if isinstance(tree, Map):
            return "\n" + self.block_map(tree, indent + self.rng.choice([1, 2, 2, 2, 4]))
        least = 0 if indent >= 0 and not anchored else 1
        return "\n" + self.block_list(tree, indent + self.rng.choice([least, 2, 2, 4]))

    def block_map(self, tree, indent):
        lines = []
        for key, value in tree.pairs:
            lines.extend(self.comment(indent))
            text = " " * indent + self.key(key, False) + ":" + self.value(value, indent, False)
            lines.append(text)
        return "\n".join(lines)

    def block_list(self, tree, indent):
        lines = []
        for item in tree:
            lines.extend(self.comment(indent))
            lines.append(" " * indent + "-" + self.list_item(item, indent))
        return "\n".join(lines)

    def list_item(self, item, indent):
        compact = isinstance(item, Map) and item.pairs and self.rng.random() < 0.8
        if not compact or self.uses.get(id(item), 0) > 1:
            # A list directly inside a list must be indented further.
            return self.nested_value(item, indent)
        gap = self.rng.choice([1, 1, 1, 3])
        return " " * gap + self.block_map(item, indent + 1 + gap).lstrip(" ")

    def nested_value(self, item, indent):
        text = self.value(item, indent, False)
        if isinstance(item, list) and text.startswith("\n" + " " * indent + "-"):
            return " " + self.flow_text(item)
        return text

    def comment(self, indent):
        if self.rng.random() < self.comments:
            return [" " * indent + self.rng.choice(["# note", "#", "# a: [b", ""])]
        return []

    # scalars

    def key(self, key, in_flow):
        if isinstance(key, str) and "\n" in key:
            return self.double_quoted(key)
        return self.scalar(key, None, in_flow)

    def scalar(self, value, indent, in_flow):
        if isinstance(value, Raw):
            return value.text
        if value is None:
            return self.rng.choice(["null", "null", "~", "Null"])
        if isinstance(value, bool):
            return self.boolean(value)
        if isinstance(value, int):
            return self.integer(value)
        if isinstance(value, float):
            return self.floating(value)
        return self.string(value, indent, in_flow)

    def boolean(self, value):
        words = ["true", "true", "True", "yes", "Yes", "on", "ON"]
        if not value:
            words = ["false", "false", "False", "no", "NO", "off", "Off"]
        return self.rng.choice(words)

    def integer(self, value):
        if self.rng.random() < 0.9 or abs(value) < 1:
            return str(value)
        sign, size = ("-", -value) if value < 0 else ("", value)
        forms = ["0x%x" % size, "0%o" % size, "0b" + bin(size)[2:], "{:_}".format(size)]
        return (sign or self.rng.choice(["", "+"])) + self.rng.choice(forms)

    def floating(self, value):
        if value != value:
            return ".nan"
        if value in (float("inf"), -float("inf")):
            return ".inf" if value > 0 else "-.inf"
        text = repr(value)
        if "e" in text and "." not in text:
            text = text.replace("e", ".0e")
        return re.sub(r"e(\d)", r"e+\1", text)

    def string(self, text, indent, in_flow):
        forms = [self.double_quoted]
        pattern = PLAIN_IN_FLOW if in_flow or indent is None else PLAIN
        if pattern.fullmatch(text) and resolves_to_string(text):
            forms += [str] * 6
        if text.isprintable():
            forms.append(self.single_quoted)
        block = indent is not None and not in_flow and self.fits_block(text)
        if block and (len(forms) < 3 or self.rng.random() < 0.05):
            return self.block_scalar(text, indent)
        return self.rng.choice(forms)(text)

    def single_quoted(self, text):
        return "'" + text.replace("'", "''") + "'"

    def double_quoted(self, text):
        return '"' + "".join(self.escaped(char) for char in text) + '"'

    def escaped(self, char):
        short = {"\n": "\\n", "\t": "\\t", '"': '\\"', "\\": "\\\\", "\0": "\\0"}
        if char in short:
            return short[char]
        if char.isprintable() and self.rng.random() < 0.97:
            return char
        code = ord(char)
        if code < 0x100:
            return "\\x%02X" % code
        return "\\u%04x" % code if code < 0x10000 else "\\U%08X" % code

    def fits_block(self, text):
        lines = text.split("\n")
        return bool(text.strip("\n ")) and all(
            line.isprintable() and line[:1] not in (" ", "\t") for line in lines
        )

    def block_scalar(self, text, indent):
        self.has_block_scalar = True
        body = text.rstrip("\n")
        ends = len(text) - len(body)
        chomp = "-" if ends == 0 else "" if ends == 1 else "+"
        style = ">" if "\n" not in body and self.rng.random() < 0.5 else "|"
        pad = " " * (indent + self.rng.choice([1, 2, 4]))
        lines = [pad + line if line else "" for line in body.split("\n")]
        return style + chomp + "\n" + "\n".join(lines) + "\n" * max(0, ends - 1)


def emit(tree, rng, **options):
    return Emitter(rng, **options).document(tree)

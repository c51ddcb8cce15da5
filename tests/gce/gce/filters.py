"""The query parameter `filter` of listings: AIP-160 expressions, and regular expressions with `eq`
and `ne`. One request cannot mix them. What Google's documentation leaves open is refused with 501.
"""

import re

from . import errors
from .errors import Refusal

TOKEN = re.compile(r"""\s*(?:(?P<mark>\(|\)|!=|<=|>=|=|<|>|:)|"(?P<double>(?:[^"\\]|\\.)*)"|"""
                   r"""'(?P<single>(?:[^'\\]|\\.)*)'|(?P<word>[^\s()=<>!:"']+))""")
MARKS = ("=", "!=", "<", ">", "<=", ">=", ":")


def compile_filter(text, fields):
    """A function of a resource; `fields` are the names that the resource may have."""
    tokens = scan(text)
    is_regex = any(kind == "word" and value in ("eq", "ne") for kind, value in tokens)
    parser = (Regexes if is_regex else Expressions)(text, tokens, fields)
    return parser.all()


def scan(text):
    tokens, at = [], 0
    while text[at:].strip():
        found = TOKEN.match(text, at)
        if not found:
            raise broken(text)
        kind = found.lastgroup
        value = found.group(kind)
        tokens.append(("text" if kind in ("double", "single") else kind,
                       re.sub(r"\\(.)", r"\1", value) if kind != "mark" else value))
        at = found.end()
    return tokens


def broken(text):
    return errors.invalid("filter", text, "Invalid list filter expression.")


def look(value, path):
    """The field, or None. A label's key may contain neither dots nor capitals: one word."""
    for word in path.split("."):
        value = value.get(word) if isinstance(value, dict) else None
    return value


class Parser:
    def __init__(self, text, tokens, fields):
        self.text, self.tokens, self.fields, self.at = text, tokens, fields, 0

    def peek(self):
        return self.tokens[self.at] if self.at < len(self.tokens) else (None, None)

    def take(self, kind=None, value=None):
        found = self.peek()
        if found[0] is None or (kind and found[0] != kind) or (value and found[1] != value):
            raise broken(self.text)
        self.at += 1
        return found[1]

    def field(self):
        name = self.take("word")
        if name.split(".")[0] not in self.fields:
            raise broken(self.text)
        return name


class Regexes(Parser):
    """field eq REGEX, or several of them in parentheses."""

    def all(self):
        tests = []
        while self.at < len(self.tokens):
            if self.peek() == ("mark", "("):
                self.take()
                tests.append(self.one())
                self.take("mark", ")")
            elif tests:
                raise broken(self.text)
            else:
                tests.append(self.one())
        return lambda value: all(test(value) for test in tests)

    def one(self):
        name, operator = self.field(), self.take("word")
        if operator not in ("eq", "ne") or self.peek()[0] not in ("word", "text"):
            raise broken(self.text)
        try:
            pattern = re.compile(self.take())
        except re.error:
            raise broken(self.text) from None
        wanted = operator == "eq"
        return lambda value: bool(pattern.fullmatch(plain(look(value, name)))) == wanted


class Expressions(Parser):
    """AIP-160: OR binds more tightly than AND."""

    def all(self):
        test = self.conjunction()
        if self.at < len(self.tokens):
            raise broken(self.text)
        return test

    def conjunction(self):
        tests = [self.disjunction()]
        while self.peek()[0] is not None and self.peek() != ("mark", ")"):
            if self.peek() == ("word", "AND"):
                self.take()
            tests.append(self.disjunction())
        return lambda value: all(test(value) for test in tests)

    def disjunction(self):
        tests = [self.term()]
        while self.peek() == ("word", "OR"):
            self.take()
            tests.append(self.term())
        return lambda value: any(test(value) for test in tests)

    def term(self):
        kind, word = self.peek()
        if (kind, word) == ("word", "NOT"):
            self.take()
            test = self.term()
            return lambda value: not test(value)
        if kind == "word" and word.startswith("-"):
            self.tokens[self.at] = (kind, word[1:])
            test = self.term()
            return lambda value: not test(value)
        if (kind, word) == ("mark", "("):
            self.take()
            test = self.conjunction()
            self.take("mark", ")")
            return test
        return self.restriction()

    def restriction(self):
        name, mark = self.field(), self.take("mark")
        if mark not in MARKS or self.peek()[0] not in ("word", "text"):
            raise broken(self.text)
        quoted, wanted = self.peek()[0] == "text", self.take()
        if mark == ":":
            return has(name, wanted, quoted)
        if "*" in wanted and not quoted:
            raise Refusal(501, "notImplemented", "The test cloud has no wildcards in filters.")
        return lambda value: compare(look(value, name), mark, wanted)


def has(name, wanted, quoted):
    """field:* (is set), map:key and list:item."""
    if wanted == "*" and not quoted:
        return lambda value: look(value, name) not in (None, "", [], {})

    def test(value):
        inner = look(value, name)
        if isinstance(inner, (dict, list)) or inner is None:
            return wanted in (inner or ())
        raise Refusal(501, "notImplemented", "The test cloud has the operator `:` only for "
                                             "field:*, for maps and for lists.")
    return test


def plain(value):
    if isinstance(value, bool):
        return "true" if value else "false"
    return "" if value is None else str(value)


def compare(value, mark, wanted):
    if value is None:
        return mark == "!="
    if mark in ("=", "!="):
        return (plain(value) == wanted) == (mark == "=")
    try:
        one, two = float(value), float(wanted)
    except (TypeError, ValueError):
        one, two = plain(value), wanted
    return {"<": one < two, ">": one > two, "<=": one <= two, ">=": one >= two}[mark]

"""Differences from PyYAML that we accept, each with its reason and with how often it may occur.

Most are places where libyaml scans differently from PyYAML's own scanner and has no option for it;
the rest are tags and keys that no cluster file has. A difference is accepted only if the results of
both sides fit the reason. Where possible it is proven: PyYAML must read a text without the disputed
character as we read the text with it.
"""

import collections
import datetime
import re

import yaml

import canon

# How many of 10,000 random scalars and documents are usual, and the most of the hand-picked ones.
Known = collections.namedtuple("Known", "name reason match scalars documents picked")
LETTER = "\ue000"  # a letter that no sample has


# ---- by the two results ----


def we_refuse(words, text=rb""):
    """PyYAML reads a sample that contains `text`; we refuse it with this message."""

    def match(sample, expected, found):
        outcomes = expected[0] != "!" and found.startswith("!error")
        return outcomes and words in found and re.search(text, sample)

    return match


def we_read(words, text=rb""):
    """PyYAML refuses a sample that contains `text` with this message; we read it."""

    def match(sample, expected, found):
        outcomes = expected.startswith("!error") and found[0] != "!"
        return outcomes and words in expected and re.search(text, sample)

    return match


# ---- by proof ----


def question_mark(sample, expected, found):
    """Each `?` that PyYAML complains about is a letter for us."""
    if found[0] == "!" or "but got '?'" not in expected:
        return False
    text = list(canon.text_of(sample))
    for _ in range(text.count("?")):
        try:
            yaml.safe_load("".join(text))
            break
        except yaml.MarkedYAMLError as error:
            place = error.problem_mark and error.problem_mark.index
            if "but got '?'" not in str(error.problem) or text[place] != "?":
                return False
            text[place] = LETTER
    read = canon.expected_line("".join(text).encode())
    return canon.same(read.replace(canon.dump(LETTER)[1:-1], "?"), found)


def as_if(pattern, *others):
    """PyYAML reads the sample as we do if the matching text is written differently."""
    found_by = re.compile(pattern)

    def match(sample, _expected, found):
        return found_by.search(sample) and any(
            canon.same(canon.expected_line(found_by.sub(other, sample)), found)
            for other in others)

    return match


def collapsed(value, key_of):
    """The value with map keys merged that `key_of` makes equal, as in a Python dict."""
    if isinstance(value, list):
        return [collapsed(item, key_of) for item in value]
    if not isinstance(value, dict):
        return value
    value = {kind: collapsed(item, key_of) for kind, item in value.items()}
    if "m" in value:
        pairs = {}
        for key, item in value["m"]:
            pairs.setdefault(key_of(key), [key, None])[1] = item
        value["m"] = list(pairs.values())
    return value


def instant(key):
    """Equal for date-times of the same instant."""
    if isinstance(key, dict) and "t" in key:
        moment = datetime.datetime.fromisoformat(key["t"])
        return moment.astimezone(datetime.timezone.utc) if moment.tzinfo else moment
    return canon.dump(key)


def equal_instants(_sample, expected, found):
    """PyYAML has one key where we have several for the same time."""
    if expected[0] == "!" or found[0] == "!":
        return False
    return canon.same(expected, canon.dump(collapsed(canon.json_value(found), instant)))


def equal_nans(_sample, expected, found):
    """PyYAML has several nan as keys where we have one."""
    if expected[0] == "!" or found[0] == "!" or '"nan"' not in found:
        return False
    return canon.same(canon.dump(collapsed(canon.json_value(expected), canon.dump)), found)


INNER_MARK = (rb"(?:(?<=[\n\r])|(?<=\xc2\x85)|(?<=\xe2\x80[\xa8\xa9])|(?<=^\xef\xbb\xbf))"
              rb"\xef\xbb\xbf")
HALF_PAIR = rb"\\(u|U0000)[dD][89a-fA-F][0-9a-fA-F]{2}"
KNOWN = [
    Known("half a surrogate pair", "no UTF-8 text can hold it",
          we_refuse("Unicode character escape", HALF_PAIR), 55, 2, 1),
    Known("colon before a flow sign", "libyaml wants a blank after {a:",
          we_refuse("found unexpected ':'", rb":[\[\]{},]"), 2.5, 5, 3),
    Known("lone ? in a flow list", "libyaml eats the closing bracket",
          we_refuse("while parsing a flow sequence", rb"[\[,]\s*\?"), 1.5, 0.5, 1),
    Known("? inside a flow word", "a key sign for PyYAML, a letter for libyaml",
          question_mark, 7, 8, 3),
    Known("unknown directive", "PyYAML ignores it",
          we_refuse("unknown directive", rb"(?m)^%(?!(YAML|TAG) )"), 0, 22, 0),
    Known("YAML version 1.3 and up", "PyYAML takes any 1.x",
          we_refuse("incompatible YAML document", rb"%YAML 1\.(?![12]\b)"), 0, 22, 0),
    Known("tab starts a block scalar", "libyaml takes it for indentation",
          we_refuse("a tab cannot be used here", rb"[|>]"), 0, 20, 1),
    Known("byte order mark on a later line", "a letter for PyYAML, nothing or a blank for libyaml",
          as_if(INNER_MARK, b"", b" "), 0.1, 5, 3),
    Known("tag glued to a flow sign", "PyYAML takes the sign into the tag",
          as_if(rb"(![\w!%:/.]*)(?=[\[\],])", rb"\1 "), 0.5, 0.3, 0),
    Known("comment glued to a version", "libyaml takes it for one",
          as_if(rb"(%YAML 1\.[12])#", rb"\1 #"), 0, 0.2, 0),
    Known("tagged number with odd signs or digits", "Python's int() takes +-1 and \u0663",
          we_refuse("not a whole number", rb"!"), 9, 0.2, 0),
    Known("tagged float with odd signs or digits", "Python's float() takes +-1 and \u0663",
          we_refuse("not a number", rb"!"), 1.5, 0.3, 0),
    Known("a scalar tag on a map", "PyYAML takes the value of its = key",
          we_refuse("this tag cannot be used for a map", rb"="), 0.1, 0.2, 7),
    Known("merge or = inside an ordered map", "PyYAML takes them literally there",
          we_read("could not determine a constructor for the tag", rb"(pairs|omap).*(<<|=)"),
          0, 0.2, 2),
    Known("odd keys inside an ordered map", "PyYAML allows lists as keys there",
          we_refuse("a list or a map cannot be a key", rb"(?s)(pairs|omap).*[\[{]"), 0, 0.2, 1),
    Known("date-times as equal keys", "PyYAML compares the instants, we the spelling",
          equal_instants, 0, 1, 1),
    Known("a tagged nan as key", "each is a new one for PyYAML", equal_nans, 0, 0.2, 2),
    Known("alias inside its own anchor", "we refuse before a later key can hide it",
          we_refuse("refers to itself", rb"\*"), 0, 18, 0),
]


def name_of(sample, expected, found):
    """The category of a difference, or None: it is not accepted."""
    return next((known.name for known in KNOWN if known.match(sample, expected, found)), None)

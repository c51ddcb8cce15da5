"""Partial responses: the query parameter `fields`, as items(name,status),nextPageToken or a/b."""

from . import errors


def parse(text):
    """{name: mask of its fields, or None for all of it}."""
    mask, rest = group(text, 0)
    if rest != len(text):
        raise errors.invalid("fields", text, "Invalid field selection")
    return mask


def group(text, at):
    mask = {}
    while True:
        start = at
        while at < len(text) and text[at] not in ",/()":
            at += 1
        name = text[start:at].strip()
        if not name:
            raise errors.invalid("fields", text, "Invalid field selection")
        inner = None
        if at < len(text) and text[at] == "/":
            inner, at = path(text, at + 1)
        elif at < len(text) and text[at] == "(":
            inner, at = group(text, at + 1)
            if at >= len(text) or text[at] != ")":
                raise errors.invalid("fields", text, "Invalid field selection")
            at += 1
        mask[name] = merge(mask[name], inner) if name in mask else inner
        if at >= len(text) or text[at] != ",":
            return mask, at
        at += 1


def path(text, at):
    """One name after a slash, with what follows it."""
    end = at
    while end < len(text) and text[end] not in ",/()":
        end += 1
    name = text[at:end].strip()
    if not name:
        raise errors.invalid("fields", text, "Invalid field selection")
    if end < len(text) and text[end] == "/":
        inner, end = path(text, end + 1)
        return {name: inner}, end
    if end < len(text) and text[end] == "(":
        inner, end = group(text, end + 1)
        if end >= len(text) or text[end] != ")":
            raise errors.invalid("fields", text, "Invalid field selection")
        return {name: inner}, end + 1
    return {name: None}, end


def merge(one, other):
    return None if one is None or other is None else {**one, **other}


def apply(mask, value):
    if mask is None:
        return value
    if isinstance(value, list):
        return [apply(mask, item) for item in value]
    if not isinstance(value, dict):
        return value
    if "*" in mask:
        return {name: apply(mask["*"], inner) for name, inner in value.items()}
    return {name: apply(mask[name], inner) for name, inner in value.items() if name in mask}

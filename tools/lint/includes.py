"""Gate: every #include in src/ keeps to the layer table, and folders of app/ form no circle.

usage: includes.py ROOT
"""

import os
import re
import sys

import gate
import layers
import tree

INCLUDE = re.compile(r'^[ \t]*#[ \t]*include[ \t]*(?:"([^"\n]*)"|<([^>\n]*)>|(\S+))', re.MULTILINE)
PRAGMA_ONCE = re.compile(r"^#pragma once$", re.MULTILINE)


def check(root):
    names = tree.sources(root)
    problems = []
    uses = {}  # (folder, folder) -> an include that needs the other folder
    for name in names:
        text = tree.without_comments(tree.read(root, name) or "")
        problems += _check_file(name, text, set(names))
        if name.startswith("src/app/"):
            _note_uses(name, text, uses)
    return problems + _circles(uses)


def _note_uses(name, text, uses):
    folder = os.path.dirname(name[len("src/"):])
    for include in INCLUDE.finditer(text):
        used = os.path.dirname(include.group(1) or "")
        if used.startswith("app") and used != folder:
            uses.setdefault((folder, used), (name, tree.line_at(text, include.start(0))))


def _circles(uses):
    """One problem for each include between two folders that need each other, also indirectly."""
    reached = {folder: {folder} for pair in uses for folder in pair}
    grown = True
    while grown:
        grown = False
        for folder, used in uses:
            grown = grown or not reached[used] <= reached[folder]
            reached[folder] |= reached[used]
    return [gate.problem(*place, f"{folder} includes {used}, which needs {folder}, "
                                 f"perhaps through others; move what both need elsewhere")
            for (folder, used), place in sorted(uses.items()) if folder in reached[used]]


def _check_file(name, text, names):
    layer = layers.layer_of(name)
    if layer is None:
        known = ", ".join(layers.MAY_USE)
        return [gate.problem(name, 1, f"is in no layer; move it into one of {known}")]
    problems = []
    found = list(INCLUDE.finditer(text))
    for include in found:
        fault = _fault(name, layer, *include.groups())
        if fault:
            problems.append(gate.problem(name, tree.line_at(text, include.start(0)), fault))
    if name.endswith(".h") and not PRAGMA_ONCE.search(text):
        problems.append(gate.problem(name, 1, "has no `#pragma once`; add it below the comment"))
    return problems + _own_header_first(name, text, found, names)


def _fault(name, layer, project, system, computed):
    if computed is not None:
        return f"includes the macro {computed}; name the header itself"
    if project is not None:
        return _project_fault(layer, project)
    return None if name in layers.UNLIMITED_FILES else _system_fault(layer, system)


def _project_fault(layer, header):
    for suffix, allowed in layers.GENERATED.items():
        if header.endswith(suffix):
            return None if layer in allowed else f"{layer} may not include generated \"{header}\""
    used = header.split("/")[0]
    if used not in layers.MAY_USE or "/" not in header or ".." in header:
        return f"write \"{header}\" relative to src/, as in \"{layer}/{os.path.basename(header)}\""
    if not layers.may_use(layer, used):
        allowed = ", ".join(sorted(layers.MAY_USE[layer])) or "no other layer"
        return (f"{layer} may not include \"{header}\" of {used} (it may use: {allowed}); "
                f"pass the value in, or move the code up to a layer that sees both")
    return None


def _system_fault(layer, header):
    limit = layers.LIMITED_HEADERS.get(layer)
    if limit is not None:
        if header in limit:
            return None
        return f"{layer} may not include <{header}>; do this in io/ or above and pass the result in"
    allowed = layers.third_party_layers(header)
    if allowed is not None:
        if layer in allowed:
            return None
        return f"<{header}> belongs to {', '.join(sorted(allowed))}; call what they offer instead"
    if layers.is_system_header(header):
        return None
    return f"<{header}> is a new dependency; decide on it, then list it in tools/lint/layers.py"


def _own_header_first(name, text, found, names):
    """A header that always comes first somewhere cannot lean on what others included before it."""
    own = name[:-2] + ".h"
    if not name.endswith(".c") or own not in names:
        return []
    wanted = own[len("src/"):]
    if found and found[0].group(1) == wanted:
        return []
    line = tree.line_at(text, found[0].start(0)) if found else 1
    return [gate.problem(name, line, f"include \"{wanted}\" first, before all others")]


def main(argv):
    args = gate.parser(__doc__, "root").parse_args(argv)
    return gate.finish(check, args.root)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))

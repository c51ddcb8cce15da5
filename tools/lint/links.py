"""Gate: no layer calls into a layer it may not use, whatever its includes say.

usage: links.py BUILDDIR

Reads the symbols of the layer archives, so a hand-written `extern` is seen as well.
"""

import sys

import gate
import layers
import objects


def check(build):
    archives = objects.load(build)
    owners = owners_of(archives)
    problems = []
    for members in archives.values():
        for member in members:
            for symbol in sorted(member.undefined):
                used = owners.get(symbol, set())
                if used and not any(layers.may_use(member.layer, other) for other in used):
                    problems.append(_problem(member, symbol, "/".join(sorted(used))))
    return problems


def owners_of(archives):
    """Symbol -> the layers that define it."""
    owners = {}
    for layer, members in archives.items():
        for member in members:
            for symbol in member.defined:
                owners.setdefault(symbol, set()).add(layer)
    return owners


def _problem(member, symbol, owner):
    return gate.problem(
        member.source, member.line_of(symbol),
        f"{member.layer} uses {symbol} of {owner}, which it may not see; "
        f"take a value or a function pointer as an argument instead")


def main(argv):
    args = gate.parser(__doc__, "build").parse_args(argv)
    return gate.finish(check, args.build)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))

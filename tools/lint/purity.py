"""Gate: the core is pure: no clock, no I/O, no heap, no chance, no writable data.

usage: purity.py BUILDDIR

Judges object files, where nothing can hide: the objects of core and every object of base that
they pull in. What these leave undefined must be on the list of pure calls below.
"""

import re
import sys

import gate
import links
import objects

MATH = {
    "cbrt", "ceil", "copysign", "exp", "exp2", "expm1", "fabs", "fdim", "floor", "fma", "fmax",
    "fmin", "fmod", "frexp", "hypot", "ldexp", "llrint", "llround", "log", "log10", "log1p",
    "log2", "logf", "lrint", "lround", "modf", "nearbyint", "nextafter", "pow", "powf", "rint",
    "round", "scalbn", "sqrt", "trunc",
}
BYTES = {
    "memchr", "memcmp", "memcpy", "memmem", "memmove", "memrchr", "memset", "strchr", "strcmp",
    "strcspn", "strlen", "strncmp", "strnlen", "strpbrk", "strrchr", "strspn", "strstr",
    "bcmp",  # what clang makes of `memcmp(...) == 0`
}
# Formatting into the caller's buffer, and giving up on a broken invariant.
TOLERATED = {"vsnprintf", "snprintf", "abort", "__assert_fail"}
COMPILER = {"__stack_chk_fail", "__stack_chk_guard", "_GLOBAL_OFFSET_TABLE_"}
CORE_CALLS = MATH | BYTES | TOLERATED | COMPILER
# base parses numbers for everybody; with errno cleared before and no setlocale() in the program
# these depend on nothing but their arguments.
BASE_CALLS = CORE_CALLS | {"strtod", "strtol", "strtoll", "strtoul", "strtoull", "__errno_location"}
ALLOWED = {"core": CORE_CALLS, "base": BASE_CALLS}

# base's end of the line for broken invariants: it prints and aborts, so nothing pure follows it.
LAST_WORDS = {"panic"}

# libgcc's and compiler-rt's arithmetic: __udivti3, __muloti4, __popcountdi2, __floattidf ...
ARITHMETIC = re.compile(r"^__[a-z]+(?:[sdt][if]|[sdt]f[sdt]i)[0-9]?$")
# libc renames calls (__memcpy_chk when fortified, __isoc23_strtol); they are as pure as before.
RENAMED = re.compile(r"^__(?:(\w+)_chk|isoc\d+_(\w+))$")

ADVICE = (
    (re.compile(r"malloc|calloc|realloc|free$|aligned_alloc|posix_memalign|strn?dup|asprintf"),
     "the heap: carve it from the arena that the caller passes in"),
    (re.compile(r"time|clock|sleep"),
     "the clock: take now_ms as an argument"),
    (re.compile(r"rand|entropy"),
     "chance: keep the generator's state in struct core"),
    (re.compile(r"qsort"),
     "libc's sort: it allocates, and its order of equals differs; use base's sort"),
    (re.compile(r"errno|locale|ctype|environ|getenv"),
     "hidden process state: take it as an argument"),
)
OTHER_ADVICE = ("not a pure call: put it in the plan and let the shell do it "
                "(or, if it is pure, list it in tools/lint/purity.py)")


def check(build):
    archives = objects.load(build)
    if "core" not in archives:
        raise gate.Skip("core has no archive yet")
    if any(member.instrumented for member in archives["core"]):
        raise gate.Skip("sanitized and coverage builds add calls and data of their own")
    owners = links.owners_of(archives)
    problems = []
    for member, chain in _closure(archives):
        for symbol in sorted(member.undefined):
            # Another layer's symbol is the business of links.py, base's is in the closure.
            if symbol not in owners and not is_pure(member.layer, symbol):
                problems.append(_impure(member, symbol, chain))
        for symbol in sorted(member.writable):
            problems.append(_writable(member, symbol, chain))
    return problems


def is_pure(layer, symbol):
    renamed = RENAMED.match(symbol)
    names = {symbol} | set(renamed.groups() if renamed else ())
    return bool(names & ALLOWED[layer] or ARITHMETIC.match(symbol))


def _closure(archives):
    """The members of core and, through their calls, of base; each with the chain that led there."""
    base = {symbol: member for member in archives.get("base", []) for symbol in member.defined}
    reached = {member: () for member in archives["core"]}
    queue = list(reached)
    for member in queue:  # grows while we walk
        for symbol in sorted((member.undefined & base.keys()) - LAST_WORDS):
            if base[symbol] not in reached:
                reached[base[symbol]] = reached[member] + ((member.source, symbol),)
                queue.append(base[symbol])
    return reached.items()


def _reached_by(chain):
    return "" if not chain else ", reached from " + " -> ".join(f"{s} ({c})" for s, c in chain)


def _impure(member, symbol, chain):
    advice = next((text for pattern, text in ADVICE if pattern.search(symbol)), OTHER_ADVICE)
    return gate.problem(member.source, member.line_of(symbol),
                        f"uses {symbol}{_reached_by(chain)}; {advice}")


def _writable(member, symbol, chain):
    return gate.problem(member.source, member.line_of(symbol),
                        f"{symbol} is writable data{_reached_by(chain)}; "
                        f"make it const, or part of a struct that the caller passes in")


def main(argv):
    args = gate.parser(__doc__, "build").parse_args(argv)
    return gate.finish(check, args.build)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))

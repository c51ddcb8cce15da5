"""Removes the names of our own functions from a program for a Mac (zig's -s leaves them), for size.

What dyld reads is not touched: the imports are in the instructions for binding, which have names of
their own. A signed program is left as it is, because the signature covers the names; the linker
signs programs for arm64 only.
"""

import struct

import cache

SEGMENT, SYMTAB, DYSYMTAB, CODE_SIGNATURE = 0x19, 2, 0xB, 0x1D
IS_LOCAL = 0x80000000  # of an indirect symbol: it has no name
PAGE = 4096


def strip(path):
    content = bytearray(path.read_bytes())
    commands = _commands(content)
    if CODE_SIGNATURE in commands:
        return
    new = _stripped(content, commands, path)
    if new != content:
        path.write_bytes(new)  # keeps the mode


def _commands(content):
    """Kind -> where the load command begins. Of the segments, only __LINKEDIT."""
    found, at = {}, 32
    for _ in range(struct.unpack_from("<I", content, 16)[0]):
        kind, size = struct.unpack_from("<II", content, at)
        if kind != SEGMENT or content[at + 8:at + 24].rstrip(b"\0") == b"__LINKEDIT":
            found[kind] = at
        at += size
    return found


def _stripped(content, commands, path):
    """The program with undefined symbols only. The linker writes the symbols, the indirect symbols
    and the strings at the end, in this order."""
    segment, symtab, dysymtab = (commands[kind] + 8 for kind in (SEGMENT, SYMTAB, DYSYMTAB))
    symbols, _, strings, size = struct.unpack_from("<4I", content, symtab)
    first, count = struct.unpack_from("<II", content, dysymtab + 16)
    indirect, indirect_count = struct.unpack_from("<II", content, dysymtab + 48)
    start, length = struct.unpack_from("<QQ", content, segment + 32)
    if not symbols < indirect < strings or {strings + size, start + length} != {len(content)}:
        raise cache.Trouble(f"{path}: the linker did not write the symbols at the end; see "
                            "macho_strip.py")
    rows, names = b"", b"\0"
    for i in range(first, first + count):
        row = struct.unpack_from("<IBBHQ", content, symbols + 16 * i)
        name = content[strings + row[0]:content.index(b"\0", strings + row[0]) + 1]
        rows += struct.pack("<IBBHQ", len(names), *row[1:])
        names += name
    names += bytes(-len(names) % 8)
    places = b"".join(
        struct.pack("<I", i - first if first <= i < first + count else IS_LOCAL)
        for i in struct.unpack_from(f"<{indirect_count}I", content, indirect))
    made = content[:symbols] + rows + places + names
    struct.pack_into("<4I", made, symtab, symbols, count, len(made) - len(names), len(names))
    struct.pack_into("<6I", made, dysymtab, 0, 0, 0, 0, 0, count)
    struct.pack_into("<I", made, dysymtab + 48, symbols + len(rows))
    length = len(made) - start
    struct.pack_into("<Q", made, segment + 24, -(-length // PAGE) * PAGE)
    struct.pack_into("<Q", made, segment + 40, length)
    return made

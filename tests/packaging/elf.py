"""Just enough of an ELF file (64 bits, little endian) to judge how a program was linked."""

import struct

MACHINES = {62: "x86_64", 183: "aarch64"}
SHARED_OBJECT = 3  # what a position-independent program is, too

LOAD, DYNAMIC, INTERPRETER = 1, 2, 3
STACK, RELRO = 0x6474E551, 0x6474E552
EXECUTE, WRITE = 1, 2

NEEDED, RPATH, TEXTREL, FLAGS, RUNPATH, FLAGS_1 = 1, 15, 22, 30, 29, 0x6FFFFFFB
BIND_NOW, NOW, PIE = 8, 1, 0x08000000


class Segment:
    """One row of the program headers."""

    def __init__(self, row):
        (self.kind, self.flags, self.offset, self.address, _, self.file_size, self.memory_size,
         self.align) = row

    def may(self, flag):
        return bool(self.flags & flag)


class Elf:
    """The header, the segments, the dynamic section and the names of sections."""

    def __init__(self, path):
        with open(path, "rb") as stream:
            self.bytes = stream.read()
        assert self.bytes[:6] == b"\x7fELF\x02\x01", f"{path} is no 64-bit little-endian ELF file"
        (self.kind, machine, _, _, segments, sections, _, _, size, count, section_size,
         section_count, names) = struct.unpack_from("<HHIQQQIHHHHHH", self.bytes, 16)
        self.machine = MACHINES.get(machine, machine)
        self.segments = [Segment(struct.unpack_from("<IIQQQQQQ", self.bytes, segments + i * size))
                         for i in range(count)]
        rows = [struct.unpack_from("<IIQQQQ", self.bytes, sections + i * section_size)
                for i in range(section_count)]
        self.sections = {self._text(rows[names][4] + row[0]): row for row in rows}
        self.dynamic = self._dynamic()

    def _text(self, offset):
        return self.bytes[offset:self.bytes.index(b"\0", offset)].decode()

    def _dynamic(self):
        """Tag -> its values."""
        values = {}
        for segment in self.of_kind(DYNAMIC):
            for at in range(segment.offset, segment.offset + segment.file_size, 16):
                tag, value = struct.unpack_from("<QQ", self.bytes, at)
                values.setdefault(tag, []).append(value)
        return values

    def of_kind(self, kind):
        return [segment for segment in self.segments if segment.kind == kind]

    def section(self, name):
        _, _, _, _, offset, size = self.sections[name]
        return self.bytes[offset:offset + size]

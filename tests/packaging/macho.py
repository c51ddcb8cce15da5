"""Just enough of a Mach-O file (64 bits, little endian) to judge how a program for a Mac was linked
and signed."""

import hashlib
import struct

CPUS = {0x01000007: "x86_64", 0x0100000C: "aarch64"}
EXECUTE, PIE = 2, 0x200000
SYMTAB, DYSYMTAB, LOAD_DYLIB, CODE_SIGNATURE, BUILD_VERSION = 2, 0xB, 0xC, 0x1D, 0x32
SUPER_BLOB, CODE_DIRECTORY = 0xFADE0CC0, 0xFADE0C02
AD_HOC, SHA256 = 2, 2
MACOS = 1


def archived(path):
    """The names that a static library defines: the strings of its first member, which is the
    index."""
    with open(path, "rb") as stream:
        size = int(stream.read(68)[56:66])
        return {name.decode(errors="replace") for name in stream.read(size).split(b"\0")}


class MachO:
    """The header and the load commands that say what the program needs."""

    def __init__(self, path):
        with open(path, "rb") as stream:
            self.bytes = stream.read()
        magic, cpu, _, self.kind, count, _, self.flags = struct.unpack_from("<7I", self.bytes)
        assert magic == 0xFEEDFACF, f"{path} is no 64-bit Mach-O file"
        self.cpu = CPUS.get(cpu, cpu)
        self.libraries, self.signature, self.oldest, self.platform = [], None, None, None
        self.symbols = 0
        self.imports, self.defined, self.names, self.indirect = set(), set(), [], []
        at = 32
        for _ in range(count):
            kind, size = struct.unpack_from("<II", self.bytes, at)
            self._read(kind & 0x7FFFFFFF, at, size)
            at += size
        self.commands_end = at

    def _read(self, kind, at, size):
        if kind == LOAD_DYLIB:
            (name,) = struct.unpack_from("<I", self.bytes, at + 8)
            self.libraries.append(self.bytes[at + name:at + size].split(b"\0")[0].decode())
        elif kind == SYMTAB:
            self.symbols, count, strings, _ = struct.unpack_from("<4I", self.bytes, at + 8)
            for i in range(count):
                name, of_kind = struct.unpack_from("<IB", self.bytes, self.symbols + 16 * i)
                place = strings + name
                word = self.bytes[place:self.bytes.index(b"\0", place)].decode()
                # External and undefined: the C library has it.
                (self.imports if of_kind & 0xF == 1 else self.defined).add(word)
                self.names.append(word)
        elif kind == DYSYMTAB:  # comes after SYMTAB
            indirect, count = struct.unpack_from("<II", self.bytes, at + 56)
            self.indirect = [self.names[i] if i < len(self.names) else None for i in
                             struct.unpack_from(f"<{count}I", self.bytes, indirect)]
        elif kind == CODE_SIGNATURE:
            self.signature = struct.unpack_from("<II", self.bytes, at + 8)
        elif kind == BUILD_VERSION:
            self.platform, oldest = struct.unpack_from("<II", self.bytes, at + 8)
            self.oldest = f"{oldest >> 16}.{oldest >> 8 & 0xFF}"

    def code_directory(self):
        """The code directory of the signature."""
        offset, size = self.signature
        blob = self.bytes[offset:offset + size]
        magic, _, count = struct.unpack_from(">III", blob)
        assert magic == SUPER_BLOB
        for i in range(count):
            _, start = struct.unpack_from(">II", blob, 12 + 8 * i)
            if struct.unpack_from(">I", blob, start)[0] == CODE_DIRECTORY:
                return blob[start:]
        raise AssertionError("the signature has no code directory")

    def is_ad_hoc(self):
        return bool(struct.unpack_from(">I", self.code_directory(), 12)[0] & AD_HOC)

    def wrong_pages(self):
        """The pages of the file whose hash is not the one in the signature; macOS kills a program
        that has one."""
        directory = self.code_directory()
        hashes, _, _, count, limit = struct.unpack_from(">5I", directory, 16)
        hash_size, hash_kind, _, page_bits = struct.unpack_from("4B", directory, 36)
        assert (hash_kind, hash_size) == (SHA256, 32)
        assert limit == self.signature[0], "the signature does not cover the whole file"
        page = 1 << page_bits
        assert count == -(-limit // page)
        return [i for i in range(count)
                if hashlib.sha256(self.bytes[i * page:min((i + 1) * page, limit)]).digest()
                != directory[hashes + 32 * i:hashes + 32 * (i + 1)]]

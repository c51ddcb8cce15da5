"""What the compiler made of the tree: layer archives, their symbols, and the compile commands."""

import json
import os
import re
import shlex
import subprocess

import gate
import layers
import tree

# objdump -t: value, seven flag characters, section, size, perhaps a visibility, name.
SYMBOL = re.compile(r"^[0-9a-f]+ (.{7}) (\S+)\t[0-9a-f]+ +(?:\.\w+ +|0x\w+ +)?(\S+)$")
MEMBER = re.compile(r"^(.+):\s+file format ")

# Symbols that only instrumented objects have.
INSTRUMENTED = re.compile(r"^__(asan|ubsan|tsan|msan|hwasan|lsan|sanitizer|gcov|llvm_prof)"
                          r"|^(__)?llvm_gcov|^__sancov|^__start___sanc")
LTO = "__gnu_lto_slim"  # the object holds the compiler's notes, its symbols come at link time


class Member:
    """One object file of a layer's archive."""

    def __init__(self, layer, name):
        self.layer = layer
        self.name = name
        self.source = f"src/{layer}/{name}"  # bettered by compile_commands.json
        self.source_file = None
        self.defined = set()  # global names only
        self.undefined = set()
        self.writable = set()
        self.instrumented = False

    def line_of(self, symbol):
        """The source line that names the symbol: objects themselves remember none."""
        if not self.source_file or not os.path.isfile(self.source_file):
            return 1
        text = tree.read(os.path.dirname(self.source_file), os.path.basename(self.source_file))
        # A static `count` of function f is count.0 to gcc and f.count to clang.
        words = [word for word in symbol.split(".") if not word.isdigit()]
        return tree.line_of_word(text or "", words[-1])


class Command:
    """One entry of compile_commands.json whose source lies in a layer."""

    def __init__(self, entry):
        self.directory = entry["directory"]
        self.args = entry.get("arguments") or shlex.split(entry["command"])
        self.output = entry.get("output", "")
        self.file = os.path.normpath(os.path.join(self.directory, entry["file"]))
        self.source = _project_path(self.file)
        self.layer = layers.layer_of(self.source) if self.source else None


def _project_path(path):
    """src/... of an absolute path; the tree itself may well lie below another src folder."""
    found = re.search(r".*/(src/(?:" + "|".join(layers.MAY_USE) + r")/.*)$", path)
    return found.group(1) if found else None


def commands(build):
    """The compile commands of every C source that lies in a layer."""
    path = os.path.join(build, "compile_commands.json")
    if not os.path.isfile(path):
        raise gate.Usage(f"{path} is missing: give a Meson build folder (meson setup BUILDDIR)")
    with open(path, encoding="utf-8") as stream:
        entries = [Command(entry) for entry in json.load(stream)]
    return [entry for entry in entries if entry.layer and entry.source.endswith(".c")]


def archive_path(build, layer):
    return os.path.join(build, "src", layer, f"lib{layer}.a")


def load(build):
    """Layer -> its members, for each layer that has an archive."""
    sources = {(c.layer, os.path.basename(c.output)): c for c in commands(build)}
    loaded = {}
    for layer in layers.MAY_USE:
        if os.path.isfile(archive_path(build, layer)):
            loaded[layer] = _read_archive(archive_path(build, layer), layer)
    _demand_archives(build, loaded, {layer for layer, _ in sources})
    for members in loaded.values():
        for member in members:
            command = sources.get((member.layer, member.name))
            if command:
                member.source, member.source_file = command.source, command.file
    return loaded


def _demand_archives(build, loaded, with_sources):
    """A gate that finds no objects must not look like a gate that found no fault."""
    # cli is where main() lives: its objects may go straight into the program.
    missing = sorted(with_sources - set(loaded) - {"cli"})
    if missing or not loaded:
        wanted = archive_path(build, missing[0] if missing else "core")
        raise gate.Usage(f"{wanted} is missing: build first (ninja -C {build})")


def _read_archive(path, layer):
    """objdump follows thin archives too, and tells .data.rel.ro from .data, which nm does not."""
    dump = subprocess.run(["objdump", "-t", path], capture_output=True, text=True, check=False,
                          env={**os.environ, "LC_ALL": "C"})
    if dump.returncode != 0:
        raise gate.Usage(f"objdump cannot read {path}: {dump.stderr.strip()}")
    members = []
    for line in dump.stdout.splitlines():
        head, row = MEMBER.match(line), SYMBOL.match(line)
        if head:
            members.append(Member(layer, os.path.basename(head.group(1))))
        elif row and members:
            _add_symbol(members[-1], *row.groups())
    return members


def _add_symbol(member, flags, section, name):
    if name == LTO:
        raise gate.Skip("link-time optimisation leaves no symbols in the objects")
    if INSTRUMENTED.match(name):
        member.instrumented = True
    if flags[5] in "dD" or flags[6] == "f":  # section and file names, not symbols of the program
        return
    if section == "*UND*":
        member.undefined.add(name)
        return
    if flags[0] != "l":
        member.defined.add(name)
    if is_writable(section):
        member.writable.add(name)


def is_writable(section):
    """Constant tables of pointers lie in .data.rel.ro: the loader writes them once, we never."""
    if section.startswith(".data.rel.ro"):
        return False
    return section == "*COM*" or section.startswith((".data", ".bss", ".tdata", ".tbss", ".lbss",
                                                     ".ldata", ".sdata", ".sbss"))

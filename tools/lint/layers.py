"""The one table of layers: who may include, link and lean on what. Every gate reads it from here.

To add a layer or a library, change this file and say why in docs/decisions/.
"""

# Layer -> the other layers it may include and call. Order is bottom up.
MAY_USE = {
    "base": set(),
    "core": {"base"},
    "config": {"base", "core"},
    "io": {"base"},
    "store": {"base", "core", "io"},
    "provider": {"base", "core", "io"},
    "remote": {"base", "io"},
    "ray": {"base", "core", "io"},
    "app": {"base", "core", "config", "io", "store", "provider", "remote", "ray"},
    "sim": {"base", "core"},
}
MAY_USE["cli"] = set(MAY_USE)

# Headers that neither touch the outside world nor allocate: all that the pure core may see.
PURE_HEADERS = {
    "assert.h", "float.h", "inttypes.h", "limits.h", "math.h", "stdalign.h", "stdarg.h",
    "stdbool.h", "stddef.h", "stdint.h", "stdnoreturn.h", "string.h",
}

# base adds memory and formatting, still no files, no clock, no processes.
BASE_HEADERS = PURE_HEADERS | {
    "ctype.h", "errno.h", "stdio.h", "stdlib.h", "strings.h", "sys/types.h",
}

# The layers above may use all of libc and the system; a name that is neither here nor in
# THIRD_PARTY is a new dependency, and those are decided, not slipped in.
SYSTEM_HEADERS = BASE_HEADERS | {
    "dirent.h", "dlfcn.h", "elf.h", "endian.h", "fcntl.h", "fnmatch.h", "ftw.h", "getopt.h",
    "glob.h", "grp.h", "ifaddrs.h", "langinfo.h", "libgen.h", "locale.h", "netdb.h", "poll.h",
    "pthread.h", "pwd.h", "regex.h", "sched.h", "signal.h", "spawn.h", "stdatomic.h", "syslog.h",
    "termios.h", "time.h", "unistd.h", "utime.h", "wchar.h",
}
# libproc.h and mach-o/ are of macOS.
SYSTEM_HEADERS.add("libproc.h")
SYSTEM_HEADER_FOLDERS = ("arpa/", "linux/", "mach-o/", "net/", "netinet/", "sys/")

# Bans calls of the whole system, so it has to see their declarations.
UNLIMITED_FILES = {"src/base/banned.h"}
LIMITED_HEADERS = {"base": BASE_HEADERS, "core": PURE_HEADERS}

# Header, or header folder with its slash -> the layers that wrap that library for the rest.
THIRD_PARTY = {
    "curl/": {"io"},
    "expat.h": {"io", "provider"},
    "jansson.h": {"config", "io", "store", "provider", "remote", "ray", "app", "cli"},
    "openssl/": {"config", "io", "provider", "remote"},
    "protobuf-c/": {"io", "ray"},
    "sqlite3.h": {"store"},
    "uv.h": {"io"},
    "yaml.h": {"config"},
}

# Headers made at build time, by suffix -> the layers that may include them.
GENERATED = {".pb-c.h": {"ray"}}


def layer_of(path):
    """The layer of a path such as src/provider/ec2/call.c, or None outside the layers."""
    parts = path.split("/")
    if len(parts) >= 3 and parts[0] == "src" and parts[1] in MAY_USE:
        return parts[1]
    return None


def may_use(user, used):
    return user == used or used in MAY_USE[user]


def third_party_layers(header):
    """The layers that may include this library header; None if the library is not known."""
    for prefix, allowed in THIRD_PARTY.items():
        if header == prefix or (prefix.endswith("/") and header.startswith(prefix)):
            return allowed
    return None


def is_system_header(header):
    return header in SYSTEM_HEADERS or header.startswith(SYSTEM_HEADER_FOLDERS)

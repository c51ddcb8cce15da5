"""The libraries that the program is linked with: a row each, and one function per way of building.

To add one: its files in sources.tsv, a row here. It is built once meson.build asks for it, by
dependency() of one of its packages. The key of a library covers its row, its sources,
the libraries it needs, the compiler and the function that builds it; nothing else is built anew.
"""

import dataclasses
import inspect
import os
import re
import shutil
import time

import cache
import sources
import zig


@dataclasses.dataclass(frozen=True)
class Library:
    """`packages` is what pkg-config will know: name -> (link flags, names it requires), and
    perhaps a flag for compiling."""

    name: str
    how: str  # a row of WAYS
    packages: dict
    options: tuple = ()
    needs: tuple = ()


OPENSSL_OFF = """
    shared tests apps docs legacy engine dso module ui-console autoload-config comp ssl3 dtls quic
    srp srtp ct cmp cms ts rfc3779 sm2 sm3 sm4 aria camellia bf cast des idea rc2 rc4 seed
    whirlpool md4 rmd160 mdc2 ec2m gost siv ocb scrypt dsa ml-dsa slh-dsa http filenames
""".split()

CURL_OFF = """
    ENABLE_ARES USE_LIBIDN2 CURL_USE_LIBPSL CURL_USE_LIBSSH2 CURL_BROTLI CURL_ZSTD BUILD_CURL_EXE
    BUILD_LIBCURL_DOCS BUILD_MISC_DOCS ENABLE_CURL_MANUAL BUILD_TESTING BUILD_EXAMPLES
""".split()

# We sign, redirect and remember by ourselves, or not at all.
CURL_DISABLED = "NTLM ALTSVC HSTS DOH NETRC COOKIES AWS".split()

LIBRARIES = (
    Library("zlib", "zlib", {"zlib": ("-lz", "")}),
    Library("openssl", "openssl",
            {"libcrypto": ("-lcrypto", ""), "libssl": ("-lssl", "libcrypto"),
             "openssl": ("", "libssl libcrypto")},
            tuple(f"no-{name}" for name in OPENSSL_OFF)),
    Library("nghttp2", "cmake", {"libnghttp2": ("-lnghttp2", "")},
            ("-DENABLE_LIB_ONLY=ON", "-DBUILD_STATIC_LIBS=ON", "-DENABLE_DOC=OFF",
             "-DBUILD_TESTING=OFF")),
    # No place of certificates is built in: the program looks for the system's when it runs.
    Library("curl", "cmake", {"libcurl": ("-lcurl", "libnghttp2 libssl libcrypto zlib")},
            ("-DCURL_USE_OPENSSL=ON", "-DHTTP_ONLY=ON", "-DUSE_NGHTTP2=ON", "-DCURL_ZLIB=ON",
             "-DCURL_CA_BUNDLE=none", "-DCURL_CA_PATH=none", "-DCURL_USE_PKGCONFIG=OFF")
            + tuple(f"-D{name}=OFF" for name in CURL_OFF)
            + tuple(f"-DCURL_DISABLE_{name}=ON" for name in CURL_DISABLED),
            needs=("zlib", "openssl", "nghttp2")),
    Library("libuv", "cmake", {"libuv": ("-luv -lpthread", "")},
            ("-DLIBUV_BUILD_SHARED=OFF", "-DLIBUV_BUILD_TESTS=OFF", "-DLIBUV_BUILD_BENCH=OFF")),
    Library("libyaml", "cmake", {"yaml-0.1": ("-lyaml", "")}, ("-DBUILD_TESTING=OFF",)),
    # One folder down, and only the parser: no tools, no documents.
    Library("expat", "cmake", {"expat": ("-lexpat -lm", "")},
            ("-DEXPAT_BUILD_TOOLS=OFF", "-DEXPAT_BUILD_EXAMPLES=OFF", "-DEXPAT_BUILD_TESTS=OFF",
             "-DEXPAT_BUILD_DOCS=OFF", "-DEXPAT_SHARED_LIBS=OFF")),
    Library("jansson", "cmake", {"jansson": ("-ljansson", "")},
            ("-DJANSSON_BUILD_DOCS=OFF", "-DJANSSON_WITHOUT_TESTS=ON", "-DJANSSON_EXAMPLES=OFF")),
    Library("sqlite", "sqlite", {"sqlite3": ("-lsqlite3 -lm", "")},
            # For size: the journal is small, and what takes time is writing it to the disk.
            ("-Os", "-fno-unwind-tables", "-fno-asynchronous-unwind-tables",
             "-DSQLITE_THREADSAFE=1", "-DSQLITE_DEFAULT_MEMSTATUS=0", "-DHAVE_FDATASYNC=1",
             "-DHAVE_USLEEP=1",
             # What no statement of ours uses; none of these changes the grammar.
             *(f"-DSQLITE_OMIT_{name}" for name in (
                 "AUTHORIZATION", "COMPILEOPTION_DIAGS", "COMPLETE",
                 "DATETIME_FUNCS", "DECLTYPE", "DEPRECATED", "DESERIALIZE", "GET_TABLE", "INCRBLOB",
                 "JSON", "LOAD_EXTENSION", "PROGRESS_CALLBACK", "SHARED_CACHE", "TCL_VARIABLE",
                 "TRACE", "UTF16")))),
    # The version of Debian 12, whose generator of code checks that both are the same.
    Library("protobuf-c", "files", {"libprotobuf-c": ("-lprotobuf-c", "")},
            ("protobuf-c/protobuf-c.c", "protobuf-c/protobuf-c.h")),
    # For the tests only. It would define uintptr_t itself where it does not know the C library.
    Library("cmocka", "cmake", {"cmocka": ("-lcmocka-static", "", "-D_UINTPTR_T")},
            ("-DWITH_EXAMPLES=OFF", "-DUNIT_TESTING=OFF", "-DWITH_STATIC_LIB=ON",
             "-DBUILD_STATIC_LIB=ON",
             f"-DCMAKE_C_FLAGS={' '.join(zig.LIBRARY_FLAGS)} -D_UINTPTR_T")),
)

BY_NAME = {library.name: library for library in LIBRARIES}

PROGRAM = ("meson.build", "src/*/meson.build")
TESTS = ("tests/meson.build", "tests/unit/meson.build")


def asked_for(meson_files):
    """The libraries behind every dependency() of these files, in the order of the table."""
    text = "".join(path.read_text(encoding="utf-8") for pattern in meson_files
                   for path in cache.ROOT.glob(pattern))
    names = set(re.findall(r"dependency\('([^']+)'", text))
    wanted = {library.name for library in LIBRARIES if names & set(library.packages)}
    for library in reversed(LIBRARIES):
        if library.name in wanted:
            wanted |= set(library.needs)
    return [library for library in LIBRARIES if library.name in wanted]


def put(source, target):
    target.parent.mkdir(parents=True, exist_ok=True)
    shutil.copyfile(source, target)


# ---- ways of building: each installs PREFIX below `site.stage`, as packagers do ----

# A name that is nobody's: a build system that ignores DESTDIR must not reach the machine's own
# libraries. It is what gets into objects, and it is the same everywhere.
PREFIX = "/shoal-portable"


@dataclasses.dataclass(frozen=True)
class Site:
    """Where and for whom a library is being built."""

    arch: str
    folder: object
    env: dict
    jobs: int
    needs: tuple  # the prefixes of the libraries it needs

    @property
    def stage(self):
        return self.folder / "stage"

    @property
    def root(self):
        return self.folder / "stage" / PREFIX.lstrip("/")

    def run(self, *command, cwd):
        cache.run(command, cwd=cwd, env={**self.env, "DESTDIR": str(self.stage)},
                  log=self.folder / "log")


def cmake(library, tree, site):
    if not (tree / "CMakeLists.txt").exists():
        (tree,) = (path.parent for path in tree.glob(f"{library.name}/CMakeLists.txt"))
    roots = ";".join(str(path) for path in site.needs)
    tools = {tool: shutil.which(f"zig-{tool}", path=site.env["PATH"]) for tool in ("ar", "ranlib")}
    build = site.folder / "build"
    site.run("cmake", "-G", "Ninja", "-S", tree, "-B", build, "-DCMAKE_SYSTEM_NAME=Linux",
             f"-DCMAKE_SYSTEM_PROCESSOR={site.arch}",
             f"-DCMAKE_C_COMPILER={zig.compiler(site.arch)}",
             f"-DCMAKE_AR={tools['ar']}", f"-DCMAKE_RANLIB={tools['ranlib']}",
             "-DCMAKE_BUILD_TYPE=None", f"-DCMAKE_C_FLAGS={' '.join(zig.LIBRARY_FLAGS)}",
             "-DBUILD_SHARED_LIBS=OFF", "-DCMAKE_SKIP_INSTALL_RPATH=ON",
             f"-DCMAKE_INSTALL_PREFIX={PREFIX}", "-DCMAKE_INSTALL_LIBDIR=lib",
             f"-DCMAKE_FIND_ROOT_PATH={roots or '/nowhere'}",
             "-DCMAKE_FIND_ROOT_PATH_MODE_PROGRAM=NEVER",
             *(f"-DCMAKE_FIND_ROOT_PATH_MODE_{kind}=ONLY"
               for kind in ("LIBRARY", "INCLUDE", "PACKAGE")),
             *library.options, cwd=site.folder)
    site.run("ninja", "-C", build, f"-j{site.jobs}", cwd=site.folder)
    site.run("cmake", "--install", build, cwd=site.folder)


def openssl(library, tree, site):
    site.run("perl", "Configure", f"linux-{site.arch}", f"--prefix={PREFIX}", "--libdir=lib",
             "--openssldir=/etc/ssl", *library.options, f"CC={zig.compiler(site.arch)}",
             "AR=zig-ar", "RANLIB=zig-ranlib", f"CFLAGS={' '.join(zig.LIBRARY_FLAGS)}", cwd=tree)
    site.run("make", f"-j{site.jobs}", "build_libs", cwd=tree)
    # Its Makefile sets DESTDIR to nothing, whatever the environment says.
    site.run("make", "install_dev", f"DESTDIR={site.stage}", cwd=tree)


def zlib(_library, tree, site):
    """Its own configure: its CMake cannot leave the shared library and the examples out."""
    env = {**site.env, "CC": zig.compiler(site.arch), "AR": "zig-ar", "RANLIB": "zig-ranlib",
           "CFLAGS": " ".join(zig.LIBRARY_FLAGS), "uname": "Linux"}
    site = dataclasses.replace(site, env=env)
    site.run("sh", "./configure", "--static", f"--prefix={PREFIX}", cwd=tree)
    site.run("make", f"-j{site.jobs}", "libz.a", cwd=tree)
    for name, folder in (("zlib.h", "include"), ("zconf.h", "include"), ("libz.a", "lib")):
        put(tree / name, site.root / folder / name)


def files(library, tree, site):
    """A library that is a file or two: the options name its sources and its headers."""
    sources_of_it = [name for name in library.options if name.endswith(".c")]
    objects = [site.folder / f"{index}.o" for index in range(len(sources_of_it))]
    for name, made in zip(sources_of_it, objects):
        site.run(zig.compiler(site.arch), *zig.LIBRARY_FLAGS, f"-I{tree}", "-c", tree / name,
                 "-o", made, cwd=tree)
    archive(site, f"lib{library.name}.a", objects)
    for name in library.options:
        if name.endswith(".h"):
            put(tree / name, site.root / "include" / name)


def sqlite(library, tree, site):
    """Debian has the separate files; one for all is made of them by the machine's own compiler."""
    made = site.folder / "sqlite3.o"
    host = dataclasses.replace(site, env={**site.env, "PATH": os.environ["PATH"]})
    host.run("sh", "./configure", "--disable-tcl", "CC=cc", cwd=tree)
    host.run("make", "sqlite3.c", cwd=tree)
    site.run(zig.compiler(site.arch), *zig.LIBRARY_FLAGS, *library.options, "-c",
             tree / "sqlite3.c", "-o", made, cwd=tree)
    archive(site, "libsqlite3.a", [made])
    put(tree / "sqlite3.h", site.root / "include" / "sqlite3.h")


def archive(site, name, objects):
    (site.root / "lib").mkdir(parents=True)
    site.run("zig-ar", "rcs", site.root / "lib" / name, *objects, cwd=site.folder)


# ---- the same for macOS ----


# zig's headers and names are those of the newest macOS. A call of a function that the oldest one
# lacks must not compile.
CMAKE_FOR_MACOS = ("-DCMAKE_SYSTEM_NAME=Darwin", "-DCMAKE_OSX_SYSROOT=",
                   "-DCMAKE_INSTALL_NAME_TOOL=true",
                   f"-DCMAKE_C_FLAGS={' '.join(zig.LIBRARY_FLAGS)} "
                   "-Werror=unguarded-availability-new")

# Functions that a library finds because it looks for the name alone (libcurl).
TOO_NEW = ("-DHAVE_PIPE2=0",)

# Without the frameworks of Apple, libcurl cannot ask for the proxies of the system. It did so only
# for networks that have no IPv4; variables such as https_proxy work.
WITHOUT_FRAMEWORKS = {
    "CMakeLists.txt": ("if(APPLE AND NOT ENABLE_ARES)", "if(FALSE)"),
    "lib/curl_setup.h": ("#    define CURL_MACOS_CALL_COPYPROXIES 1", ""),
}


def cmake_macos(library, tree, site):
    if library.name == "curl":
        for name, (old, new) in WITHOUT_FRAMEWORKS.items():
            text = (tree / name).read_text(encoding="utf-8")
            if text.count(old) != 1:
                raise cache.Trouble(f"curl's {name} does not have {old} once; see libraries.py")
            (tree / name).write_text(text.replace(old, new), encoding="utf-8")
    arm = {"aarch64": "arm64"}.get(zig.machine(site.arch), zig.machine(site.arch))
    more = (*CMAKE_FOR_MACOS, *TOO_NEW, f"-DCMAKE_SYSTEM_PROCESSOR={arm}")
    cmake(dataclasses.replace(library, options=more + library.options), tree, site)


def openssl_macos(library, tree, site):
    """Its target says -arch too, which zig does not need."""
    name = {"aarch64": "darwin64-arm64", "x86_64": "darwin64-x86_64"}[zig.machine(site.arch)]
    site.run("perl", "Configure", name, f"--prefix={PREFIX}", "--libdir=lib",
             "--openssldir=/etc/ssl", *library.options, f"CC={zig.compiler(site.arch)}",
             "AR=zig-ar", "RANLIB=zig-ranlib", f"CFLAGS={' '.join(zig.LIBRARY_FLAGS)}", cwd=tree)
    site.run("make", f"-j{site.jobs}", "build_libs", cwd=tree)
    site.run("make", "install_dev", f"DESTDIR={site.stage}", cwd=tree)


def sqlite_macos(library, tree, site):
    """macOS has fdatasync(), but no header declares it."""
    options = tuple(name for name in library.options if name != "-DHAVE_FDATASYNC=1")
    sqlite(dataclasses.replace(library, options=options), tree, site)


WAYS_MACOS = {"cmake": cmake_macos, "openssl": openssl_macos, "sqlite": sqlite_macos}
WAYS = {"cmake": cmake, "openssl": openssl, "zlib": zlib, "files": files, "sqlite": sqlite}

# Read now: the file may change while a build runs.
WAY_TEXTS = {way: inspect.getsource(way) for way in WAYS.values()}
WAY_TEXTS.update({way: inspect.getsource(way) + WAY_TEXTS[WAYS[name]]
                  for name, way in WAYS_MACOS.items()})
WAY_TEXTS[cmake_macos] += repr((CMAKE_FOR_MACOS, TOO_NEW, WITHOUT_FRAMEWORKS))


def way_of(library, arch):
    """The function that builds a library for an architecture."""
    return (zig.is_macos(arch) and WAYS_MACOS.get(library.how)) or WAYS[library.how]


# ---- one library ----


def key(library, arch):
    return cache.key_of(
        arch, zig.facts(arch), dataclasses.asdict(library),
        sources.table()[library.name], WAY_TEXTS[way_of(library, arch)],
        [key(BY_NAME[name], arch) for name in library.needs])


def prefix_of(library, arch):
    return cache.folder("built", arch, f"{library.name}-{key(library, arch)}")


def missing(arch):
    """The libraries that a build for this architecture would have to make first."""
    return [library for library in asked_for(PROGRAM) if not prefix_of(library, arch).exists()]


def build_all(arch, jobs, meson_files=PROGRAM):
    """Every library that these files ask for; their prefixes."""
    wanted = asked_for(meson_files)
    for library in wanted:  # the table lists a library behind those it needs
        _build(library, arch, jobs)
    return [prefix_of(library, arch) for library in wanted]


def _build(library, arch, jobs):
    target = prefix_of(library, arch)
    with cache.made_once(target) as fresh:
        if fresh is None:
            return
        began = time.monotonic()
        print(f"static: {library.name} {sources.version(library.name)} for {arch}", flush=True)
        work = cache.folder("work", f"{library.name}-{arch}")
        shutil.rmtree(work, ignore_errors=True)
        work.mkdir(parents=True)
        tree = sources.unpack(library.name, work)
        needs = tuple(prefix_of(BY_NAME[name], arch) for name in library.needs)
        site = Site(arch, work, {**zig.environment(work), "PKG_CONFIG_LIBDIR": "/nowhere"}, jobs,
                    needs)
        way_of(library, arch)(library, tree, site)
        shutil.copytree(site.root, fresh, dirs_exist_ok=True)
        _describe(library, fresh)
        _keep_licence(library, tree, fresh)
        shutil.rmtree(work)
        print(f"static: {library.name} took {time.monotonic() - began:.0f} s", flush=True)


def _describe(library, prefix):
    """Our own .pc files: some projects install none, others name libraries of this machine."""
    shutil.rmtree(prefix / "lib" / "pkgconfig", ignore_errors=True)
    (prefix / "lib" / "pkgconfig").mkdir(parents=True)
    for name, (flags, requires, *compiling) in library.packages.items():
        (prefix / "lib" / "pkgconfig" / f"{name}.pc").write_text(
            "prefix=${pcfiledir}/../..\n"
            f"Name: {name}\nDescription: {name}, static\nVersion: {sources.version(library.name)}\n"
            f"Requires: {requires}\n"
            f"Cflags: {' '.join(['-I${prefix}/include', *compiling])}\n"
            f"Libs: -L${{prefix}}/lib {flags}\n", encoding="ascii")


def _keep_licence(library, tree, prefix):
    """What we hand out has to carry the terms of what is in it."""
    put(tree / "debian" / "copyright", prefix / "share" / f"{library.name}.copyright")

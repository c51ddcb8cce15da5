"""qemu, for programs of the other architecture: installed, or unpacked from its Debian package."""

import shutil

import cache

NAME = "qemu-{}-static"


def find(arch):
    """The path of the emulator. Nothing is installed, so the kernel learns of no new format."""
    name = NAME.format(arch)
    found = shutil.which(name) or shutil.which(f"qemu-{arch}")
    if found:
        return found
    folder = cache.folder("qemu")
    with cache.made_once(folder) as fresh:
        if fresh is not None:
            cache.run(["apt-get", "-o", "APT::Sandbox::User=root", "download", "qemu-user-static"],
                      cwd=fresh)
            (deb,) = fresh.glob("*.deb")
            cache.run(["dpkg-deb", "-x", deb, fresh])
            deb.unlink()
    return str(folder / "usr" / "bin" / name)

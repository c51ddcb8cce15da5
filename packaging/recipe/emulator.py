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
    return str(cache.debian("qemu-user-static") / "usr" / "bin" / name)

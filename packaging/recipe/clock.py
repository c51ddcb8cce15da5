"""Another date for the programs of a build (libfaketime), to find files that depend on the date."""

import pathlib

import cache

NAME = "usr/lib/*/faketime/libfaketime.so.1"
LATER = "+400d"


def library():
    """The path of the library: installed, or unpacked from its Debian package."""
    installed = sorted(pathlib.Path("/").glob(NAME))
    if installed:
        return installed[0]
    (found,) = cache.debian("libfaketime").glob(NAME)
    return found


def another_date():
    """Variables for a child. zig is static and ignores them: SOURCE_DATE_EPOCH is its date.
    Timeouts keep the clock of the machine."""
    return {"LD_PRELOAD": str(library()), "FAKETIME": LATER, "FAKETIME_DONT_FAKE_MONOTONIC": "1"}

"""Lets the released adaptdl 0.2.11 run on current libraries.

AdaptDL was last released for the NumPy, semver, setuptools and torch of its time. Each function
below fixes one breakage. Nothing happens in a process that does not import adaptdl: the fixes start
when the import system first searches for it. Processes that multiprocessing spawns (not forks) from
such a script are fresh interpreters without these fixes.
"""

import functools
import importlib.util
import os
import sys
import time
import types


def install(hooks):
    """`hooks` has before_import(name, function) and after_import(name, function)."""
    hooks.before_import("adaptdl", lambda: fix(hooks))


def fix(hooks):
    skipped = os.environ.get("SHOAL_TRAIN_SHIM_SKIP", "").split(",")    # for the tests only
    for name, module, function in (
            ("numpy", "numpy", add_numpy_names),
            ("semver", "semver", add_semver_isvalid),
            ("torch_load", "torch", allow_pickles_in_torch_load),
            ("reducer_sleep", "adaptdl.reducer", shorten_reducer_sleep)):
        if name not in skipped:
            hooks.after_import(module, function)
    if "pkg_resources" not in skipped:
        add_pkg_resources(hooks)


def add_numpy_names(numpy):
    """NumPy 1.24 removed np.int; goodput.py uses it when gradient accumulation is off.

    AttributeError: module 'numpy' has no attribute 'int'. The other names went with it, and scripts
    of that time use them.
    """
    for value in (int, float, complex, bool, object, str):
        if value.__name__ not in vars(numpy):
            setattr(numpy, value.__name__, value)


def add_semver_isvalid(semver):
    """semver 3 renamed VersionInfo.isvalid to is_valid; init_process_group calls it.

    AttributeError: type object 'Version' has no attribute 'isvalid'.
    """
    if not hasattr(semver.VersionInfo, "isvalid"):
        semver.VersionInfo.isvalid = semver.VersionInfo.is_valid


def add_pkg_resources(hooks):
    """setuptools 81 removed pkg_resources; adaptdl.torch asks it for its own version.

    ModuleNotFoundError: No module named 'pkg_resources'. The replacement is removed again as soon
    as adaptdl.torch has it, so that the script does not see it.
    """
    if "pkg_resources" in sys.modules or importlib.util.find_spec("pkg_resources") is not None:
        return
    from importlib import metadata

    stub = types.ModuleType("pkg_resources")
    stub.get_distribution = metadata.distribution    # has the attribute version
    stub.DistributionNotFound = metadata.PackageNotFoundError
    sys.modules["pkg_resources"] = stub

    def remove(_module):
        if sys.modules.get("pkg_resources") is stub:
            del sys.modules["pkg_resources"]

    hooks.after_import("adaptdl.torch", remove)


def allow_pickles_in_torch_load(torch):
    """torch 2.6 made weights_only=True the default; the checkpoints of AdaptDL hold NumPy arrays.

    UnpicklingError: Weights only load failed. The script's own calls keep torch's default.
    """
    original = torch.load

    @functools.wraps(original)
    def load(*args, **kwargs):
        caller = sys._getframe(1).f_globals.get("__name__", "")
        if caller.partition(".")[0] == "adaptdl":
            kwargs.setdefault("weights_only", False)
        return original(*args, **kwargs)

    torch.load = load


class PatientTime:
    """The module `time`, with short first sleeps.

    AdaptDL gives up after 26 tries, about 130 s. The sleeps grow so that this stays true.
    """

    def __init__(self):
        self.tries = 0

    def __getattr__(self, name):
        return getattr(time, name)

    def sleep(self, seconds):
        time.sleep(min(2.4 * seconds, 0.02 * 1.6 ** self.tries))
        self.tries += 1


def shorten_reducer_sleep(reducer):
    """Rank 0 often connects to its own server thread before that listens, and then sleeps 5 s."""
    reducer.time = PatientTime()

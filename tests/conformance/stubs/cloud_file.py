"""The cloud of the stubs: a JSON file, STUB_STATE."""

import contextlib
import fcntl
import json
import os
import sys
import types


@contextlib.contextmanager
def cloud():
    path = os.environ["STUB_STATE"]
    data = {}
    with open(path + ".lock", "w", encoding="utf-8") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if os.path.exists(path):
            with open(path, encoding="utf-8") as file:
                data = json.load(file)
        yield data
        with open(path, "w", encoding="utf-8") as file:
            json.dump(data, file)


def module(name, **parts):
    """Makes `name` importable, with these parts."""
    made = types.ModuleType(name)
    made.__path__ = []
    vars(made).update(parts)
    sys.modules[name] = made
    return made

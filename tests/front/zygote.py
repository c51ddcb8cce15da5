"""The parent of all fronts of one test process: has moto loaded and seeded, which takes seconds,
and forks a front for each line of JSON on its input ({"folder": PATH}). Ends with its input.

usage: zygote.py aws|gce [REGION]
"""

import json
import os
import pathlib
import random
import signal
import sys
import tempfile

HERE = pathlib.Path(__file__).resolve().parent
sys.path[:0] = [str(HERE.parent / "bed"), str(HERE), str(HERE.parent / "gce")]


def aws():
    """The function that makes a world of AWS."""
    import world
    from cloud import backend, settings
    if sys.argv[2:]:
        settings.move(sys.argv[2])
    moto = backend.Moto()
    moto.seed()
    return lambda folder: world.AwsWorld(folder, moto)


def gce():
    import gce_world
    return gce_world.maker()


def main():
    scratch = tempfile.TemporaryDirectory(prefix="shoal-zygote-")
    os.environ["SHOAL_BED_HOME"] = scratch.name
    import world
    make = {"aws": aws, "gce": gce}[sys.argv[1]]()
    signal.signal(signal.SIGCHLD, signal.SIG_IGN)  # children need no wait
    for line in sys.stdin:
        if os.fork() == 0:
            signal.signal(signal.SIGCHLD, signal.SIG_DFL)
            random.seed()
            world.run(json.loads(line)["folder"], make)
    scratch.cleanup()


if __name__ == "__main__":
    world_dies = __import__("ctypes").CDLL(None).prctl(1, signal.SIGKILL, 0, 0, 0)
    main()

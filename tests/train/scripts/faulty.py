"""examples/train/ddp.py with faults: a file in the directory SHOAL_FAULTS requests one.

slow-save: rank 0 needs 30 s for the next save. hang: rank 1 stops before its next step.
"""

import os
import runpy
import time

import torch

FOLDER = os.environ["SHOAL_FAULTS"]


def is_requested(name):
    try:
        os.unlink(os.path.join(FOLDER, name))
        return True
    except FileNotFoundError:
        return False


save, step = torch.save, torch.optim.AdamW.step


def slow_save(*args, **more):
    if is_requested("slow-save"):
        time.sleep(30)
    save(*args, **more)


def hanging_step(*args, **more):
    if os.environ["RANK"] == "1" and is_requested("hang"):
        time.sleep(1000000)
    return step(*args, **more)


torch.save = slow_save
torch.optim.AdamW.step = hanging_step
runpy.run_path(os.path.join(os.path.dirname(os.path.abspath(__file__)), "ddp.py"),
               run_name="__main__")

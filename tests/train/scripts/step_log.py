"""What the scripts of these tests share: options, data, and one JSON line per step in a file."""

import argparse
import json
import os
import time

import torch

SAMPLES, BATCH = 1200, 24    # the batch is that of all ranks together


def parser():
    parser = argparse.ArgumentParser()
    parser.add_argument("--epochs", type=int, default=10)
    parser.add_argument("--step-seconds", type=float, default=0.02)
    parser.add_argument("--log", default=os.devnull)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--checkpoint-dir", default=os.environ.get("SHOAL_CHECKPOINT_DIR", "."))
    return parser


def data():
    """Inputs and labels, the same in all processes."""
    generator = torch.Generator().manual_seed(0)
    inputs = torch.randn(SAMPLES, 16, generator=generator)
    return inputs, (inputs @ torch.randn(16, 4, generator=generator)).argmax(dim=1)


def model(seed=0):
    torch.manual_seed(seed)
    return torch.nn.Sequential(torch.nn.Linear(16, 32), torch.nn.ReLU(), torch.nn.Linear(32, 4))


def append(path, **line):
    line.update(generation=int(os.environ.get("SHOAL_GENERATION", 0)), time=time.time())
    with open(path, "a") as file:
        file.write(json.dumps(line) + "\n")

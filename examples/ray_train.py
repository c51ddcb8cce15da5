"""Elastic training with Ray Train on spot instances: docs/user/ray-train.md describes it.

Run it on the head:  python ray_train.py --storage s3://my-bucket/runs
"""

import argparse
import os
import pathlib
import tempfile
import time

import torch
from ray import train
from ray.train.torch import TorchTrainer, prepare_model

SAVE_SECONDS = 60    # save at least this often
LAST_SAVE_SECONDS = 12  # before the deadline; Ray Train needs some seconds to read a report


def load(model, optimizer):
    """Continue from the last checkpoint that Ray Train knows. Return the next step."""
    checkpoint = train.get_checkpoint()
    if not checkpoint:
        return 0
    with checkpoint.as_directory() as folder:
        state = torch.load(pathlib.Path(folder, "state.pt"))
    model.load_state_dict(state["model"])
    optimizer.load_state_dict(state["optimizer"])
    return state["step"] + 1


def save(model, optimizer, step, why):
    """All ranks must call it: report() waits for all of them. Rank 0 writes."""
    is_first = train.get_context().get_world_rank() == 0
    with tempfile.TemporaryDirectory() as folder:
        checkpoint = None
        if is_first:
            torch.save({"model": model.state_dict(), "optimizer": optimizer.state_dict(),
                        "step": step}, pathlib.Path(folder, "state.pt"))
            checkpoint = train.Checkpoint.from_directory(folder)
        train.report({"step": step}, checkpoint=checkpoint)
    if is_first:
        print(f"saved: step {step}, {why}", flush=True)


class Saves:
    """Decides when to save. Rank 0 decides by its clock, and all ranks follow."""

    def __init__(self):
        self.last, self.noticed, self.is_final = time.time(), False, False

    def reason(self, info):
        """The reason to save after this step, or "" for none. All ranks have the same `info`."""
        now = time.time()
        left = (info.deadline_ms / 1000 - now) if info and info.deadline_ms else None
        why = ("on the notice" if info and not self.noticed else
               "before the deadline" if left is not None and left < LAST_SAVE_SECONDS and
               not self.is_final else
               "regular" if now - self.last > SAVE_SECONDS else "")
        box = [why]
        if train.get_context().get_world_size() > 1:
            torch.distributed.broadcast_object_list(box)
        self.noticed = self.noticed or bool(info)
        self.is_final = self.is_final or box[0] == "before the deadline"
        self.last = now if box[0] else self.last
        return box[0]


def train_loop(config):
    context = train.get_context()
    rank, size = context.get_world_rank(), context.get_world_size()
    model = torch.nn.Sequential(torch.nn.Linear(16, 64), torch.nn.ReLU(), torch.nn.Linear(64, 1))
    optimizer = torch.optim.AdamW(model.parameters())
    first = load(model, optimizer)
    ddp = prepare_model(model)
    saves = Saves()
    print(f"start: rank {rank} of {size} on {os.uname().nodename} at step {first}", flush=True)
    for step in range(first, config["steps"]):
        data = torch.randn(64, 16)
        loss = torch.nn.functional.mse_loss(ddp(data), data.sum(1, keepdim=True))
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        time.sleep(config["step_seconds"])
        if config["log"] and rank == 0:
            with open(config["log"], "a", encoding="utf-8") as log:
                log.write(f"{time.time():.2f} {step} {size}\n")
        # Every rank calls this after every step: it waits for all ranks, and all get the
        # same result.
        info = train.get_preemption_info()
        if info and not saves.noticed:
            print(f"notice: rank {rank} at step {step}, ranks {info.preempted_ranks} will end in "
                  f"{(info.deadline_ms or 0) / 1000 - time.time():.0f} s", flush=True)
        why = saves.reason(info)
        if why:
            save(model, optimizer, step, why)
    save(model, optimizer, config["steps"] - 1, "end")


def arguments():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--storage", required=True, help="shared by all nodes: s3://..., or EFS")
    parser.add_argument("--name", default="example")
    parser.add_argument("--workers", type=int, nargs=2, default=(2, 4), metavar=("MIN", "MAX"))
    parser.add_argument("--steps", type=int, default=3000)
    parser.add_argument("--step-seconds", type=float, default=0.2)
    parser.add_argument("--log", default="", help="append a line per step to this file")
    return parser.parse_args()


def main():
    given = arguments()
    result = TorchTrainer(
        train_loop,
        train_loop_config={"steps": given.steps, "step_seconds": given.step_seconds,
                           "log": given.log},
        scaling_config=train.ScalingConfig(num_workers=tuple(given.workers),
                                           resources_per_worker={"CPU": 1}),
        run_config=train.RunConfig(
            name=given.name, storage_path=given.storage,
            checkpoint_config=train.CheckpointConfig(num_to_keep=2),
            # Restarts after an interruption have a separate limit, which is off by default.
            failure_config=train.FailureConfig(max_failures=1)),
    ).fit()
    print(f"done: step {result.metrics['step']}", flush=True)


if __name__ == "__main__":
    main()

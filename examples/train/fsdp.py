"""Sharded training (FSDP2) that can be stopped and restarted with another world size.

As in ddp.py, SIGTERM sets a flag on which all ranks agree, and the position is counted in samples
of all ranks. The difference is the checkpoint: no rank has the whole model. Each rank writes its
part, and torch.distributed.checkpoint can load the parts with any other number of ranks. The
folder gets its final name only when all ranks have written; shoal copies all parts to all nodes.
"""

import argparse
import glob
import json
import os
import shutil
import signal
import sys
import time

import torch
import torch.distributed as dist
import torch.distributed.checkpoint as dcp
from torch.distributed.checkpoint.state_dict import get_state_dict, set_state_dict
from torch.nn.functional import cross_entropy

parser = argparse.ArgumentParser()
parser.add_argument("--epochs", type=int, default=10)
parser.add_argument("--samples", type=int, default=6000)
parser.add_argument("--seed", type=int, default=0, help="of the first weights")
parser.add_argument("--checkpoint-dir", default=os.environ.get("SHOAL_CHECKPOINT_DIR", "."))
parser.add_argument("--step-seconds", type=float, default=0, help="imitate a larger model")
parser.add_argument("--log", default=os.devnull, help="append a JSON line per step to this file")
options = parser.parse_args()
should_stop = torch.zeros(1)
signal.signal(signal.SIGTERM, lambda *_: should_stop.fill_(1))
device = "cuda" if torch.cuda.is_available() else "cpu"
mesh = dist.device_mesh.init_device_mesh(device, (int(os.environ["WORLD_SIZE"]),))
rank, world = dist.get_rank(), dist.get_world_size()
torch.manual_seed(0)
inputs = torch.randn(options.samples, 32)
labels = (inputs @ torch.randn(32, 10)).argmax(dim=1)
torch.manual_seed(options.seed)
model = torch.nn.Sequential(torch.nn.Linear(32, 64), torch.nn.ReLU(), torch.nn.Linear(64, 10))
dist.fsdp.fully_shard(model.to(device), mesh=mesh)
optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3)
progress = {"epoch": 0, "position": 0, "step": 0}
checkpoints = os.path.join(options.checkpoint_dir, "step-*[0-9]")


def state():
    return dict(zip(("model", "optim"), get_state_dict(model, optimizer)), progress=progress)


def save():
    final = os.path.join(options.checkpoint_dir, f"step-{progress['step']:09}")
    dcp.save(state(), checkpoint_id=final + ".new")
    dist.barrier()
    if os.environ["LOCAL_RANK"] == "0":    # the first rank of each node
        os.rename(final + ".new", final)
        for folder in sorted(glob.glob(checkpoints))[:-1]:
            shutil.rmtree(folder)


for folder in sorted(glob.glob(checkpoints))[-1:]:    # the newest
    dcp.load(saved := state(), checkpoint_id=folder)
    set_state_dict(model, optimizer, model_state_dict=saved["model"],
                   optim_state_dict=saved["optim"])
    progress = saved["progress"]
while progress["epoch"] < options.epochs:
    shuffle = torch.Generator().manual_seed(progress["epoch"])
    order = torch.randperm(options.samples, generator=shuffle)
    while progress["position"] < options.samples:
        batch = order[progress["position"]:][:48]
        mine = batch[rank::world]    # may be empty at the end of an epoch
        loss = cross_entropy(model(inputs[mine].to(device)), labels[mine].to(device),
                             reduction="sum") * world / len(batch)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        progress["position"] += len(batch)
        progress["step"] += 1
        time.sleep(options.step_seconds)
        with open(options.log, "a") as log:
            log.write(json.dumps(dict(
                progress, generation=int(os.environ.get("SHOAL_GENERATION", 0)), rank=rank,
                samples=mine.tolist(), loss=loss.item(), time=time.time())) + "\n")
        stop = should_stop.to(device, copy=True)
        dist.all_reduce(stop, dist.ReduceOp.MAX)
        if stop:
            save()
            sys.exit(143)
    progress.update(epoch=progress["epoch"] + 1, position=0)
    save()
dist.destroy_process_group()

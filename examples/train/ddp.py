"""Data-parallel training (DDP) that can be stopped and restarted with another world size.

Any elastic DDP script needs these three things:
  1. SIGTERM only sets a flag. The ranks agree on it after each step, so that all stop at the same
     step. Then rank 0 saves, and all exit with 143.
  2. A checkpoint holds the model, the optimizer, the epoch and the position in the epoch, counted
     in samples of all ranks. It is written under another name and renamed when it is complete.
  3. The order of the samples depends only on the number of the epoch. Each step takes the next
     global batch and divides it among the ranks. So each sample is seen once per epoch with any
     world size.
Without shoal: torchrun --nproc-per-node 2 examples/train/ddp.py --checkpoint-dir /tmp
"""

import argparse
import json
import os
import signal
import sys
import time

import torch
import torch.distributed as dist
from torch.nn.functional import cross_entropy

parser = argparse.ArgumentParser()
parser.add_argument("--epochs", type=int, default=10)
parser.add_argument("--samples", type=int, default=6000)
parser.add_argument("--hidden", type=int, default=64, help="size of the model")
parser.add_argument("--seed", type=int, default=0, help="of the first weights")
parser.add_argument("--batch-size", type=int, default=48, help="of all ranks together")
parser.add_argument("--checkpoint-dir", default=os.environ.get("SHOAL_CHECKPOINT_DIR", "."))
parser.add_argument("--step-seconds", type=float, default=0, help="imitate a larger model")
parser.add_argument("--log", default=os.devnull, help="append a JSON line per step to this file")
options = parser.parse_args()

should_stop = torch.zeros(1)
signal.signal(signal.SIGTERM, lambda *_: should_stop.fill_(1))

device = "cpu"
if torch.cuda.is_available():
    device = "cuda:" + os.environ["LOCAL_RANK"]
    torch.cuda.set_device(device)
dist.init_process_group("gloo" if device == "cpu" else "nccl")
rank, world = dist.get_rank(), dist.get_world_size()

torch.manual_seed(0)
inputs = torch.randn(options.samples, 32)
labels = (inputs @ torch.randn(32, 10)).argmax(dim=1)
torch.manual_seed(options.seed)
model = torch.nn.Sequential(torch.nn.Linear(32, options.hidden), torch.nn.ReLU(),
                            torch.nn.Linear(options.hidden, 10))
model = torch.nn.parallel.DistributedDataParallel(model.to(device))
optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3)
progress = {"epoch": 0, "position": 0, "step": 0}

path = os.path.join(options.checkpoint_dir, "checkpoint.pt")
if os.path.exists(path):
    model_state, optimizer_state, progress = torch.load(path, map_location=device)
    model.module.load_state_dict(model_state)
    optimizer.load_state_dict(optimizer_state)


def save():
    if rank == 0:
        torch.save([model.module.state_dict(), optimizer.state_dict(), progress], path + ".new")
        os.replace(path + ".new", path)


while progress["epoch"] < options.epochs:
    shuffle = torch.Generator().manual_seed(progress["epoch"])
    order = torch.randperm(options.samples, generator=shuffle)
    while progress["position"] < options.samples:
        batch = order[progress["position"]:][:options.batch_size]
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

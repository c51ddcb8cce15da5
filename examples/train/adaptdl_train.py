"""Training with AdaptDL, in the style of its tutorial: shoal runs such a script unchanged.

AdaptDL saves and loads the model, the optimizer, the scheduler, the epoch and the position of its
data loader by itself, when the process receives SIGTERM. With --autoscale it also chooses the batch
size, and an epoch then ends when the model has made the progress of an epoch, not after one pass.
(The file is not called adaptdl.py, because `import adaptdl` would then import it.)
"""

import argparse
import json
import os
import time

import adaptdl.torch
import torch
from torch.nn.functional import cross_entropy
from torch.utils.data import TensorDataset

parser = argparse.ArgumentParser()
parser.add_argument("--epochs", type=int, default=10)
parser.add_argument("--samples", type=int, default=6000)
parser.add_argument("--seed", type=int, default=0, help="of the first weights")
parser.add_argument("--autoscale", action="store_true")
parser.add_argument("--step-seconds", type=float, default=0, help="imitate a larger model")
parser.add_argument("--log", default=os.devnull, help="append a JSON line per step to this file")
options = parser.parse_args()

device = "cuda" if torch.cuda.is_available() else "cpu"
adaptdl.torch.init_process_group("nccl" if device == "cuda" else "gloo")

torch.manual_seed(0)
inputs = torch.randn(options.samples, 32)
labels = (inputs @ torch.randn(32, 10)).argmax(dim=1)
torch.manual_seed(options.seed)
dataset = TensorDataset(inputs, labels, torch.arange(options.samples))
loader = adaptdl.torch.AdaptiveDataLoader(dataset, batch_size=48, shuffle=True, drop_last=True)
if options.autoscale:
    loader.autoscale_batch_size(256, local_bsz_bounds=(8, 64), gradient_accumulation=True)

model = torch.nn.Sequential(torch.nn.Linear(32, 64), torch.nn.ReLU(), torch.nn.Linear(64, 10))
optimizer = torch.optim.SGD(model.parameters(), lr=0.1, momentum=0.9)
scheduler = torch.optim.lr_scheduler.MultiStepLR(optimizer, [30, 45], 0.1)
model = adaptdl.torch.AdaptiveDataParallel(model.to(device), optimizer, scheduler)
statistics = adaptdl.torch.Accumulator()

for epoch in adaptdl.torch.remaining_epochs_until(options.epochs):
    for x, y, numbers in loader:
        optimizer.zero_grad()
        loss = cross_entropy(model(x.to(device)), y.to(device))
        loss.backward()
        optimizer.step()
        statistics["loss"] += loss.item()
        statistics["steps"] += 1
        time.sleep(options.step_seconds)
        with open(options.log, "a") as log:
            log.write(json.dumps(dict(
                generation=int(os.environ.get("SHOAL_GENERATION", 0)), epoch=epoch,
                rank=adaptdl.env.replica_rank(), samples=numbers.tolist(), loss=loss.item(),
                time=time.time())) + "\n")
    scheduler.step()
    with statistics.synchronized():
        if adaptdl.env.replica_rank() == 0:
            print(f"epoch {epoch}: loss {statistics['loss'] / statistics['steps']:.4f}")
        statistics.clear()

"""Accelerate: the handler of SIGTERM sets a trigger, which all ranks check after each step."""

import os
import shutil
import signal
import sys
import time

import torch
from accelerate import Accelerator
from accelerate.utils import DataLoaderConfiguration, ProjectConfiguration
from torch.nn.functional import cross_entropy
from torch.utils.data import DataLoader, Dataset

import step_log


class Samples(Dataset):
    def __init__(self):
        self.inputs, self.labels = step_log.data()

    def __len__(self):
        return len(self.inputs)

    def __getitem__(self, index):
        return self.inputs[index], self.labels[index], index


class Progress:
    """In the order of save_state(); counted in global batches."""

    step = 0

    def state_dict(self):
        return {"step": self.step}

    def load_state_dict(self, state):
        self.step = state["step"]


options = step_log.parser().parse_args()
# A global batch is divided among the ranks, so that its size does not depend on their number.
accelerator = Accelerator(cpu=True, project_config=ProjectConfiguration(
    project_dir=options.checkpoint_dir), dataloader_config=DataLoaderConfiguration(
        split_batches=True, use_seedable_sampler=True, data_seed=1))
signal.signal(signal.SIGTERM, lambda *_: accelerator.set_trigger())

model = step_log.model(options.seed)
optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3)
loader = DataLoader(Samples(), batch_size=step_log.BATCH, shuffle=True, drop_last=True)
model, optimizer, loader = accelerator.prepare(model, optimizer, loader)
progress = Progress()
accelerator.register_for_checkpointing(progress)

path = os.path.join(options.checkpoint_dir, "state")
if os.path.exists(path):
    accelerator.load_state(path)


def save():
    """The folder is filled in place, so it gets its name when all ranks have written."""
    accelerator.save_state(path + ".new")
    accelerator.wait_for_everyone()
    if accelerator.is_local_main_process:
        shutil.rmtree(path, ignore_errors=True)
        os.rename(path + ".new", path)


per_epoch = step_log.SAMPLES // step_log.BATCH
for epoch in range(progress.step // per_epoch, options.epochs):
    loader.set_epoch(epoch)
    skipped = progress.step % per_epoch
    for inputs, labels, numbers in accelerator.skip_first_batches(loader, skipped):
        loss = cross_entropy(model(inputs), labels)
        optimizer.zero_grad()
        accelerator.backward(loss)
        optimizer.step()
        progress.step += 1
        time.sleep(options.step_seconds)
        step_log.append(options.log, rank=accelerator.process_index, step=progress.step,
                        epoch=epoch, samples=numbers.tolist(), loss=loss.item())
        if accelerator.check_trigger():
            save()
            sys.exit(143)

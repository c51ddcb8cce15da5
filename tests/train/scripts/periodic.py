"""DDP without a SIGTERM handler: saves only every N steps, and loses the steps after that."""

import os
import time

import torch
import torch.distributed as dist
from torch.nn.functional import cross_entropy

import step_log


def train(options, before_step=lambda rank, step: None):
    dist.init_process_group("gloo")
    rank, world = dist.get_rank(), dist.get_world_size()
    inputs, labels = step_log.data()
    model = torch.nn.parallel.DistributedDataParallel(step_log.model())
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1, momentum=0.9)
    step = 0
    path = os.path.join(options.checkpoint_dir, "checkpoint.pt")
    if os.path.exists(path):
        model_state, optimizer_state, step = torch.load(path)
        model.module.load_state_dict(model_state)
        optimizer.load_state_dict(optimizer_state)
    per_epoch = step_log.SAMPLES // step_log.BATCH
    while step < options.epochs * per_epoch:
        epoch, index = divmod(step, per_epoch)
        order = torch.randperm(step_log.SAMPLES, generator=torch.Generator().manual_seed(epoch))
        mine = order[index * step_log.BATCH:][:step_log.BATCH][rank::world]
        before_step(rank, step + 1)
        loss = cross_entropy(model(inputs[mine]), labels[mine])
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        step += 1
        time.sleep(options.step_seconds)
        step_log.append(options.log, rank=rank, step=step, epoch=epoch, samples=mine.tolist(),
                        loss=loss.item())
        if step % options.save_every == 0 and rank == 0:
            torch.save([model.module.state_dict(), optimizer.state_dict(), step], path + ".new")
            os.replace(path + ".new", path)


def parser():
    parser = step_log.parser()
    parser.add_argument("--save-every", type=int, default=20)
    return parser


if __name__ == "__main__":
    train(parser().parse_args())

"""Lightning without any code for checkpoints: as a SLURM job, it saves when SIGUSR1 arrives."""

import logging
import os
import time
import warnings

import lightning
import torch
from torch.nn.functional import cross_entropy
from torch.utils.data import DataLoader, TensorDataset

import step_log

options = step_log.parser().parse_args()


class Model(lightning.LightningModule):
    def __init__(self):
        super().__init__()
        self.model = step_log.model(options.seed)

    def training_step(self, batch, _index):
        inputs, labels, numbers = batch
        loss = cross_entropy(self.model(inputs), labels)
        self.seen = numbers.tolist()
        return loss

    def on_train_batch_end(self, outputs, _batch, _index):
        time.sleep(options.step_seconds)
        step_log.append(options.log, rank=self.global_rank, step=self.trainer.global_step,
                        epoch=self.current_epoch, samples=self.seen, loss=outputs["loss"].item())

    def configure_optimizers(self):
        return torch.optim.AdamW(self.parameters(), lr=1e-3)


if __name__ == "__main__":
    warnings.simplefilter("ignore")
    logging.getLogger("lightning.pytorch").setLevel(logging.ERROR)
    world = int(os.environ["WORLD_SIZE"])
    on_node = int(os.environ["LOCAL_WORLD_SIZE"])
    inputs, labels = step_log.data()
    data = TensorDataset(inputs, labels, torch.arange(len(inputs)))
    trainer = lightning.Trainer(
        accelerator="cpu", strategy="ddp", devices=on_node, num_nodes=world // on_node,
        max_epochs=options.epochs, default_root_dir=options.checkpoint_dir, logger=False,
        enable_checkpointing=False, enable_progress_bar=False, enable_model_summary=False)
    trainer.fit(Model(), DataLoader(data, batch_size=step_log.BATCH // world, shuffle=True))

"""A module and its trainer."""
# ruff: noqa: F821, D101, D103 - reveal_type is mypy's

from typing import Any

import lightning_lite as pl
import rushlight as torch
from lightning_lite.callbacks import EarlyStopping, ModelCheckpoint
from rushlight import Tensor, nn
from rushlight.utils.data import DataLoader, TensorDataset


class Line(pl.LightningModule):
    def __init__(self, width: int = 2, lr: float = 0.1) -> None:
        super().__init__()
        self.save_hyperparameters()
        self.layer = nn.Linear(width, 1)
        self.lr = lr

    def forward(self, x: Tensor) -> Tensor:
        return self.layer(x)

    def training_step(self, batch: Any, batch_idx: int) -> Tensor:
        x, y = batch
        loss = nn.functional.mse_loss(self(x), y)
        self.log("loss", loss, prog_bar=True)
        return loss

    def configure_optimizers(self) -> torch.optim.Optimizer:
        return torch.optim.Adam(self.parameters(), lr=self.lr)


class Count(pl.Callback):
    def __init__(self) -> None:
        self.epochs = 0

    def on_train_epoch_end(self, trainer: pl.Trainer, pl_module: pl.LightningModule) -> None:
        self.epochs += 1


loader = DataLoader(TensorDataset(torch.ones(4, 2), torch.ones(4, 1)), batch_size=2)
count = Count()
trainer = pl.Trainer(
    max_epochs=2, callbacks=[count, ModelCheckpoint(monitor="loss"), EarlyStopping("loss")]
)
trainer.fit(Line(), loader)
reveal_type(trainer.current_epoch)  # note: "int"
reveal_type(trainer.callback_metrics)  # note: "dict[str, Any]"
reveal_type(Line().layer.weight)  # note: "Parameter"

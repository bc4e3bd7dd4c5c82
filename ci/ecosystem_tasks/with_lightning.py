"""lightning: the real Trainer and Fabric, with callbacks, checkpoints and resuming."""

import logging
import tempfile
import warnings

import lightning as L
import torch
from common import report
from lightning.pytorch.callbacks import EarlyStopping, ModelCheckpoint
from torch.utils.data import DataLoader, TensorDataset

warnings.filterwarnings("ignore")
for name in ("lightning", "lightning.pytorch", "lightning.fabric"):
    logging.getLogger(name).setLevel(logging.ERROR)


class Line(L.LightningModule):
    """A small network."""

    def __init__(self, width=8):
        super().__init__()
        self.save_hyperparameters()
        self.net = torch.nn.Sequential(
            torch.nn.Linear(4, width), torch.nn.ReLU(), torch.nn.Linear(width, 1)
        )

    def training_step(self, batch, _):
        x, y = batch
        loss = torch.nn.functional.mse_loss(self.net(x), y)
        self.log("loss", loss)
        return loss

    def validation_step(self, batch, _):
        x, y = batch
        self.log("val", torch.nn.functional.mse_loss(self.net(x), y), prog_bar=True)

    def configure_optimizers(self):
        optimizer = torch.optim.Adam(self.parameters(), 1e-2)
        return [optimizer], [torch.optim.lr_scheduler.StepLR(optimizer, 1)]


def loader():
    torch.manual_seed(2)
    x = torch.randn(32, 4)
    return DataLoader(TensorDataset(x, x.sum(1, keepdim=True)), 8)


def main():
    found = {}
    with tempfile.TemporaryDirectory() as folder:
        L.seed_everything(1, verbose=False)
        model = Line()
        keep = ModelCheckpoint(folder, monitor="val", save_last=True)
        options = {
            "accelerator": "cpu", "logger": False, "enable_progress_bar": False,
            "enable_model_summary": False, "default_root_dir": folder,
        }  # fmt: skip
        trainer = L.Trainer(max_epochs=3, callbacks=[keep, EarlyStopping("val")], **options)
        trainer.fit(model, loader(), loader())
        found["val"] = trainer.callback_metrics["val"]
        found["loss"] = trainer.callback_metrics["loss"]
        again = Line.load_from_checkpoint(keep.last_model_path)
        x = torch.ones(1, 4)
        found["reloaded"] = (again.net(x) - model.net(x)).abs().max()
        more = L.Trainer(max_epochs=4, **options)
        more.fit(Line(), loader(), loader(), ckpt_path=keep.last_model_path)
        found["resumed"] = [more.global_step, more.callback_metrics["val"]]
        found["test"] = trainer.validate(model, loader(), verbose=False)[0]["val"]
    fabric = L.Fabric(accelerator="cpu")
    fabric.launch()
    torch.manual_seed(3)
    net = torch.nn.Linear(4, 1)
    net, optimizer = fabric.setup(net, torch.optim.SGD(net.parameters(), lr=0.1))
    losses = []
    for x, y in fabric.setup_dataloaders(loader()):
        optimizer.zero_grad()
        loss = torch.nn.functional.mse_loss(net(x), y)
        fabric.backward(loss)
        optimizer.step()
        losses.append(float(loss))
    report(fabric=losses, **found)


main()

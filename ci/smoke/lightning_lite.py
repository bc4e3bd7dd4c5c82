"""The wheel of rushlight-lightning-lite, installed alone: a version, and a model that learns."""

import sys

import lightning_lite as L
import rushlight as rl
from rushlight import nn
from rushlight.utils.data import DataLoader, TensorDataset


class Line(L.LightningModule):
    """Fits a straight line."""

    def __init__(self):
        super().__init__()
        self.layer = nn.Linear(1, 1)

    def training_step(self, batch, batch_idx):
        """Squared error of one batch."""
        x, y = batch
        loss = nn.functional.mse_loss(self.layer(x), y)
        self.log("train_loss", loss)
        return loss

    def configure_optimizers(self):
        """Plain gradient descent."""
        return rl.optim.SGD(self.parameters(), lr=0.3)


expected = sys.argv[1]
if L.__version__ != expected:
    raise SystemExit(f"version {L.__version__}, expected {expected}")
L.seed_everything(0)
x = rl.linspace(-1, 1, 64).reshape(-1, 1)
model = Line()
trainer = L.Trainer(max_epochs=10, enable_progress_bar=False, enable_model_summary=False)
trainer.fit(model, DataLoader(TensorDataset(x, 3 * x + 1), batch_size=8, shuffle=True))
slope = model.layer.weight.item()
if abs(slope - 3) > 0.05:
    raise SystemExit(f"slope {slope}, expected 3")

"""Tables: is a tumour malignant, and how does a disease go on?

    rushlight examples run health_tables        (needs `pip install scikit-learn`)

scikit-learn's tables of breast cancer (569 people, 30 measurements) and diabetes (442 people, ten).
Five networks of one hidden layer vote, trained with dropout and noise; measured by five-fold
cross-validation. The baselines are logistic regression and least squares of scikit-learn. A minute;
leaves runs/health_tables/tables.png.
"""

from __future__ import annotations

import logging
from pathlib import Path

import matplotlib.pyplot as plt
from sklearn.datasets import load_breast_cancer, load_diabetes
from sklearn.linear_model import LinearRegression, LogisticRegression

import lightning_lite as L
import rushlight as torch
from rushlight import nn
from rushlight.nn import functional as F
from rushlight.utils.data import DataLoader, TensorDataset

OUT = Path("runs/health_tables")
FOLDS, VOTES = 5, 5


class Network(L.LightningModule):
    """One number a row: logits of a class, or a value in units of its spread."""

    def __init__(self, columns: int, classify: bool, steps: int):
        super().__init__()
        self.layers = nn.Sequential(nn.Linear(columns, 64), nn.SiLU(), nn.Dropout(0.3),
                                    nn.Linear(64, 1))  # fmt: skip
        self.classify, self.steps = classify, steps

    def forward(self, x):
        return self.layers(x).squeeze(1)

    def training_step(self, batch, batch_idx):
        x, y = batch
        found = self(x + 0.1 * torch.randn_like(x))
        if self.classify:
            return F.binary_cross_entropy_with_logits(found, y * 0.96 + 0.02)
        return F.smooth_l1_loss(found, y)

    def configure_optimizers(self):
        optimizer = torch.optim.AdamW(self.parameters(), 4e-3, weight_decay=0.05)
        schedule = torch.optim.lr_scheduler.OneCycleLR(optimizer, 4e-3, total_steps=self.steps)
        return {"optimizer": optimizer, "lr_scheduler": {"scheduler": schedule, "interval": "step"}}


def voted(x: torch.Tensor, y: torch.Tensor, asked: torch.Tensor, classify: bool) -> torch.Tensor:
    """The mean of several networks' answers."""
    found = []
    for _ in range(VOTES):
        rows: TensorDataset = TensorDataset(x, y)
        loader: DataLoader = DataLoader(rows, batch_size=32, shuffle=True, drop_last=True)
        steps = 20 * len(loader)
        model = Network(x.shape[1], classify, steps)
        trainer = L.Trainer(max_steps=steps, logger=False, enable_checkpointing=False,
                            enable_progress_bar=False, enable_model_summary=False)  # fmt: skip
        trainer.fit(model, loader)
        with torch.no_grad():
            found.append(model.eval()(asked))
    return torch.stack(found).mean(0)


def answers(x: torch.Tensor, y: torch.Tensor, classify: bool):
    """Answers of networks and baseline for every row, by models that have not seen it."""
    order = torch.randperm(len(x))
    ours, theirs = torch.zeros(len(x)), torch.zeros(len(x))
    for fold in range(FOLDS):
        asked = order[fold::FOLDS]
        known = torch.cat([order[f::FOLDS] for f in range(FOLDS) if f != fold])
        mean, spread = x[known].mean(0), x[known].std(0)
        given, new = (x[known] - mean) / spread, (x[asked] - mean) / spread
        ours[asked] = voted(given, y[known], new, classify)
        model = LogisticRegression() if classify else LinearRegression()
        model.fit(given.numpy(), y[known].numpy())
        theirs[asked] = torch.from_numpy(
            model.decision_function(new.numpy()) if classify else model.predict(new.numpy())
        ).float()
    return ours, theirs


def main() -> None:
    L.seed_everything(0, verbose=False)
    logging.getLogger("lightning_lite").setLevel(logging.WARNING)
    OUT.mkdir(parents=True, exist_ok=True)
    figure, axes = plt.subplots(1, 2, figsize=(8, 3.2))
    x, y = (torch.from_numpy(each).float() for each in load_breast_cancer(return_X_y=True))
    found, plain = answers(x, y, classify=True)
    accuracy, before = (((each > 0) == (y > 0)).float().mean().item() for each in (found, plain))
    for name, value in (("malignant", 0), ("benign", 1)):
        axes[0].hist(found[y == value].numpy(), bins=30, alpha=0.6, label=name)
    axes[0].set(xlabel="logit", title=f"breast cancer, accuracy {accuracy:.1%}")
    axes[0].legend()
    x, y = (torch.from_numpy(each).float() for each in load_diabetes(return_X_y=True))
    y = (y - y.mean()) / y.std()
    value, line = answers(x, y, classify=False)
    r2, r2_before = (1 - (each - y).square().mean().item() for each in (value, line))
    axes[1].scatter(y.numpy(), value.numpy(), s=8)
    axes[1].set(xlabel="disease a year on", ylabel="predicted", title=f"diabetes, R² {r2:.2f}")
    figure.tight_layout()
    figure.savefig(OUT / "tables.png", dpi=120)
    print(f"accuracy {accuracy:.1%}, logistic regression {before:.1%}; "
          f"R² {r2:.3f}, least squares {r2_before:.3f}")  # fmt: skip
    assert accuracy > 0.965 and r2 > 0.45


if __name__ == "__main__":
    main()

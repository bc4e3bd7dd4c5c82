"""Train a small network that reads handwritten digits, and look at what it learnt.

    python3 -m nox -s quickstart                 (or: python docs/examples/quickstart.py)
    python3 -m nox -s quickstart -- --resume     goes on where Ctrl-C ended it

It trains on the 5,000 digits of `rushlight_vision.datasets.DigitsSample` and leaves in
runs/quickstart/: curves.png, mistakes.png, metrics.csv, last.ckpt (training goes on from it) and
model.safetensors (the weights alone). Results of an earlier run move to runs/quickstart-1/ and on.
"""

from __future__ import annotations

import argparse
import csv
import importlib.util
import math
import os
import time
from pathlib import Path

import lightning_lite as L
import rushlight as rl
from lightning_lite.callbacks import ModelCheckpoint, TQDMProgressBar
from lightning_lite.loggers import CSVLogger
from rushlight import nn
from rushlight.utils.data import DataLoader
from rushlight_vision import transforms
from rushlight_vision.datasets import DigitsSample

FOLDER = Path("runs/quickstart")
EPOCHS = 24
BATCH_SIZE = 64

to_input = transforms.Compose(
    [transforms.ToTensor(), transforms.Normalize(mean=(0.1307,), std=(0.3081,))]
)
# Shifting a digit by a pixel or two changes the picture but not the digit: more data for nothing.
to_varied_input = transforms.Compose([transforms.RandomCrop(28, padding=2), to_input])


def block(inputs: int, outputs: int) -> nn.Sequential:
    """Convolution, normalization, activation; half the height and width."""
    return nn.Sequential(
        nn.Conv2d(inputs, outputs, kernel_size=3, padding=1),
        nn.BatchNorm2d(outputs),
        nn.ReLU(),
        nn.MaxPool2d(2),
    )


class DigitReader(L.LightningModule):
    """Reads a digit: images (N, 1, 28, 28) -> scores (N, 10)."""

    def __init__(self, learning_rate: float = 4e-3) -> None:
        super().__init__()
        self.save_hyperparameters()
        self.features = nn.Sequential(block(1, 16), block(16, 32), block(32, 64))
        self.classifier = nn.Sequential(
            nn.Flatten(),
            nn.Dropout(0.3),
            nn.Linear(64 * 3 * 3, 128),
            nn.ReLU(),
            nn.Dropout(0.3),
            nn.Linear(128, 10),
        )

    def forward(self, images):
        return self.classifier(self.features(images))

    def training_step(self, batch, batch_idx):
        return self._measure(batch, "train")

    def validation_step(self, batch, batch_idx):
        self._measure(batch, "val")

    def test_step(self, batch, batch_idx):
        self._measure(batch, "test")

    def predict_step(self, batch, batch_idx):
        images, _ = batch
        return self(images).argmax(dim=1)

    def _measure(self, batch, part):
        images, labels = batch
        scores = self(images)
        loss = nn.functional.cross_entropy(scores, labels)
        accuracy = (scores.argmax(dim=1) == labels).float().mean()
        self.log(f"{part}_loss", loss, on_step=False, on_epoch=True)
        self.log(f"{part}_accuracy", accuracy, on_step=False, on_epoch=True, prog_bar=True)
        return loss

    def configure_optimizers(self):
        rate = self.hparams.learning_rate
        optimizer = rl.optim.AdamW(self.parameters(), lr=rate)
        steps = self.trainer.estimated_stepping_batches
        schedule = rl.optim.lr_scheduler.OneCycleLR(optimizer, max_lr=rate, total_steps=steps)
        return {"optimizer": optimizer, "lr_scheduler": {"scheduler": schedule, "interval": "step"}}

    # -- keeping and using the weights alone ----------------------------------------------------

    def save(self, path) -> None:
        """Write the weights as safetensors."""
        rl.safetensors.save_file(self.state_dict(), path)

    @classmethod
    def load(cls, path) -> DigitReader:
        """A reader with weights that `save` wrote."""
        reader = cls()
        reader.load_state_dict(rl.safetensors.load_file(path))
        return reader.eval()

    def read(self, image) -> int:
        """The digit on a PIL image of 28x28 pixels, white on black."""
        with rl.no_grad():
            return int(self(to_input(image).unsqueeze(0)).argmax())


def loaders():
    """Batches for training, validation and test."""
    train = DigitsSample(split="train", transform=to_varied_input)
    val = DigitsSample(split="val", transform=to_input)
    test = DigitsSample(split="test", transform=to_input)
    return (
        DataLoader(train, batch_size=BATCH_SIZE, shuffle=True),
        DataLoader(val, batch_size=250),
        DataLoader(test, batch_size=250),
    )


def keep_earlier(folder: Path) -> None:
    """Give the results of an earlier run another folder's name."""
    if not folder.exists():
        return
    number = 1
    while (other := folder.with_name(f"{folder.name}-{number}")).exists():
        number += 1
    folder.rename(other)
    print(f"earlier results are in {other}/ now", flush=True)


def train(seed: int = 0, epochs: int = EPOCHS, folder: Path = FOLDER, resume: bool = False):
    """Train a reader; return it, the trainer, and its accuracy on the test digits (0 to 1)."""
    L.seed_everything(seed, verbose=False)
    if not resume:
        keep_earlier(folder)
    folder.mkdir(parents=True, exist_ok=True)
    trainer = L.Trainer(
        max_epochs=epochs,
        logger=CSVLogger(folder.parent, name=folder.name, version=""),
        callbacks=[
            ModelCheckpoint(folder, filename="last", enable_version_counter=False),
            TQDMProgressBar(leave=True),  # every epoch's line stays
        ],
        num_sanity_val_steps=0,
    )
    reader = DigitReader()
    training, validation, test = loaders()
    trainer.fit(reader, training, validation, ckpt_path="last" if resume else None)
    if trainer.interrupted:
        return reader, trainer, None
    (measured,) = trainer.test(reader, test, verbose=False)
    return reader, trainer, measured["test_accuracy"]


def column(rows, name):
    """The epochs and values of one column of metrics.csv."""
    found = [(int(row["epoch"]) + 1, float(row[name])) for row in rows if row.get(name)]
    return [epoch for epoch, _ in found], [value for _, value in found]


def draw_curves(folder: Path) -> None:
    """Draw loss and accuracy over the epochs, from metrics.csv."""
    import matplotlib

    matplotlib.use("Agg")
    from matplotlib import pyplot as plt

    with open(folder / "metrics.csv", newline="") as file:
        rows = list(csv.DictReader(file))
    figure, (left, right) = plt.subplots(1, 2, figsize=(10, 4), layout="constrained")
    for part, label in (("train", "training"), ("val", "validation")):
        left.plot(*column(rows, f"{part}_loss"), label=label)
        epochs, values = column(rows, f"{part}_accuracy")
        right.plot(epochs, [100 * value for value in values], label=label)
    left.set(xlabel="epoch", ylabel="cross entropy", yscale="log", title="Loss")
    right.set(xlabel="epoch", ylabel="digits read right (%)", ylim=(90, 100.2), title="Accuracy")
    for axes in (left, right):
        axes.grid(alpha=0.3)
        axes.legend()
    figure.savefig(folder / "curves.png", dpi=120)
    plt.close(figure)


def draw_mistakes(reader, trainer, folder: Path, most: int = 24) -> int:
    """Draw the misread test digits with prediction and truth; return how many there are."""
    import matplotlib

    matplotlib.use("Agg")
    from matplotlib import pyplot as plt

    digits = DigitsSample(split="test")
    predicted = rl.cat(trainer.predict(reader, loaders()[2]))
    wrong = (predicted != digits.targets).nonzero().flatten().tolist()
    shown = wrong[:most]
    rows = max(1, math.ceil(len(shown) / 6))
    figure, grid = plt.subplots(rows, 6, figsize=(9, 1.8 * rows + 0.5), layout="constrained")
    for axes in grid.flat:
        axes.axis("off")
    for axes, index in zip(grid.flat, shown, strict=False):
        axes.imshow(digits.data[index].numpy(), cmap="gray_r")
        axes.set_title(f"read {predicted[index].item()}, is {digits.targets[index].item()}")
    figure.suptitle(f"{len(wrong)} of {len(digits)} test digits misread")
    figure.savefig(folder / "mistakes.png", dpi=120)
    plt.close(figure)
    return len(wrong)


def usage(folder: Path) -> str:
    """Three lines that load and use the saved model, from the folder that this runs in."""
    here = os.path.relpath(Path(__file__).parent)
    path = folder / "model.safetensors"
    return "\n".join(
        [
            f'import sys; sys.path.append("{here}"); import quickstart',
            f'reader = quickstart.DigitReader.load("{path}")',
            'print(reader.read(quickstart.DigitsSample(split="test")[0][0]))',
        ]
    )


def main() -> None:
    parser = argparse.ArgumentParser(description="Train a network that reads handwritten digits.")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--epochs", type=int, default=EPOCHS)
    parser.add_argument("--resume", action="store_true", help="go on from the last checkpoint")
    options = parser.parse_args()
    if importlib.util.find_spec("matplotlib") is None:  # before minutes of training, not after
        parser.error("the pictures need matplotlib: python3 -m pip install matplotlib")
    start = time.monotonic()
    reader, trainer, accuracy = train(options.seed, options.epochs, resume=options.resume)
    if accuracy is None:
        print("interrupted; --resume goes on from here")
        return
    seconds = time.monotonic() - start
    reader.save(FOLDER / "model.safetensors")
    draw_curves(FOLDER)
    draw_mistakes(reader, trainer, FOLDER)
    print(f"\ntest accuracy: {100 * accuracy:.1f} %   ({seconds:.0f} s)")
    print(f"in {FOLDER}/: curves.png, mistakes.png, metrics.csv, last.ckpt, model.safetensors")
    print("\nThree lines that use the model:\n")
    print(usage(FOLDER))


if __name__ == "__main__":
    main()

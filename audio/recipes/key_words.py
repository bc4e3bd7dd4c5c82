"""Train a network that tells apart a few words, or other short sounds.

    python audio/recipes/key_words.py train.tsv valid.tsv --out runs/key_words

The files have the path of a recording, a tab and its label a line.
"""

from __future__ import annotations

import json

from shared import RATE, arguments, cut, one_cycle, read, write

import lightning_lite as L
import rushlight as rl
from rushlight import nn
from rushlight.utils.data import DataLoader
from rushlight_audio.models import SpectrogramClassifier


class Training(L.LightningModule):
    """The network, its loss and how often it is right."""

    def __init__(self, model, rate: float, steps: int):
        super().__init__()
        self.model, self.rate, self.steps = model, rate, steps

    def training_step(self, batch, batch_idx):
        waves, labels = batch
        loss = nn.functional.cross_entropy(self.model(waves), labels, label_smoothing=0.1)
        self.log("train_loss", loss, prog_bar=True)
        return loss

    def validation_step(self, batch, batch_idx):
        waves, labels = batch
        right = (self.model(waves).argmax(1) == labels).float().mean()
        self.log("accuracy", right, prog_bar=True, batch_size=len(labels))

    def configure_optimizers(self):
        return one_cycle(self, self.rate, self.steps)


def main() -> None:
    """Read, train, measure, write."""
    sizes = {"epochs": 15, "batch": 16, "width": 32, "milliseconds": 1000}
    asked = arguments(__doc__, "runs/key_words", 5e-3, **sizes).parse_args()
    L.seed_everything(0)
    train, valid = read(asked.train, lower=False), read(asked.valid, lower=False)
    labels = sorted({label for _, label in train})
    samples = asked.milliseconds * RATE // 1000

    def collate(batch):
        waves = rl.stack([cut(wave, samples, repeat=False) for wave, _ in batch])
        return waves, rl.tensor([labels.index(label) for _, label in batch])

    channels = (asked.width // 2, asked.width, asked.width)
    model = SpectrogramClassifier(len(labels), RATE, channels=channels, dropout=0.1)
    loader = DataLoader(train, asked.batch, shuffle=True, collate_fn=collate)
    training = Training(model, asked.lr, asked.epochs * len(loader))
    options = {"logger": False, "enable_checkpointing": False}
    trainer = L.Trainer(max_epochs=asked.epochs, **options)
    trainer.fit(training, loader, DataLoader(valid, asked.batch, collate_fn=collate))
    write(asked.out, model.eval(), {"labels": labels, "channels": channels})
    print(json.dumps({"accuracy": round(float(trainer.callback_metrics["accuracy"]), 4)}))


if __name__ == "__main__":
    main()

"""Train a network that says which tags fit a piece of music: instruments, genres, moods.

    python audio/recipes/tag_music.py train.tsv valid.tsv --out runs/tags

The files have the path of a recording, a tab and its tags, between commas, a line. Pieces that are
longer than `--milliseconds` are cut anywhere in training; in validation the scores of all their
parts are averaged.
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
    """The network and its loss: every tag is a question of its own."""

    def __init__(self, model, rate: float, steps: int):
        super().__init__()
        self.model, self.rate, self.steps = model, rate, steps

    def training_step(self, batch, batch_idx):
        waves, tags = batch
        loss = nn.functional.binary_cross_entropy_with_logits(self.model(waves), tags)
        self.log("train_loss", loss, prog_bar=True)
        return loss

    def configure_optimizers(self):
        return one_cycle(self, self.rate, self.steps)


def average_precision(scores: rl.Tensor, wanted: rl.Tensor) -> float:
    """The mean, over the pieces that have a tag, of the share of pieces with it among those that
    score as high."""
    order = scores.argsort(descending=True, stable=True)
    found = wanted[order].cumsum(0)
    ranks = rl.arange(1, len(order) + 1)
    return float((found / ranks)[wanted[order] > 0].mean())


def scores_of(model, wave: rl.Tensor, samples: int) -> rl.Tensor:
    """The tags' probabilities of a whole piece, the mean over its parts."""
    count = max(1, len(wave) // samples)
    parts = rl.stack([cut(each, samples, repeat=False) for each in wave.tensor_split(count)])
    return model(parts).sigmoid().mean(0)


def split(tags: str) -> list[str]:
    """The tags of a line."""
    return [tag.strip() for tag in tags.split(",") if tag.strip()]


def main() -> None:
    """Read, train, measure beside the order of chance, write."""
    sizes = {"epochs": 20, "batch": 16, "width": 32, "milliseconds": 3000}
    asked = arguments(__doc__, "runs/tags", 5e-3, **sizes).parse_args()
    L.seed_everything(0)
    train, valid = read(asked.train, lower=False), read(asked.valid, lower=False)
    names = sorted({tag for _, tags in train for tag in split(tags)})
    samples = asked.milliseconds * RATE // 1000

    def marks(tags: str) -> rl.Tensor:
        return rl.tensor([float(name in split(tags)) for name in names])

    def collate(batch):
        waves = rl.stack([cut(wave, samples, repeat=False) for wave, _ in batch])
        return waves, rl.stack([marks(tags) for _, tags in batch])

    channels = (asked.width // 2, asked.width, asked.width)
    model = SpectrogramClassifier(len(names), RATE, channels=channels, dropout=0.1)
    loader = DataLoader(train, asked.batch, shuffle=True, collate_fn=collate)
    training = Training(model, asked.lr, asked.epochs * len(loader))
    L.Trainer(max_epochs=asked.epochs, logger=False, enable_checkpointing=False).fit(
        training, loader
    )
    model.eval()
    with rl.no_grad():
        scores = rl.stack([scores_of(model, wave, samples) for wave, _ in valid])
    wanted = rl.stack([marks(tags) for _, tags in valid])
    known = [i for i in range(len(names)) if wanted[:, i].any()]
    precisions = [average_precision(scores[:, i], wanted[:, i]) for i in known]
    write(asked.out, model, {"tags": names, "channels": channels})
    found = {
        "mean_average_precision": round(sum(precisions) / len(precisions), 4),
        "of_chance": round(float(wanted[:, known].mean()), 4),
    }
    print(json.dumps(found))


if __name__ == "__main__":
    main()

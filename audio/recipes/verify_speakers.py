"""Train an encoder of speakers and measure how well it tells whether two recordings are one voice.

    python audio/recipes/verify_speakers.py train.tsv valid.tsv --out runs/speakers

The files have the path of a recording, a tab and the speaker's name a line. The speakers of the
second may be others: all pairs of its recordings are compared.
"""

from __future__ import annotations

import json

from shared import RATE, arguments, cut, one_cycle, read, write

import lightning_lite as L
import rushlight as rl
from rushlight import nn
from rushlight.utils.data import DataLoader
from rushlight_audio import transforms
from rushlight_audio.metrics import equal_error_rate
from rushlight_audio.models import ECAPA_TDNN


class Encoder(nn.Module):
    """Embeddings of length 1: log mel spectrograms and an ECAPA-TDNN."""

    def __init__(self, width: int, size: int):
        super().__init__()
        self.mel = transforms.MelSpectrogram(RATE, n_fft=400, hop_length=160, n_mels=80)
        channels = [width] * 4 + [3 * width]
        self.body = ECAPA_TDNN(80, size, channels, attention_channels=32, se_channels=32)

    def forward(self, waves):
        levels = (self.mel(waves) + 1e-6).log()
        levels = levels - levels.mean(-1, keepdim=True)
        embedded = self.body(levels.transpose(1, 2)).squeeze(1)
        return nn.functional.normalize(embedded, dim=1)


class MarginLoss(nn.Module):
    """Cross entropy of scaled cosines, the right one made smaller by an angle (Deng et al.,
    ArcFace: additive angular margin loss for deep face recognition, 2018)."""

    def __init__(self, size: int, speakers: int, margin: float = 0.2, scale: float = 30.0):
        super().__init__()
        self.centres = nn.Parameter(rl.randn(speakers, size))
        self.margin, self.scale = margin, scale

    def forward(self, embedded, labels):
        cosines = embedded @ nn.functional.normalize(self.centres, dim=1).T
        angles = rl.acos(cosines.clamp(-1 + 1e-6, 1 - 1e-6))
        right = nn.functional.one_hot(labels, cosines.shape[1]).bool()
        shifted = rl.where(right, rl.cos(angles + self.margin), cosines)
        return nn.functional.cross_entropy(self.scale * shifted, labels)


class Training(L.LightningModule):
    """The encoder and its loss."""

    def __init__(self, model, loss, rate: float, steps: int):
        super().__init__()
        self.model, self.loss, self.rate, self.steps = model, loss, rate, steps

    def training_step(self, batch, batch_idx):
        waves, labels = batch
        loss = self.loss(self.model(waves), labels)
        self.log("train_loss", loss, prog_bar=True)
        return loss

    def configure_optimizers(self):
        return one_cycle(self, self.rate, self.steps)


def measured(model, rows) -> float:
    """The equal error rate over all pairs of recordings."""
    with rl.no_grad():
        embedded = rl.cat([model(wave.unsqueeze(0)) for wave, _ in rows])
    alike, same = [], []
    for one in range(len(rows)):
        for other in range(one + 1, len(rows)):
            alike.append(float(embedded[one] @ embedded[other]))
            same.append(rows[one][1] == rows[other][1])
    return equal_error_rate(rl.tensor(alike), rl.tensor(same))[0]


def main() -> None:
    """Read, train, measure, write."""
    sizes = {"epochs": 20, "batch": 16, "width": 128, "size": 96, "milliseconds": 1500}
    asked = arguments(__doc__, "runs/speakers", 3e-3, **sizes).parse_args()
    L.seed_everything(0)
    train, valid = read(asked.train, lower=False), read(asked.valid, lower=False)
    speakers = sorted({name for _, name in train})
    samples = asked.milliseconds * RATE // 1000

    def collate(batch):
        labels = rl.tensor([speakers.index(name) for _, name in batch])
        return rl.stack([cut(wave, samples) for wave, _ in batch]), labels

    model = Encoder(asked.width, asked.size)
    loss = MarginLoss(asked.size, len(speakers))
    loader = DataLoader(train, asked.batch, shuffle=True, drop_last=True, collate_fn=collate)
    training = Training(model, loss, asked.lr, asked.epochs * len(loader))
    options = {"gradient_clip_val": 1.0, "logger": False, "enable_checkpointing": False}
    L.Trainer(max_epochs=asked.epochs, **options).fit(training, loader)
    write(asked.out, model.eval(), {"width": asked.width, "size": asked.size})
    print(json.dumps({"equal_error_rate": round(measured(model, valid), 4)}))


if __name__ == "__main__":
    main()

"""Train a network that takes noise away from recordings.

    python audio/recipes/denoise.py train.tsv valid.tsv --out runs/denoiser

The files have the path of a clean recording a line; what stands behind a tab does not count. Noise
is made: white, or of falling frequencies, 0 to 15 decibels below the recording. `--noises
noises.tsv` takes recordings of noise.
"""

from __future__ import annotations

import json

from shared import RATE, arguments, cut, one_cycle, read, write

import lightning_lite as L
import rushlight as rl
from rushlight.utils.data import DataLoader
from rushlight_audio import functional
from rushlight_audio.metrics import scale_invariant_signal_distortion_ratio as si_sdr
from rushlight_audio.models import ConvTasNet


def noise(samples: int, noises: list) -> rl.Tensor:
    """A part of one of the recordings of noise; noise of a spectrum by chance if there are none."""
    if noises:
        return cut(noises[int(rl.randint(len(noises), (1,)))][0], samples)
    spectrum = rl.fft.rfft(rl.randn(samples))
    slope = float(rl.rand(1))
    return rl.fft.irfft(spectrum / rl.arange(1, len(spectrum) + 1) ** slope, samples)


def mixed(clean: rl.Tensor, noises: list) -> rl.Tensor:
    """Recordings ``[B, T]`` with noise of levels by chance."""
    added = rl.stack([noise(clean.shape[1], noises) for _ in clean])
    return functional.add_noise(clean, added, 15 * rl.rand(len(clean)))


class Training(L.LightningModule):
    """The network; its loss is the ratio of the recording to what else is in the result."""

    def __init__(self, model, noises: list, rate: float, steps: int):
        super().__init__()
        self.model, self.noises, self.rate, self.steps = model, noises, rate, steps

    def training_step(self, clean, batch_idx):
        result = self.model(mixed(clean, self.noises).unsqueeze(1)).squeeze(1)
        loss = -si_sdr(result, clean).mean()
        self.log("train_loss", loss, prog_bar=True)
        return loss

    def configure_optimizers(self):
        return one_cycle(self, self.rate, self.steps)


def measured(model, rows, noises) -> dict[str, float]:
    """Decibels before and behind the network, the mean over recordings with the same noise."""
    rl.manual_seed(1)
    before, behind = [], []
    with rl.no_grad():
        for clean, _ in rows:
            noisy = mixed(clean.unsqueeze(0), noises)
            result = model(noisy.unsqueeze(1)).squeeze(1)
            before.append(float(si_sdr(noisy, clean.unsqueeze(0))))
            behind.append(float(si_sdr(result, clean.unsqueeze(0))))
    count = len(rows)
    return {"before": round(sum(before) / count, 2), "behind": round(sum(behind) / count, 2)}


def main() -> None:
    """Read, train, measure, write."""
    sizes = {"epochs": 20, "batch": 8, "features": 128, "blocks": 5, "milliseconds": 1000}
    parser = arguments(__doc__, "runs/denoiser", 2e-3, **sizes)
    parser.add_argument("--noises")
    asked = parser.parse_args()
    L.seed_everything(0)
    train, valid = read(asked.train), read(asked.valid)
    noises = read(asked.noises) if asked.noises else []
    samples = asked.milliseconds * RATE // 1000
    options = {"enc_num_feats": asked.features, "msk_num_feats": asked.features // 2}
    options |= {"msk_num_hidden_feats": asked.features, "msk_num_layers": asked.blocks}
    model = ConvTasNet(1, 16, msk_num_stacks=1, **options)

    def collate(batch):
        return rl.stack([cut(wave, samples) for wave, _ in batch])

    loader = DataLoader(train, asked.batch, shuffle=True, drop_last=True, collate_fn=collate)
    training = Training(model, noises, asked.lr, asked.epochs * len(loader))
    fitting = {"gradient_clip_val": 5.0, "logger": False, "enable_checkpointing": False}
    L.Trainer(max_epochs=asked.epochs, **fitting).fit(training, loader)
    write(asked.out, model.eval(), {"enc_kernel_size": 16, "msk_num_stacks": 1, **options})
    print(json.dumps(measured(model, valid, noises)))


if __name__ == "__main__":
    main()

"""Train a recogniser of speech by CTC: mel spectrograms, convolutions, a Conformer, characters.

    python audio/recipes/recognise_speech.py train.tsv valid.tsv --out runs/recogniser

The files have the path of a recording, a tab and its text a line. Leaves a folder with weights and
characters; `--language-model words.arpa --lexicon words.txt` measures with a beam search.
"""

from __future__ import annotations

from shared import RATE, arguments, collate, one_cycle, read, write

import lightning_lite as L
import rushlight as rl
from rushlight import nn
from rushlight.utils.data import DataLoader
from rushlight_audio import transforms
from rushlight_audio.metrics import cer, wer
from rushlight_audio.models import Conformer
from rushlight_audio.models.decoder import GreedyCTCDecoder, ctc_decoder

BLANK, SPACE = "-", "|"


class Recogniser(nn.Module):
    """Log probabilities of characters, one frame for 40 ms of log mel spectrograms."""

    def __init__(self, characters: int, width: int, layers: int):
        super().__init__()
        self.mel = transforms.MelSpectrogram(RATE, n_fft=400, hop_length=160, n_mels=80)
        self.mask = transforms.SpecAugment(2, 20, 2, 15, iid_masks=True)
        self.shrink = nn.Sequential(
            nn.Conv1d(80, width, 5, stride=2, padding=2),
            nn.ReLU(),
            nn.Conv1d(width, width, 5, stride=2, padding=2),
            nn.ReLU(),
        )
        self.body = Conformer(width, 4, 4 * width, layers, 15, dropout=0.1)
        self.head = nn.Linear(width, characters)

    def forward(self, waves, lengths):
        levels = (self.mel(waves) + 1e-6).log()
        levels = (levels - levels.mean(-1, keepdim=True)) / (levels.std(-1, keepdim=True) + 1e-5)
        if self.training:
            levels = self.mask(levels)
        frames = (lengths // 160 + 4) // 4  # two halvings
        x = self.shrink(levels).transpose(1, 2)[:, : int(frames.max())]
        return self.head(self.body(x, frames)[0]).log_softmax(-1), frames


class Training(L.LightningModule):
    """The recogniser, its loss and its errors."""

    def __init__(self, model, characters: list[str], rate: float, steps: int, decoder=None):
        super().__init__()
        self.model, self.rate, self.steps = model, rate, steps
        self.numbers = {each: number for number, each in enumerate(characters)}
        self.greedy, self.decoder, self.pairs = GreedyCTCDecoder(characters), decoder, []

    def training_step(self, batch, batch_idx):
        waves, lengths, texts = batch
        scores, frames = self.model(waves, lengths)
        rows = [[self.numbers[each] for each in text.replace(" ", SPACE)] for text in texts]
        targets = rl.tensor([number for row in rows for number in row])
        sizes = rl.tensor([len(row) for row in rows])
        loss = nn.functional.ctc_loss(scores.transpose(0, 1), targets, frames, sizes)
        self.log("train_loss", loss, prog_bar=True)
        return loss

    def validation_step(self, batch, batch_idx):
        waves, lengths, texts = batch
        scores, frames = self.model(waves, lengths)
        if self.decoder is None:
            said = ["".join(row).replace(SPACE, " ") for row in self.greedy(scores, frames)]
        else:
            said = [" ".join(best[0].words) for best in self.decoder(scores, frames)]
        self.pairs += zip(said, texts, strict=True)

    def on_validation_epoch_end(self):
        said, texts = zip(*self.pairs, strict=True)
        self.pairs = []
        self.log("wer", wer(said, texts), prog_bar=True)
        self.log("cer", cer(said, texts))

    def configure_optimizers(self):
        return one_cycle(self, self.rate, self.steps)


def main() -> None:
    """Read, train, measure, write."""
    sizes = {"epochs": 60, "batch": 8, "width": 144, "layers": 4}
    parser = arguments(__doc__, "runs/recogniser", 1e-3, **sizes)
    parser.add_argument("--lexicon")
    parser.add_argument("--language-model")
    asked = parser.parse_args()
    L.seed_everything(0)
    train, valid = read(asked.train), read(asked.valid)
    letters = sorted({each for _, text in train + valid for each in text} - {" "})
    characters = [BLANK, SPACE, *letters]
    words = (asked.lexicon, characters, asked.language_model)
    beams = ctc_decoder(*words) if asked.lexicon else None
    model = Recogniser(len(characters), asked.width, asked.layers)
    loader = DataLoader(train, asked.batch, shuffle=True, collate_fn=collate)
    options = {"gradient_clip_val": 1.0, "logger": False, "enable_checkpointing": False}
    often = max(1, asked.epochs // 4)
    trainer = L.Trainer(max_epochs=asked.epochs, check_val_every_n_epoch=often, **options)
    validation = DataLoader(valid, asked.batch, collate_fn=collate)
    trainer.fit(
        Training(model, characters, asked.lr, asked.epochs * len(loader), beams), loader, validation
    )
    sizes = {"characters": characters, "width": asked.width, "layers": asked.layers}
    write(asked.out, model.eval(), sizes)
    print({name: round(float(value), 4) for name, value in trainer.callback_metrics.items()})


if __name__ == "__main__":
    main()

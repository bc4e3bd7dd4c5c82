"""Train a synthesiser of speech: FastSpeech 2 over characters, and Griffin and Lim's method.

    python audio/recipes/synthesise.py train.tsv --recogniser runs/recogniser --text yes --out voice

The file has the path of a recording, a tab and its text a line. How long each character lasts is
what the recogniser of `recognise_speech.py` says, which also reads the result back.
"""

from __future__ import annotations

import argparse
import json
from pathlib import Path

from recognise_speech import SPACE, Recogniser
from shared import RATE, one_cycle, read, write

import lightning_lite as L
import rushlight as rl
from rushlight import nn
from rushlight.nn.utils.rnn import pad_sequence
from rushlight.utils.data import DataLoader
from rushlight_audio import functional, save, transforms
from rushlight_audio.models import FastSpeech2
from rushlight_audio.models.decoder import GreedyCTCDecoder

SPECTRUM = {"n_fft": 1024, "hop_length": 160, "power": 1.0}
MEL = transforms.MelSpectrogram(RATE, n_mels=80, **SPECTRUM)
BACK = transforms.InverseMelScale(513, 80, RATE)
PHASES = transforms.GriffinLim(1024, hop_length=160, power=1.0)


def lasting(recogniser, wave: rl.Tensor, numbers: list[int], frames: int) -> rl.Tensor:
    """Frames of 10 ms of each character: from its first to the next one's."""
    with rl.no_grad():
        scores, _ = recogniser(wave.unsqueeze(0), rl.tensor([len(wave)]))
    path, chances = functional.forced_align(scores, rl.tensor([numbers], dtype=rl.int32))
    spans = functional.merge_tokens(path[0], chances[0].exp())
    edges = [0, *(4 * span.start for span in spans[1:]), frames]
    return rl.tensor(edges).diff()


def example(recogniser, numbers: dict[str, int], wave: rl.Tensor, text: str) -> tuple:
    """Symbols, how long each lasts, its pitch and loudness, and the spectrogram."""
    symbols = [numbers[each] for each in text.replace(" ", SPACE)]
    mel = (MEL(wave) + 1e-4).log().T
    lengths = lasting(recogniser, wave, symbols, len(mel))
    pitch = functional.detect_pitch_frequency(wave, RATE, freq_high=2000).log()
    pitch = nn.functional.interpolate(pitch[None, None], len(mel), mode="nearest")[0, 0]
    parts = [[part.mean() for part in row.split(lengths.tolist())] for row in (pitch, mel.mean(1))]
    pitch, loud = (rl.stack(row).unsqueeze(1) for row in parts)
    return rl.tensor(symbols), lengths, (pitch - 6) / 2, (loud + 5) / 3, mel


class Training(L.LightningModule):
    """The synthesiser and its losses."""

    def __init__(self, model, rate: float, steps: int):
        super().__init__()
        self.model, self.rate, self.steps = model, rate, steps

    def training_step(self, batch, batch_idx):
        columns = [pad_sequence(list(each), batch_first=True) for each in zip(*batch, strict=True)]
        symbols, lengths, pitch, loud, mel = columns
        mask = symbols == 0
        found = self.model(symbols, mask, lengths, pitch, loud)
        here = (rl.arange(mel.shape[1]) < lengths.sum(1, keepdim=True)).unsqueeze(2)
        loss = sum(((each - mel).abs() * here).sum() for each in (found.coarse, found.mel))
        loss = loss / (80 * here.sum())
        known = (~mask).unsqueeze(2)
        pairs = [(found.log_durations.unsqueeze(2), (lengths + 1.0).log().unsqueeze(2))]
        for one, other in (*pairs, (found.pitch, pitch), (found.energy, loud)):
            loss = loss + ((one - other).square() * known).sum() / known.sum()
        self.log("train_loss", loss, prog_bar=True)
        return loss

    def configure_optimizers(self):
        return one_cycle(self, self.rate, self.steps)


def main() -> None:
    """Read, train, speak, listen, write."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("train")
    for name in ("--recogniser", "--text", "--out"):
        parser.add_argument(name, required=True)
    for name, value in (("epochs", 100), ("batch", 8), ("width", 128), ("layers", 2)):
        parser.add_argument(f"--{name}", type=int, default=value)
    parser.add_argument("--lr", type=float, default=2e-3)
    asked = parser.parse_args()
    L.seed_everything(0)
    known = json.loads(Path(asked.recogniser, "config.json").read_text(encoding="utf-8"))
    characters, *shape = (known[name] for name in ("characters", "width", "layers"))
    recogniser = Recogniser(len(characters), *shape).eval()
    recogniser.load_state_dict(rl.load(Path(asked.recogniser, "model.pt")))
    numbers = {each: number for number, each in enumerate(characters)}
    rows = [example(recogniser, numbers, wave, text) for wave, text in read(asked.train)]
    sizes = {"hidden_size": asked.width, "vocab_size": len(characters)}
    for part in ("encoder", "decoder"):
        sizes |= {f"{part}_layers": asked.layers, f"{part}_linear_units": 2 * asked.width}
    sizes |= {f"{name}_predictor_channels": asked.width for name in ("duration", "pitch", "energy")}
    sizes |= {"decoder_kernel_size": 15, "speech_decoder_postnet_units": 2 * asked.width}
    model = FastSpeech2(sizes)
    loader = DataLoader(rows, asked.batch, shuffle=True, collate_fn=list)
    training = Training(model, asked.lr, asked.epochs * len(loader))
    options = {"gradient_clip_val": 1.0, "logger": False, "enable_checkpointing": False}
    L.Trainer(max_epochs=asked.epochs, **options).fit(training, loader)
    write(asked.out, model.eval(), {**sizes, "characters": characters})
    said = rl.tensor([[numbers[each] for each in asked.text.lower().replace(" ", SPACE)]])
    with rl.no_grad():
        wave = PHASES(BACK((model(said).mel[0].T.exp() - 1e-4).clamp(min=0)))
        scores, frames = recogniser(wave.unsqueeze(0), rl.tensor([len(wave)]))
    save(str(Path(asked.out) / "said.wav"), wave.unsqueeze(0), RATE)
    heard = "".join(GreedyCTCDecoder(characters)(scores, frames)[0]).replace(SPACE, " ")
    print(json.dumps({"said": asked.text, "heard": heard}))


if __name__ == "__main__":
    main()

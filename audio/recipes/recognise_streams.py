"""Train a transducer that recognises speech while it is spoken, and measure how fast it is.

    python audio/recipes/recognise_streams.py train.tsv valid.tsv --out runs/transducer

The files have the path of a recording, a tab and its text a line. The recordings of the second are
given to the network 160 ms at a time, as a microphone would.
"""

from __future__ import annotations

import json
import time

from shared import RATE, arguments, one_cycle, read, write

import lightning_lite as L
import rushlight as rl
from rushlight import nn
from rushlight.nn.utils.rnn import pad_sequence
from rushlight.utils.data import DataLoader
from rushlight_audio import functional, transforms
from rushlight_audio.metrics import wer
from rushlight_audio.models import RNNTBeamSearch, emformer_rnnt_model

SEGMENT, RIGHT, STRIDE = 16, 4, 4  # in frames of 10 ms
MEL = transforms.MelSpectrogram(RATE, n_fft=400, hop_length=160, n_mels=80)


def build(symbols: int, width: int, layers: int) -> nn.Module:
    """An Emformer over segments, an LSTM over characters."""
    return emformer_rnnt_model(
        input_dim=80, encoding_dim=width, num_symbols=symbols, segment_length=SEGMENT,
        right_context_length=RIGHT, time_reduction_input_dim=width // STRIDE,
        time_reduction_stride=STRIDE, transformer_num_heads=4, transformer_ffn_dim=4 * width,
        transformer_num_layers=layers, transformer_dropout=0.1, transformer_activation="gelu",
        transformer_left_context_length=30, transformer_max_memory_size=0,
        transformer_weight_init_scale_strategy="depthwise", transformer_tanh_on_mem=True,
        symbol_embedding_dim=width, num_lstm_layers=1, lstm_layer_norm=True,
        lstm_layer_norm_epsilon=1e-3, lstm_dropout=0.1,
    )  # fmt: skip


def features(wave: rl.Tensor) -> rl.Tensor:
    """Logarithms of mel spectrograms ``[T, 80]``, about between -1 and 1."""
    return ((MEL(wave) + 1e-6).log().T + 4.0) / 6.0


class Training(L.LightningModule):
    """The transducer and its loss."""

    def __init__(self, model, characters: str, rate: float, steps: int):
        super().__init__()
        self.model, self.rate, self.steps, self.blank = model, rate, steps, len(characters)
        self.numbers = {each: number for number, each in enumerate(characters)}

    def training_step(self, batch, batch_idx):
        frames = [nn.functional.pad(heard, (0, 0, 0, RIGHT)) for heard, _ in batch]
        lengths = rl.tensor([len(heard) for heard, _ in batch])
        rows = [rl.tensor([self.numbers[each] for each in text]) for _, text in batch]
        sizes = rl.tensor([len(row) for row in rows], dtype=rl.int32)
        targets = pad_sequence(rows, batch_first=True, padding_value=self.blank)
        given = nn.functional.pad(targets, (1, 0), value=self.blank)
        padded = pad_sequence(frames, batch_first=True)
        logits, frames_left, _, _ = self.model(padded, lengths, given, sizes + 1)
        loss = functional.rnnt_loss(
            logits, targets.to(rl.int32), frames_left.to(rl.int32), sizes, blank=self.blank
        )
        self.log("train_loss", loss, prog_bar=True, batch_size=len(batch))
        return loss

    def configure_optimizers(self):
        return one_cycle(self, self.rate, self.steps)


@rl.no_grad()
def listened(search, heard: rl.Tensor, characters: str, beam: int, show=None) -> str:
    """The text of features that come a segment at a time; `show` is given each partial text."""
    state = hypotheses = None
    step = SEGMENT + RIGHT
    padded = nn.functional.pad(heard, (0, 0, 0, -len(heard) % SEGMENT + RIGHT))
    text = ""
    for start in range(0, len(padded) - RIGHT, SEGMENT):
        segment, length = padded[start : start + step], rl.tensor([step])
        hypotheses, state = search.infer(segment, length, beam, state, hypotheses)
        text = "".join(characters[number] for number in hypotheses[0][0][1:])
        if show is not None:
            show(text)
    return text


def main() -> None:
    """Read, train, listen, measure, write."""
    sizes = {"epochs": 80, "batch": 8, "width": 144, "layers": 4, "beam": 4}
    asked = arguments(__doc__, "runs/transducer", 2e-3, **sizes).parse_args()
    L.seed_everything(0)
    train, valid = (
        [(features(wave), text) for wave, text in read(path)] for path in (asked.train, asked.valid)
    )
    characters = "".join(sorted({each for _, text in train + valid for each in text}))
    model = build(len(characters) + 1, asked.width, asked.layers)
    loader = DataLoader(train, asked.batch, shuffle=True, collate_fn=list)
    training = Training(model, characters, asked.lr, asked.epochs * len(loader))
    options = {"gradient_clip_val": 1.0, "logger": False, "enable_checkpointing": False}
    L.Trainer(max_epochs=asked.epochs, **options).fit(training, loader)
    search = RNNTBeamSearch(model.eval(), blank=len(characters))
    start = time.perf_counter()
    said = [listened(search, heard, characters, asked.beam) for heard, _ in valid]
    factor = (time.perf_counter() - start) / (sum(len(heard) for heard, _ in valid) / 100)
    sizes = {"characters": characters, "width": asked.width, "layers": asked.layers}
    write(asked.out, model, sizes)
    errors = wer(said, [text for _, text in valid])
    print(json.dumps({"wer": round(errors, 4), "real_time_factor": round(factor, 4)}))


if __name__ == "__main__":
    main()

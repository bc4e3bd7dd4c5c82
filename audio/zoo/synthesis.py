"""The synthesiser of the English voice, which the recogniser reads back."""

from __future__ import annotations

import argparse
from typing import NamedTuple

from fitting import fit
from speech import LABELS, RATE, VOICE, Clip, aligned, parted_by_words, rates, transcribed

import rushlight as rl
from rushlight import nn
from rushlight.nn.utils.rnn import pad_sequence
from rushlight_audio.functional import detect_pitch_frequency
from rushlight_audio.zoo import Recogniser, Synthesiser, load_network
from rushlight_audio.zoo.files import Packaged

STEPS = 2000
FRAMES = 2000  # of a batch


class Example(NamedTuple):
    """A clip as the synthesiser learns it: `symbols`, `durations` in frames ``[T]``, `pitch` and
    `energy` ``[T, 1]``, `levels` ``[frames, mels]``."""

    symbols: rl.Tensor
    durations: rl.Tensor
    pitch: rl.Tensor
    energy: rl.Tensor
    levels: rl.Tensor


def synthesise(folder: str, asked: argparse.Namespace) -> tuple[Packaged, dict]:
    """Characters to the English voice; the sentences held out are the recogniser's."""
    known, held = parted_by_words(transcribed(folder))
    recogniser, network = load_network("recognise"), Synthesiser(LABELS)
    examples = [example(network, recogniser, clip) for clip in known]
    examples.sort(key=lambda each: len(each.levels))
    draw = rl.Generator().manual_seed(5)

    def loss_of() -> rl.Tensor:
        return loss(network, batch(examples, draw))

    fit(network, loss_of, STEPS, 1e-3)
    return network, {
        "data": f"{len(known)} prompts of {VOICE}; durations by the network recognise",
        "licence": "CC BY-SA 3.0",
        "_metrics": read_back(network, recogniser, held),
    }


def example(network: Synthesiser, recogniser: Recogniser, clip: Clip) -> Example:
    """A clip with the durations that a recogniser hears."""
    levels = network.levels(clip.waveform)
    starts = [start // network.hop for start, _ in aligned(recogniser, clip)]
    # CTC marks a character at some frame within it; half way to the next the other begins. Before
    # the first and after the last there are 50 ms of its own, and then silence.
    inner = [(one + other) // 2 for one, other in zip(starts, starts[1:], strict=False)]
    edges = [0, max(1, starts[0] - 4), *inner, min(len(levels) - 1, starts[-1] + 6), len(levels)]
    durations = rl.tensor(edges).diff()
    hertz = detect_pitch_frequency(clip.waveform, RATE, freq_high=500).clamp(min=80).log()
    hertz = nn.functional.interpolate(hertz[None, None], len(levels), mode="nearest")[0, 0]
    return Example(
        network.symbols(clip.text),
        durations,
        _means((hertz - 5.3) / 0.4, durations),
        _means(levels.mean(1), durations),
        levels,
    )


def _means(values: rl.Tensor, durations: rl.Tensor) -> rl.Tensor:
    """The mean of each symbol's frames ``[T, 1]``, 0 of none."""
    parts = values.split(durations.tolist())
    return rl.stack([part.mean() if len(part) else rl.tensor(0.0) for part in parts]).unsqueeze(1)


def batch(examples: list[Example], draw: rl.Generator) -> Example:
    """Some examples of about one length, padded; `examples` are in order of their lengths."""
    at = int(rl.randint(0, len(examples), (), generator=draw))
    count = max(1, FRAMES // len(examples[at].levels))
    rows = examples[max(0, at + 1 - count) : at + 1]
    return Example(
        *(pad_sequence(list(each), batch_first=True) for each in zip(*rows, strict=True))
    )


def loss(network: Synthesiser, rows: Example) -> rl.Tensor:
    """The error of spectrograms, and of what is expected of each symbol."""
    mask = rows.symbols == 0
    found = network(rows.symbols, mask, rows.durations, rows.pitch, rows.energy)
    here = rl.arange(rows.levels.shape[1]) < rows.durations.sum(1, keepdim=True)
    total = sum(
        (each - rows.levels).abs().mean(-1)[here].mean() for each in (found.coarse, found.mel)
    )
    durations = (rows.durations + 1.0).log()
    for expected, true in (
        (found.log_durations, durations),
        (found.pitch.squeeze(-1), rows.pitch.squeeze(-1)),
        (found.energy.squeeze(-1), rows.energy.squeeze(-1)),
    ):
        total = total + nn.functional.mse_loss(expected[~mask], true[~mask])
    return total


def read_back(
    network: Synthesiser, recogniser: Recogniser, held: list[Clip]
) -> dict[str, dict[str, float]]:
    """Error rates of a recogniser on synthesised sentences and on their recordings."""
    texts = [clip.text for clip in held]
    sounds = {
        f"{len(held)} sentences held out, synthesised and read by recognise": [
            network.predict(text) for text in texts
        ],
        "their recordings, read by recognise": [clip.waveform for clip in held],
    }
    found = {}
    for name, waveforms in sounds.items():
        heard = [recogniser.predict(each, RATE)["text"] for each in waveforms]
        found[name] = rates(heard, texts)
    return found

"""Speech with its words: transcribed prompts, what of them is held out, rows to learn from."""

from __future__ import annotations

import bisect
import dataclasses
import itertools
from pathlib import Path

from mixtures import Mixtures

import rushlight as rl
from rushlight import nn
from rushlight_audio.datasets import AsteriskPrompts
from rushlight_audio.functional import forced_align, merge_tokens
from rushlight_audio.metrics import cer, wer
from rushlight_audio.zoo import Recogniser

RATE = 8000
LABELS = "-abcdefghijklmnopqrstuvwxyz' "
VOICE = (
    "asterisk-core-sounds-en-wav 1.6.1 (Debian), 8 kHz, recorded by Allison Smith; transcripts "
    "written by us after Asterisk's public list of its prompts"
)
TRANSCRIPTS = Path(__file__).with_name("transcripts_en.tsv")


@dataclasses.dataclass(frozen=True)
class Clip:
    """A prompt: its name, its samples ``[T]`` of 8 kHz and its words."""

    name: str
    waveform: rl.Tensor
    text: str

    @property
    def symbols(self) -> list[int]:
        """Its characters as indices into `LABELS`."""
        return [LABELS.index(each) for each in self.text]


def transcribed(folder: str) -> list[Clip]:
    """The English prompts that have a transcript."""
    lines = TRANSCRIPTS.read_text(encoding="utf-8").splitlines()
    texts = dict(line.split("\t") for line in lines)
    prompts = AsteriskPrompts(folder, "en", download=True)
    names = [prompts.get_metadata(n)[1] for n in range(len(prompts))]
    return [
        Clip(name, prompts[n][0][0], texts[name]) for n, name in enumerate(names) if name in texts
    ]


def parted_by_words(clips: list[Clip], share: int = 7) -> tuple[list[Clip], list[Clip]]:
    """To learn from and held out: sentences of 3 to 20 words, whole groups of those that share two
    thirds of their words. Shorter prompts are not held out: no other says the same word."""
    groups = _alike(sorted({clip.text for clip in clips if len(clip.text.split()) >= 3}))
    groups = [group for group in groups if all(len(text.split()) <= 20 for text in group)]
    order = rl.randperm(len(groups), generator=rl.Generator().manual_seed(7)).tolist()
    held = {text for at in order[: len(groups) // share] for text in groups[at]}
    known = [clip for clip in clips if clip.text not in held]
    return known, [clip for clip in clips if clip.text in held]


def _alike(texts: list[str], limit: float = 0.34) -> list[list[str]]:
    """Groups of texts, each of which differs from another one of its group in at most a share
    `limit` of the words of the longer."""
    group_of = {text: [text] for text in texts}
    for one, other in itertools.combinations(texts, 2):
        short, long = sorted((one, other), key=lambda text: len(text.split()))
        if group_of[one] is not group_of[other] and wer(short, long) <= limit:
            group_of[one].extend(group_of[other])
            group_of.update(dict.fromkeys(group_of[other], group_of[one]))
    return list({id(group): group for group in group_of.values()}.values())


class Rows:
    """Draws rows of prompts one after the other, at another speed each, some in noise."""

    def __init__(self, clips: list[Clip], seed: int) -> None:
        self.mix = Mixtures([clip.waveform for clip in clips], seed)
        self.clips = sorted(clips, key=lambda clip: len(clip.waveform))
        self.lengths = [len(clip.waveform) for clip in self.clips]

    def batch(self, seconds: float, count: int) -> tuple[rl.Tensor, list[list[int]]]:
        """Waveforms ``[count, T]`` and the symbols of each."""
        rows = [self.row(round(seconds * RATE)) for _ in range(count)]
        return rl.stack([waveform for waveform, _ in rows]), [symbols for _, symbols in rows]

    def row(self, length: int) -> tuple[rl.Tensor, list[int]]:
        """One row of :meth:`batch`. Three of four begin with a prompt of a third of the row or
        more, which the others would leave no room for."""
        sound, symbols, at = rl.zeros(length), [], round(RATE * self.mix.uniform(0, 0.2))
        least = bisect.bisect(self.lengths, length // 3) if self.mix.below(4) else 0
        while fitting := bisect.bisect(self.lengths, (length - at) / 1.15):
            least = least if least < fitting else 0
            clip = self.clips[least + self.mix.below(fitting - least)]
            waveform = faster(clip.waveform, self.mix.uniform(0.88, 1.14))
            sound[at : at + len(waveform)] = waveform * 10 ** self.mix.uniform(-0.2, 0.2)
            symbols += [LABELS.index(" ")] * bool(symbols) + clip.symbols
            at, least = at + len(waveform) + round(RATE * self.mix.uniform(0, 0.2)), 0
        return self.mix.noisy(sound, 12, 40) if self.mix.below(2) else sound, symbols


def faster(waveform: rl.Tensor, speed: float) -> rl.Tensor:
    """A waveform played at another speed, and so at another pitch."""
    size = round(len(waveform) / speed)
    return nn.functional.interpolate(waveform[None, None], size=size, mode="linear")[0, 0]


def ctc_loss(found: rl.Tensor, symbols: list[list[int]]) -> rl.Tensor:
    """The CTC loss of log-probabilities ``[B, frames, labels]``, a symbol's mean."""
    lengths = rl.tensor([len(row) for row in symbols])
    frames = rl.full((len(found),), found.shape[1], dtype=rl.int64)
    targets = rl.tensor([each for row in symbols for each in row])
    return nn.functional.ctc_loss(found.transpose(0, 1), targets, frames, lengths)


def aligned(network: Recogniser, clip: Clip) -> list[tuple[int, int]]:
    """The first sample of each character of a clip, as a network hears it, and the last."""
    outputs = network.emissions(clip.waveform, RATE)
    targets = rl.tensor([clip.symbols], dtype=rl.int32)
    path, scores = forced_align(outputs[None], targets)
    spans = merge_tokens(path[0], scores[0].exp())
    return [(span.start * network.step, span.end * network.step) for span in spans]


def rates(heard: list[str], texts: list[str]) -> dict[str, float]:
    """Word and character error rates in percent, as cards have them."""
    return {"wer": round(100 * wer(heard, texts), 2), "cer": round(100 * cer(heard, texts), 2)}


def pieces(network: Recogniser, clips: list[Clip], seed: int) -> list[Clip]:
    """Parts of one to four words of each clip, cut where a network hears the space between two."""
    draw, found = rl.Generator().manual_seed(seed), []
    for clip in clips:
        words, spans = clip.text.split(), aligned(network, clip)
        spaces = [at for at, letter in enumerate(clip.text) if letter == " "]
        cuts = [0, *((spans[at - 1][1] + spans[at + 1][0]) // 2 for at in spaces)]
        cuts.append(len(clip.waveform))
        first = 0
        while first < len(words):
            last = min(len(words), first + 1 + int(rl.randint(0, 4, (), generator=draw)))
            waveform = clip.waveform[cuts[first] : cuts[last]]
            found.append(Clip(clip.name, waveform, " ".join(words[first:last])))
            first = last
    return found

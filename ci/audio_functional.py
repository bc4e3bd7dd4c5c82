"""Compare `functional`, `transforms` and `compliance.kaldi` of rushlight_audio with torchaudio.

torchaudio needs a PyTorch of its own version, so it runs in an environment of its own and writes
down what the calls beside the tests give; Rushlight then runs the same calls.

Usage: python ci/audio_functional.py record          in an environment with torchaudio
       python ci/audio_functional.py compare         in one with rushlight_audio
       python ci/audio_functional.py both [FOLDER]   makes the environment in FOLDER if need be
"""

from __future__ import annotations

import argparse
import importlib
import json
import subprocess
import sys
import warnings
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT / "audio" / "tests"))

import torchaudio_calls as calls  # noqa: E402
from oracle_environment import TORCHAUDIO, TORCHAUDIO_FOLDER, oracle  # noqa: E402

PARTS = ("filtering", "spectral", "signal", "transform", "kaldi")
KALDI = (
    *("fbank", "get_mel_banks", "inverse_mel_scale", "inverse_mel_scale_scalar", "mel_scale"),
    *("mel_scale_scalar", "mfcc", "spectrogram", "vtln_warp_freq", "vtln_warp_mel_freq"),
)


def signatures(audio: Any) -> dict[str, Any]:
    """The parameters of every public name."""
    found = {f"functional.{n}": getattr(audio.functional, n) for n in audio.functional.__all__}
    for name in audio.transforms.__all__:
        found[f"transforms.{name}"] = getattr(audio.transforms, name)
        found[f"transforms.{name}.forward"] = getattr(audio.transforms, name).forward
    for name in KALDI:
        found[f"compliance.kaldi.{name}"] = getattr(audio.compliance.kaldi, name)
    return {path: calls.signature(each) for path, each in sorted(found.items())}


def record() -> int:
    """Run all calls with torchaudio and write down what comes out."""
    import torch
    import torchaudio
    import torchaudio.compliance.kaldi

    library = calls.Library(torch, torchaudio)
    for part in PARTS:
        found = importlib.import_module(f"{part}_calls").CALLS
        results = {name: calls.outcome(library, call) for name, call in found.items()}
        path = calls.RECORDED / f"{part}.npz"
        calls.save(path, results)
        print(f"{len(results)} calls of {part}: {path.name}, {path.stat().st_size // 1000} kB")
    text = json.dumps(signatures(torchaudio), indent=0)
    (calls.RECORDED / "signatures.json").write_text(text + "\n")
    return 0


def compare() -> int:
    """Run the recorded calls with Rushlight; print what differs."""
    import rushlight
    import rushlight_audio

    library, failed, count = calls.Library(rushlight, rushlight_audio), 0, 0
    for part in PARTS:
        recorded = calls.load(calls.RECORDED / f"{part}.npz")
        for name, call in importlib.import_module(f"{part}_calls").CALLS.items():
            different = calls.differences(calls.outcome(library, call), recorded[name])
            count, failed = count + 1, failed + bool(different)
            for line in different:
                print(f"{name}: {line}")
    print(f"{count} calls: {failed} differ")
    return 1 if failed else 0


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("step", choices=("record", "compare", "both"))
    parser.add_argument("folder", nargs="?", default=str(TORCHAUDIO_FOLDER))
    arguments = parser.parse_args()
    warnings.simplefilter("ignore")
    if arguments.step == "both":
        python = oracle(Path(arguments.folder), TORCHAUDIO)
        subprocess.run([str(python), __file__, "record"], check=True)
    return record() if arguments.step == "record" else compare()


if __name__ == "__main__":
    raise SystemExit(main())

"""Record what torchaudio and other libraries answer on sound in an environment of their own, and
say which records differ from those that the tests of rushlight_audio are kept with.

Usage: python ci/audio_family.py [FOLDER]      makes the environment in FOLDER if need be
"""

from __future__ import annotations

import json
import math
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

import numpy as np
from oracle_environment import oracle

ROOT = Path(__file__).resolve().parent.parent
FOLDER = ROOT / ".nox" / "audio_oracle"
RECORDED = ROOT / "audio" / "tests" / "recorded"
LIBRARIES = (
    "torch==2.9.1",
    "torchaudio==2.9.1",
    "torchmetrics",
    "av",
    "kaldiio",
    "numpy",
    "pyannote.metrics",
    "pystoi",
    "pesq",
    "jiwer",
)
# The recorders; each writes its files into the folder that it is given.
RECORDERS = ("audio_datasets.py", "audio_kaldi_tables.py", "audio_metrics.py")


def same(new: Path, old: Path) -> bool:
    """Whether two records hold the same, numbers about."""
    if new.suffix == ".json":
        return _alike(json.loads(new.read_text()), json.loads(old.read_text()))
    with np.load(new) as ours, np.load(old) as theirs:
        if set(ours) != set(theirs):
            return False
        return all(_close(ours[name], theirs[name]) for name in ours)


def _alike(first: Any, second: Any) -> bool:
    """The same structure, numbers to 2e-3: the extended intelligibility has noise in it."""
    if isinstance(first, dict) and isinstance(second, dict):
        return first.keys() == second.keys() and all(_alike(first[k], second[k]) for k in first)
    if isinstance(first, list) and isinstance(second, list):
        return len(first) == len(second) and all(map(_alike, first, second))
    if isinstance(first, float) and isinstance(second, float):
        return math.isclose(first, second, rel_tol=1e-3, abs_tol=2e-3)
    return first == second


def _close(first: np.ndarray, second: np.ndarray) -> bool:
    return first.shape == second.shape and np.allclose(
        first, second, rtol=1e-4, atol=1e-6, equal_nan=True
    )


def main() -> int:
    # The torch of the first call is the one that torchaudio's compiled part fits.
    folder = Path(sys.argv[1]) if len(sys.argv) > 1 else FOLDER
    python = oracle(folder, LIBRARIES[:1], LIBRARIES)
    with tempfile.TemporaryDirectory() as work:
        for recorder in RECORDERS:
            command = [str(python), "-W", "ignore", str(ROOT / "ci" / recorder), work]
            subprocess.run(command, check=True)
        if shutil.which("sox"):  # not a Python package
            command = [sys.executable, str(ROOT / "ci" / "audio_sox.py"), work]
            subprocess.run(command, check=True)
        files = sorted(Path(work).iterdir())
        other = [f.name for f in files if not same(f, RECORDED / f.name)]
    print(f"audio_family: {len(files)} records, {len(other)} differ: {', '.join(other) or 'none'}")
    return 1 if other else 0


if __name__ == "__main__":
    raise SystemExit(main())

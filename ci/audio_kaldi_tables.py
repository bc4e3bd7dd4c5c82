"""Kaldi's tables as kaldiio writes and reads them, for the tests of rushlight_audio.

Usage: python ci/audio_kaldi_tables.py [FOLDER]      in an environment with kaldiio
"""

from __future__ import annotations

import io
import sys
import tempfile
from pathlib import Path

import kaldiio
import numpy as np

RECORDED = Path(__file__).resolve().parents[1] / "audio" / "tests" / "recorded"


def cases():
    """Names, arrays and options of `kaldiio.save_ark`."""
    random = np.random.default_rng(0)
    matrix = random.normal(size=(7, 3)).astype(np.float32)
    yield "matrix", matrix, {}
    yield "double", matrix.astype(np.float64), {}
    yield "vector", matrix[:, 0], {}
    yield "integers", np.array([3, -1, 2**31 - 1, -(2**31)], np.int32), {}
    yield "text_matrix", matrix, {"text": True}
    yield "text_vector", matrix[:, 1], {"text": True}
    yield "text_integers", np.array([3, -1], np.int32), {"text": True}
    long = random.normal(size=(20, 4)).astype(np.float32) * 10
    for method in (2, 3, 5):
        yield f"compressed_{method}", long, {"compression_method": method}


def main() -> int:
    folder = Path(sys.argv[1]) if len(sys.argv) > 1 else RECORDED
    found = {}
    for name, array, options in cases():
        with tempfile.TemporaryDirectory() as work:
            path = f"{work}/a.ark"
            kaldiio.save_ark(path, {"one": array, "two": array[:2]}, **options)
            data = Path(path).read_bytes()
            read = dict(kaldiio.load_ark(io.BytesIO(data)))
        found[f"{name} bytes"] = np.frombuffer(data, np.uint8)
        for key, value in read.items():
            found[f"{name} {key}"] = value
    np.savez_compressed(folder / "kaldi_tables.npz", **found)
    return 0


if __name__ == "__main__":
    raise SystemExit(main())

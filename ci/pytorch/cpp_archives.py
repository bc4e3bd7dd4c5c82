"""Archives of Rushlight in a C++ program: `jit.save`, then libtorch loads and runs them.

Builds run_archive.cpp with g++ against the headers and libraries of PyTorch's wheel, and compares
its results with Rushlight's. Without g++ or PyTorch nothing is done.

Usage: python ci/pytorch/cpp_archives.py
"""

from __future__ import annotations

import importlib.util
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

SOURCE = Path(__file__).with_name("run_archive.cpp")
TOLERANCE = 1e-5


def build(folder: Path, torch: Path) -> Path:
    """The program, built."""
    program = folder / "run_archive"
    headers = [torch / "include", torch / "include/torch/csrc/api/include"]
    command = ["g++", "-std=c++20", "-O0", str(SOURCE), "-o", str(program)]
    command += [f"-I{path}" for path in headers]
    command += [f"-L{torch / 'lib'}", f"-Wl,-rpath,{torch / 'lib'}"]
    command += ["-ltorch", "-ltorch_cpu", "-lc10"]
    subprocess.run(command, check=True)
    return program


def models():
    """Modules with the shapes of their inputs."""
    import rushlight
    from rushlight import nn

    rushlight.manual_seed(0)
    cnn = nn.Sequential(
        nn.Conv2d(3, 8, 3, padding=1), nn.BatchNorm2d(8), nn.ReLU(), nn.MaxPool2d(2),
        nn.Flatten(), nn.Linear(128, 10), nn.Softmax(dim=1),
    )  # fmt: skip
    yield "cnn", rushlight.jit.script(cnn.eval()), (2, 3, 8, 8)
    layer = nn.TransformerEncoderLayer(8, 2, 16).eval()
    yield "encoder", rushlight.jit.script(layer), (5, 2, 8)
    mlp = nn.Sequential(nn.Linear(4, 3), nn.GELU())
    yield "traced", rushlight.jit.trace(mlp, rushlight.ones(2, 4)), (6, 4)


def compare(program: Path, folder: Path, name, module, shape) -> float:
    """The largest difference between libtorch's result and Rushlight's."""
    import numpy as np

    import rushlight

    x = rushlight.randn(*shape)
    archive, given, result = (folder / f"{name}.{end}" for end in ("pt", "in", "out"))
    module.save(archive)
    given.write_bytes(x.numpy().tobytes())
    command = [str(program), str(archive), str(given), str(result), *map(str, shape)]
    subprocess.run(command, check=True)
    with rushlight.no_grad():
        wanted = module(x).numpy()
    found = np.frombuffer(result.read_bytes(), np.float32).reshape(wanted.shape)
    return float(np.abs(found - wanted).max())


def main() -> int:
    """Build, compare, say what differs."""
    spec = importlib.util.find_spec("torch")
    if spec is None or spec.origin is None or shutil.which("g++") is None:
        print("cpp_archives: needs PyTorch and g++; nothing compared")
        return 0
    worst = 0.0
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        program = build(folder, Path(spec.origin).parent)
        for label, module, shape in models():
            difference = compare(program, folder, label, module, shape)
            worst = max(worst, difference)
            print(f"{label}: {difference:.2e}")
    return int(worst > TOLERANCE)


if __name__ == "__main__":
    sys.exit(main())

"""Environments of their own for the libraries that ours are compared with."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

# One environment for all that is recorded with torchaudio: it takes some gigabytes.
TORCHAUDIO = ("torch==2.9.1", "torchaudio==2.9.1", "flashlight-text", "numpy")
TORCHAUDIO_FOLDER = Path(__file__).resolve().parents[1] / ".nox" / "torchaudio"


def oracle(folder: Path, *installations: tuple[str, ...]) -> Path:
    """The Python of an environment in `folder` in which pip was called once for each of these lists
    of arguments; made anew where others were asked for before, some gigabytes."""
    python, done = folder / "bin" / "python", folder / "installed-by-nox.txt"
    wanted = "\n".join(" ".join(words) for words in installations)
    if not done.exists() or done.read_text() != wanted:
        print(f"installing {wanted.replace(chr(10), ', ')} into {folder}", flush=True)
        subprocess.run([sys.executable, "-m", "venv", str(folder)], check=True)
        for words in installations:
            command = [str(python), "-m", "pip", "install", "--quiet", *words]
            subprocess.run(command, check=True)
        done.write_text(wanted)
    return python

"""Record what other libraries answer on text in an environment of their own, and run the tests of
rushlight_text with that record in place of the one that is kept beside them.

Usage: python ci/text_family.py [FOLDER]      makes the environment in FOLDER if need be
"""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
FOLDER = ROOT / ".nox" / "text_oracle"
LIBRARIES = (
    "torch>=2.13",
    "transformers>=5.24",
    "sentencepiece",
    "tiktoken",
    "sacrebleu",
    "rouge-score",
    "seqeval",
    "six",
    "tqdm",
    "requests",
)
# The last torchtext, of which the Python part alone is used, and what its data sets are made of;
# they name a PyTorch of their time.
FORMER = ("torchtext==0.18.0", "torchdata==0.7.1")
LEGACY = "torchtext==0.6.0"


def oracle(folder: Path) -> Path:
    """The Python of an environment with these libraries, made there if need be."""
    python = folder / "bin" / "python"
    done = folder / "installed-by-nox.txt"
    if not done.exists():
        print(f"installing {', '.join(LIBRARIES)} into {folder}", flush=True)
        subprocess.run([sys.executable, "-m", "venv", str(folder)], check=True)
        pip = [str(python), "-m", "pip", "install", "--quiet"]
        subprocess.run([*pip, *LIBRARIES], check=True)
        subprocess.run([*pip, "--no-deps", *FORMER], check=True)
        target = ["--target", str(folder / "torchtext06")]
        subprocess.run([*pip, "--no-deps", *target, LEGACY], check=True)
        done.write_text("\n".join([*LIBRARIES, *FORMER, LEGACY]))
    return python


def main() -> int:
    python = oracle(Path(sys.argv[1]) if len(sys.argv) > 1 else FOLDER)
    with tempfile.TemporaryDirectory() as work:
        recorder = [str(python), "-W", "ignore", str(ROOT / "ci" / "text_recorder"), work]
        subprocess.run(recorder, check=True)
        command = [sys.executable, "-m", "pytest", "tests", "-q", "-p", "no:cacheprovider"]
        environment = {**os.environ, "RUSHLIGHT_TEXT_RECORDED": work}
        return subprocess.run(command, cwd=ROOT / "text", env=environment).returncode


if __name__ == "__main__":
    raise SystemExit(main())

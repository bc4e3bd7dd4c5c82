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

from oracle_environment import oracle

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
# The last transformers that searches with groups of beams, and what it asks for by version.
GROUPS = ("transformers==4.49.0", "tokenizers==0.21.1", "huggingface_hub==0.29.3")


def main() -> int:
    folder = Path(sys.argv[1]) if len(sys.argv) > 1 else FOLDER
    former = ("--no-deps", *FORMER)
    legacy = ("--no-deps", "--target", str(folder / "torchtext06"), LEGACY)
    groups = ("--no-deps", "--target", str(folder / "transformers4"), *GROUPS)
    python = oracle(folder, LIBRARIES, former, legacy, groups)
    with tempfile.TemporaryDirectory() as work:
        recorder = [str(python), "-W", "ignore", str(ROOT / "ci" / "text_recorder"), work]
        subprocess.run(recorder, check=True)
        command = [sys.executable, "-m", "pytest", "tests", "-q", "-p", "no:cacheprovider"]
        environment = {**os.environ, "RUSHLIGHT_TEXT_RECORDED": work}
        return subprocess.run(command, cwd=ROOT / "text", env=environment).returncode


if __name__ == "__main__":
    raise SystemExit(main())

"""Record the answers of other libraries on text.

Usage: python ci/text_recorder FOLDER [SUBJECT ...]
"""

from __future__ import annotations

import argparse
import importlib
import sys
from pathlib import Path

SUBJECTS = (
    "sentencepiece_files",
    "word_tokenizers",
    "torchtext_models",
    "legacy",
    "published_data_sets",
    "pretrained_tokenizers",
    "tiny_models",
    "generated",
    "diverse_beams",
    "metrics",
    "marian",
)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("folder", type=Path)
    parser.add_argument("subjects", nargs="*", default=SUBJECTS)
    asked = parser.parse_args()
    asked.folder.mkdir(parents=True, exist_ok=True)
    sys.path.insert(0, str(Path(__file__).parent))
    for subject in asked.subjects:
        importlib.import_module(subject).record(asked.folder)
        print(f"{subject}: recorded")
    return 0


if __name__ == "__main__":
    sys.exit(main())

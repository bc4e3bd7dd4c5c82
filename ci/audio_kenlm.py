"""Write down binary files of KenLM and what KenLM scores with them, for the tests of the reader.

Usage: python ci/audio_kenlm.py BUILD_BINARY

where the Python package kenlm is; BUILD_BINARY is the program of that name, of the same version.
"""

from __future__ import annotations

import base64
import json
import random
import subprocess
import sys
import tempfile
import zlib
from pathlib import Path
from typing import Any

TESTS = Path(__file__).resolve().parents[1] / "audio" / "tests"
sys.path.insert(0, str(TESTS / "models"))

import decoder_cases  # noqa: E402

PATH = TESTS / "recorded" / "kenlm.json"
KINDS = {
    "probing": ["probing"],
    "probing, sparse": ["-p", "2.3", "probing"],
    "trie": ["trie"],
    "trie, quantized": ["-q", "6", "-b", "5", "trie"],
    "trie, compressed": ["-a", "22", "trie"],
    "trie, both": ["-a", "4", "-q", "4", "-b", "7", "trie"],
}
WORDS = [f"w{number}" for number in range(30)] + ["für", "ein-sehr-langes-wort", "<unk>"]


def order_four() -> str:
    """An ARPA file of order 4 in which some n-grams lack their own ends, as pruning leaves them;
    KenLM wants their beginnings."""
    drawn = random.Random(5)
    found: set[tuple[str, ...]] = {(word,) for word in [*WORDS, "<s>", "</s>"]}
    for _ in range(120):
        words = [drawn.choice(WORDS[:-1]) for _ in range(drawn.randint(2, 4))]
        words[0] = "<s>" if drawn.random() < 0.2 else words[0]
        words[-1] = "</s>" if drawn.random() < 0.2 else words[-1]
        for first in range(len(words) if drawn.random() < 0.85 else 1):
            found.update(tuple(words[first:last]) for last in range(first + 1, len(words) + 1))
    grams = [sorted(each for each in found if len(each) == order) for order in range(1, 5)]
    lines = ["\\data\\", *(f"ngram {n}={len(each)}" for n, each in enumerate(grams, 1)), ""]
    for order, each in enumerate(grams, 1):
        lines.append(f"\\{order}-grams:")
        for words in each:
            backoff = f"\t{-drawn.random():.5f}" if order < 4 and drawn.random() < 0.8 else ""
            lines.append(f"{-3 * drawn.random():.5f}\t{' '.join(words)}{backoff}")
        lines.append("")
    return "\n".join([*lines, "\\end\\", ""])


def sentences() -> list[str]:
    """Words by chance, some of them unknown."""
    drawn = random.Random(6)
    words = [*WORDS[:12], "a", "ab", "bad", "cab", "dad", "nobody", "|", "b", "c"]
    return [" ".join(drawn.choices(words, k=drawn.randint(0, 12))) for _ in range(40)]


def recorded(build: str, arpa: str) -> dict[str, Any]:
    """Files of all kinds, compressed, and scores of sentences: totals and each word's."""
    import kenlm

    found: dict[str, Any] = {"arpa": arpa, "files": {}, "scores": {}}
    with tempfile.TemporaryDirectory() as folder:
        text, binary = Path(folder) / "model.arpa", Path(folder) / "model.bin"
        text.write_text(arpa, encoding="utf-8")
        for kind, options in KINDS.items():
            command = [build, "-s", *options, str(text), str(binary)]
            subprocess.run(command, check=True, capture_output=True)
            packed = zlib.compress(binary.read_bytes(), 9)
            found["files"][kind] = base64.b64encode(packed).decode()
            model = kenlm.Model(str(binary))
            found["scores"][kind] = [
                [round(each, 6) for each, _, _ in model.full_scores(line)] for line in sentences()
            ]
    return found


def main() -> int:
    models = {"words": decoder_cases.WORDS, "letters": decoder_cases.LETTERS, "four": order_four()}
    cases = {name: recorded(sys.argv[1], arpa) for name, arpa in models.items()}
    PATH.write_text(json.dumps({"sentences": sentences(), "models": cases}) + "\n")
    print(f"{PATH.stat().st_size // 1000} kB")
    return 0


if __name__ == "__main__":
    raise SystemExit(main())

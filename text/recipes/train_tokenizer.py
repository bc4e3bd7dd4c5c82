"""Train a tokenizer on text files and say how well it cuts text that it has not seen.

    python text/recipes/train_tokenizer.py train.txt --valid valid.txt --kind unigram --vocab 8000

Leaves a folder that `Tokenizer.from_folder` and transformers read.
"""

from __future__ import annotations

import argparse
import time
from collections import Counter
from pathlib import Path

from rushlight_text.data import TextLines
from rushlight_text.tokenizers import Tokenizer, train


def lines_of(files: list[str]):
    """The lines of files of any size."""
    return TextLines(files, buffer_size=0)


def measure(tokenizer: Tokenizer, files: list[str]) -> dict[str, float]:
    """Bytes and words for each token, per cent of unknown tokens, of lines that come back and of
    the vocabulary that is used."""
    counts: Counter[int] = Counter()
    size = words = lines = back = 0
    for line in lines_of(files):
        ids = tokenizer.encode(line, add_special_tokens=False)
        counts.update(ids)
        size += len(line.encode())
        words += len(line.split())
        lines += 1
        back += tokenizer.decode(ids, skip_special_tokens=True) == line
    tokens = max(1, counts.total())
    return {
        "bytes_per_token": size / tokens,
        "tokens_per_word": tokens / max(1, words),
        "unknown": 100 * counts[tokenizer.unk_token_id] / tokens,
        "lines_back": 100 * back / max(1, lines),
        "used": 100 * len(counts) / len(tokenizer),
    }


def main() -> None:
    """Train, measure, write."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("files", nargs="+")
    parser.add_argument("--valid", nargs="*", default=[], help="default: the training files")
    parser.add_argument("--out", default="runs/tokenizer")
    parser.add_argument(
        "--kind",
        default="byte_bpe",
        choices=["byte_bpe", "bpe", "wordpiece", "unigram", "wordlevel"],
    )
    parser.add_argument("--vocab", type=int, default=8000)
    parser.add_argument("--min-frequency", type=int, default=2)
    parser.add_argument("--lowercase", action="store_true")
    parser.add_argument("--max-length", type=int, default=512, help="for truncation")
    asked = parser.parse_args()
    begin = time.perf_counter()
    tokenizer = train(
        lines_of(asked.files),
        kind=asked.kind,
        vocab_size=asked.vocab,
        min_frequency=asked.min_frequency,
        lowercase=asked.lowercase,
        max_length=asked.max_length,
        show_progress=True,
    )
    size = sum(Path(file).stat().st_size for file in asked.files) / 1e6
    print(f"{len(tokenizer)} tokens of {size:.1f} MB in {time.perf_counter() - begin:.1f} s")
    found = measure(tokenizer, asked.valid or asked.files)
    print(", ".join(f"{name} {value:.2f}" for name, value in found.items()))
    tokenizer.save(asked.out)
    again = Tokenizer.from_folder(asked.out)
    first = next(iter(lines_of(asked.valid or asked.files)))
    assert again.encode(first) == tokenizer.encode(first)
    print(" ".join(again.tokenize(first[:200])))


if __name__ == "__main__":
    main()

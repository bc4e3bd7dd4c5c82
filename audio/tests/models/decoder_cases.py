"""Searches that torchaudio (with flashlight and KenLM) and Rushlight do alike; torchaudio's results
are recorded (see ci/audio_decoder.py)."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

TOKENS = ["-", "|", "a", "b", "c", "d"]
LEXICON = """a a |
ab a b |
abba a b b a |
bad b a d |
cab c a b |
cab c a a b |
dad d a d |
d d |
cad c a d |
caddd c a d d d |
"""
SHORT = "a a\nb b\naa a a\nbb b b\nab a b\nd d |\ncd c d\nx c\n"
WORDS = """\\data\\
ngram 1=11
ngram 2=9
ngram 3=3

\\1-grams:
-1.8\t<unk>
-99\t<s>\t-0.4
-1.1\t</s>
-0.9\ta\t-0.3
-1.0\tab\t-0.25
-1.3\tabba\t-0.1
-0.8\tbad\t-0.5
-1.2\tcab\t-0.2
-1.4\tdad\t-0.35
-1.5\td
-1.15\tcad\t-0.05

\\2-grams:
-0.4\t<s> a\t-0.2
-0.6\t<s> bad\t-0.15
-0.3\ta bad\t-0.1
-0.5\tbad cab\t-0.3
-0.7\tcab dad
-0.9\tdad a\t-0.05
-0.2\tab </s>
-0.45\tcad ab
-0.35\ta </s>

\\3-grams:
-0.1\t<s> a bad
-0.15\ta bad cab
-0.25\tbad cab </s>

\\end\\
"""
LETTERS = """\\data\\
ngram 1=7
ngram 2=5

\\1-grams:
-1.2\t<s>\t-0.3
-0.9\t</s>
-0.7\t|\t-0.2
-0.6\ta\t-0.4
-0.8\tb\t-0.1
-1.0\tc\t-0.3
-1.1\td

\\2-grams:
-0.3\ta b
-0.2\tb a
-0.4\t| a
-0.5\tc a
-0.35\td |

\\end\\
"""
FILES = {"lexicon": LEXICON, "short": SHORT, "words": WORDS, "letters": LETTERS}
# Names of files stand for their paths.
CASES: dict[str, dict[str, Any]] = {
    "free": {"lexicon": None, "nbest": 5},
    "free-narrow": {"lexicon": None, "nbest": 3, "beam_size": 4, "beam_size_token": 3},
    "free-log": {"lexicon": None, "nbest": 4, "log_add": True, "beam_threshold": 8},
    "free-silence": {"lexicon": None, "sil_score": 0.7, "nbest": 2},
    # With the dictionary, as torchaudio's own numbers of tokens depend on a hash otherwise.
    "free-letters": {
        "lexicon": None, "lm": "letters", "lm_dict": "tokens", "nbest": 5, "lm_weight": 1.5,
    },
    "free-letters-log": {
        "lexicon": None, "lm": "letters", "lm_dict": "tokens", "nbest": 3, "log_add": True,
    },
    "words": {"lexicon": "lexicon", "nbest": 5},
    "words-score": {"lexicon": "lexicon", "nbest": 5, "word_score": -1.3, "sil_score": 0.4},
    "words-narrow": {"lexicon": "lexicon", "nbest": 3, "beam_size": 5, "beam_size_token": 3},
    "words-log": {"lexicon": "lexicon", "nbest": 4, "log_add": True, "beam_threshold": 12},
    "words-model": {"lexicon": "lexicon", "lm": "words", "nbest": 5, "lm_weight": 1.7},
    "words-model-log": {
        "lexicon": "lexicon", "lm": "words", "nbest": 5, "log_add": True, "word_score": 0.6,
    },
    "words-unknown": {
        "lexicon": "lexicon", "lm": "words", "nbest": 4, "unk_score": -0.8, "word_score": 0.5,
    },
    "words-dictionary": {
        "lexicon": "lexicon", "lm": "words", "lm_dict": "dictionary", "nbest": 3,
    },
    "short": {"lexicon": "short", "nbest": 6, "word_score": 0.31},
    "short-unknown": {"lexicon": "short", "nbest": 4, "unk_score": -0.9, "word_score": -0.17},
    "short-model": {"lexicon": "short", "lm": "words", "nbest": 4, "word_score": 1.0},
}  # fmt: skip
SEEDS = range(6)


def write_files(folder: Path) -> None:
    """The files that cases name."""
    for name, text in FILES.items():
        suffix = "arpa" if text.startswith("\\data") else "txt"
        (folder / f"{name}.{suffix}").write_text(text)
    (folder / "tokens.txt").write_text("\n".join([*TOKENS, "<unk>"]) + "\n")
    words = sorted({line.split()[0] for line in LEXICON.splitlines()}, reverse=True)
    (folder / "dictionary.txt").write_text("\n".join([*words, "<unk>"]) + "\n")


def options(name: str, folder: Path) -> dict[str, Any]:
    """The arguments of a case."""
    found = dict(CASES[name])
    for key, suffix in (("lexicon", "txt"), ("lm", "arpa"), ("lm_dict", "txt")):
        if found.get(key):
            found[key] = str(folder / f"{found[key]}.{suffix}")
    return {"tokens": TOKENS, **found}


def emissions(seed: int) -> np.ndarray:
    """Log probabilities ``[2, 14, 6]``, some frames sure of their token."""
    draw = np.random.default_rng(seed)
    logits = draw.standard_normal((2, 14, len(TOKENS))) * draw.uniform(0.5, 4, (2, 14, 1))
    shifted = logits - logits.max(-1, keepdims=True)
    scores = shifted - np.log(np.exp(shifted).sum(-1, keepdims=True))
    return scores.astype(np.float32)


def lengths() -> list[int]:
    return [14, 9]


def result(hypotheses: Any) -> list[list[list[Any]]]:
    """Hypotheses as JSON has them."""
    return [
        [
            [each.tokens.tolist(), list(each.words), round(float(each.score), 5),
             each.timesteps.tolist()]
            for each in row
        ]
        for row in hypotheses
    ]  # fmt: skip


DRAWN = range(40)


def drawn(seed: int, folder: Path) -> tuple[dict[str, Any], np.ndarray]:
    """Arguments and scores ``[1, T, N]`` with a lexicon, a language model and options by chance."""
    draw = np.random.default_rng(1000 + seed)
    tokens = ["-", "|", *(chr(97 + number) for number in range(draw.integers(3, 17)))]
    lexicon, words = folder / f"drawn{seed}.txt", set()
    for _ in range(draw.integers(5, 60)):
        words.add("".join(draw.choice(tokens[2:], draw.integers(1, 6))))
    lines = []
    for word in sorted(words):
        kinds = draw.integers(1, 4)  # spelled with a silence behind it, without, or both
        lines += [f"{word} {' '.join(word)} |"] if kinds & 1 else []
        lines += [f"{word} {' '.join(word)}"] if kinds & 2 else []
    lexicon.write_text("\n".join(lines) + "\n")
    model = folder / f"drawn{seed}.arpa"
    model.write_text(_drawn_model(draw, sorted(words)))
    options: dict[str, Any] = {
        "lexicon": str(lexicon), "tokens": tokens, "nbest": 3,
        "beam_size": int(draw.choice([2, 5, 20, 60])),
        "beam_threshold": float(draw.choice([5, 15, 60])),
        "lm_weight": float(3 * draw.random()), "word_score": float(draw.normal()),
        "sil_score": float(0.5 * draw.normal()), "log_add": bool(draw.random() < 0.4),
    }  # fmt: skip
    if draw.random() < 0.2:
        options["lexicon"] = None
    elif draw.random() < 0.6:
        options["lm"] = str(model)
    if draw.random() < 0.4:
        options["beam_size_token"] = int(draw.integers(2, len(tokens)))
    if draw.random() < 0.3:
        options["unk_score"] = float(draw.normal() - 1)
    logits = draw.standard_normal((1, draw.integers(3, 30), len(tokens)))
    logits *= draw.uniform(0.5, 4, (*logits.shape[:2], 1))
    scores = logits - np.log(np.exp(logits).sum(-1, keepdims=True))
    return options, scores.astype(np.float32)


def _drawn_model(draw: np.random.Generator, words: list[str]) -> str:
    """Trigrams by chance."""

    def score(most: float = 2.0) -> str:
        return f"{-most * draw.random():.4f}"

    pairs = [(a, b) for a in [*words, "<s>"] for b in [*words, "</s>"] if draw.random() < 0.1]
    triples = [(a, b, c) for a, b in pairs for c in words if (b, c) in set(pairs)][:60]
    lines = ["\\data\\", f"ngram 1={len(words) + 3}", f"ngram 2={len(pairs)}"]
    lines += [f"ngram 3={len(triples)}", "", "\\1-grams:", "-2.5\t<unk>", f"-99\t<s>\t{score()}"]
    lines += [f"{score()}\t</s>", *(f"{score(4)}\t{word}\t{score()}" for word in words)]
    lines += ["", "\\2-grams:"]
    for a, b in pairs:
        lines.append(f"{score()}\t{a} {b}" + ("" if b == "</s>" else f"\t{score()}"))
    lines += ["", "\\3-grams:", *(f"{score()}\t{a} {b} {c}" for a, b, c in triples)]
    return "\n".join([*lines, "", "\\end\\", ""])


def searched(torch: Any, decoder: Any, seed: int) -> Any:
    """The result of a case."""
    return result(decoder(torch.tensor(emissions(seed)), torch.tensor(lengths())))

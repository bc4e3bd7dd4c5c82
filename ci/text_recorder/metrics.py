"""What sacrebleu, rouge-score and seqeval give for made sentences."""

from __future__ import annotations

import json
import random
from pathlib import Path

import sacrebleu
from corpus import questions, sentences
from rouge_score.rouge_scorer import RougeScorer
from sacrebleu.metrics import BLEU, CHRF
from seqeval.metrics import f1_score, precision_score, recall_score


def _noisy(texts: list[str], seed: int) -> list[str]:
    pick = random.Random(seed)
    found = []
    for text in texts:
        words = [w for w in text.split() if pick.random() > 0.15]
        if pick.random() < 0.5:
            pick.shuffle(words)
        found.append(" ".join(words))
    return found


def _texts() -> tuple[list[str], list[str], list[str]]:
    first = [t for t in [*sentences(25, seed=3), *questions()] if t.strip()]
    extra = ["It costs $1,234.56 (or 3-4%) &amp; more...", "Say \"no\"—'yes'? <skipped> a-b"]
    first = [*extra, *first]
    return _noisy(first, 1), first, _noisy(first, 2)


def _bleu() -> list[dict]:
    ours, one, two = _texts()
    found = []
    for options in (
        {},
        {"tokenize": "intl"},
        {"tokenize": "char"},
        {"tokenize": "none", "lowercase": True},
        {"smooth_method": "floor"},
        {"smooth_method": "add-k", "smooth_value": 2},
        {"smooth_method": "none"},
        {"effective_order": True},
    ):
        for references in ([one], [one, two]):
            for end in (None, 4):
                part = [r[:end] for r in references]
                score = BLEU(**options).corpus_score(ours[:end], part)
                found.append(
                    {
                        "options": options,
                        "references": len(references),
                        "end": end,
                        "score": score.score,
                        "precisions": score.precisions,
                        "bp": score.bp,
                    }
                )
    return found


def _chrf() -> list[dict]:
    ours, one, two = _texts()
    found = []
    for options in ({}, {"word_order": 2}, {"char_order": 4, "beta": 1}, {"lowercase": True}):
        for references in ([one], [one, two]):
            score = CHRF(**options).corpus_score(ours, references).score
            found.append({"options": options, "references": len(references), "score": score})
    return found


def _rouge() -> list[dict]:
    ours, one, _ = _texts()
    kinds = ["rouge1", "rouge2", "rouge3", "rougeL", "rougeLsum"]
    scorer = RougeScorer(kinds)
    pairs = [("\n".join(ours[i : i + 3]), "\n".join(one[i : i + 3])) for i in range(0, 36, 3)]
    return [
        {
            "prediction": a,
            "reference": b,
            "scores": {k: list(v) for k, v in scorer.score(b, a).items()},
        }
        for a, b in pairs
    ]


def _tags() -> dict:
    pick = random.Random(0)
    marks = ["O", *(f"{m}-{k}" for m in "BIES" for k in ("PER", "LOC"))]
    truth = [[pick.choice(marks) for _ in range(pick.randint(1, 12))] for _ in range(60)]
    ours = [[t if pick.random() < 0.7 else pick.choice(marks) for t in row] for row in truth]
    return {
        "truth": truth,
        "ours": ours,
        "scores": [f(truth, ours) for f in (precision_score, recall_score, f1_score)],
        "by_type": list(f1_score(truth, ours, average=None)),
    }


def record(folder: Path) -> None:
    """Write ``metrics.json``."""
    ours, one, two = _texts()
    rows = zip(ours, one, two, strict=True)
    sentence = [sacrebleu.sentence_bleu(a, [b, c]).score for a, b, c in rows]
    found = {
        "texts": [ours, one, two],
        "bleu": _bleu(),
        "sentence_bleu": sentence,
        "chrf": _chrf(),
        "rouge": _rouge(),
        "tags": _tags(),
    }
    (folder / "metrics.json").write_text(json.dumps(found))

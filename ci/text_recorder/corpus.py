"""Sentences that are made, not copied: what the recorded tokenizers are trained on and asked."""

from __future__ import annotations

import random

_SUBJECTS = "the cat|a dog|my old friend|every teacher|no engine|the river|her sister".split("|")
_VERBS = "sees|follows|repairs|has forgotten|does not believe|paints|carries".split("|")
_OBJECTS = "the lamp|three maps|a blue bicycle|the question|him|yesterday's bread".split("|")
_ENDS = [".", "!", "?", ", slowly.", " in 1984.", " (again)."]

HARD = [
    "",
    " ",
    "  two  spaces  and\ttab\n",
    "naïve façade Ünïcode",
    "ﬁne ﬂuid ½ Ⅳ ｆｕｌｌ　ｗｉｄｔｈ",
    "日本語のテキスト 中文",
    "emoji 🙂👩‍👩‍👧 and 🇩🇪",
    "שלום עולם مرحبا",
    "<s> a control </s> <unk> <sep>x<sep>",
    "▁ under ▁▁ lines",
    "don't stop-it's 5:30, isn't it?",
    "e\u0301 combining a\u0308",
    "\u200bzero\u200dwidth\ufeff",
    "x" * 120,
    "[CLS] mask [MASK] this[SEP] [UNK]",
    "a\x00b\x07c",
    "ÀÉÎ õü ŁÓDŹ straße İstanbul",
    "$100 + 50% = ~x^2 `code` {a|b}",
]


def sentences(count: int, seed: int = 0) -> list[str]:
    """So many sentences, the same each time."""
    pick = random.Random(seed)
    return [
        f"{pick.choice(_SUBJECTS)} {pick.choice(_VERBS)} {pick.choice(_OBJECTS)}"
        f"{pick.choice(_ENDS)}"
        for _ in range(count)
    ]


def questions() -> list[str]:
    """Ordinary sentences and hard ones."""
    return [*sentences(12, seed=1), "unseen zebra quartz jumps", *HARD]

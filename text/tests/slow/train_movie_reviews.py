"""Train the bag of embeddings on real sentences and ask for 74 % on held-out ones.

Not collected by pytest: it needs a file that the repository does not hold.

Usage: python text/tests/slow/train_movie_reviews.py PATH_OF_vaderSentiment-3.3.2.tar.gz
           [--ngrams 1] [--epochs 8] [--seeds 3] [--split test]
"""

from __future__ import annotations

import argparse
import time

import rushlight as rl
from rushlight import nn, optim
from rushlight.utils.data import DataLoader
from rushlight_text.data import collate_bags, get_tokenizer, ngrams_iterator
from rushlight_text.datasets import MovieReviewSentences
from rushlight_text.models import EmbeddingBagClassifier
from rushlight_text.vocab import build_vocab_from_iterator

GOAL = 74.0


def features(dataset, ngrams):
    """Tokens and their n-grams, with labels."""
    tokenizer = get_tokenizer("basic_english")
    return [(list(ngrams_iterator(tokenizer(text), ngrams)), label) for text, label in dataset]


def accuracy(model, batches):
    """Percent of labels that the model finds."""
    model.eval()
    right = total = 0
    with rl.no_grad():
        for ids, offsets, labels in batches:
            right += (model(ids, offsets).argmax(1) == labels).sum().item()
            total += len(labels)
    return 100.0 * right / total


def train(samples, held_out, vocab, options, seed):
    """One model; returns its accuracy on the held-out samples."""
    rl.manual_seed(seed)
    pairs = [(vocab(tokens), label) for tokens, label in samples]
    held = [(vocab(tokens), label) for tokens, label in held_out]
    loader = DataLoader(pairs, batch_size=64, shuffle=True, collate_fn=collate_bags)
    held_loader = DataLoader(held, batch_size=256, collate_fn=collate_bags)
    model = EmbeddingBagClassifier(len(vocab), 64, 2, dropout=0.5)
    criterion = nn.CrossEntropyLoss()
    optimizer = optim.Adam(model.parameters(), lr=options.lr)
    schedule = optim.lr_scheduler.CosineAnnealingLR(optimizer, options.epochs)
    for _ in range(options.epochs):
        model.train()
        for ids, offsets, labels in loader:
            optimizer.zero_grad()
            criterion(model(ids, offsets), labels).backward()
            optimizer.step()
        schedule.step()
    return accuracy(model, held_loader)


def main() -> int:
    """Train with each seed; 0 when the mean reaches the goal."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("path")
    parser.add_argument("--ngrams", type=int, default=1)
    parser.add_argument("--epochs", type=int, default=8)
    parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument("--lr", type=float, default=2e-3)
    parser.add_argument("--split", default="test", choices=["test", "valid"])
    options = parser.parse_args()
    samples = features(MovieReviewSentences(options.path, "train"), options.ngrams)
    held_out = features(MovieReviewSentences(options.path, options.split), options.ngrams)
    vocab = build_vocab_from_iterator(
        (tokens for tokens, _ in samples), min_freq=2, specials=["<unk>"]
    )
    vocab.set_default_index(vocab["<unk>"])
    positive = 100.0 * sum(label for _, label in held_out) / len(held_out)
    print(
        f"{len(samples)} training sentences, {len(held_out)} held out ({positive:.1f} % positive), "
        f"{len(vocab)} tokens"
    )
    results = []
    for seed in range(options.seeds):
        start = time.perf_counter()
        results.append(train(samples, held_out, vocab, options, seed))
        seconds = time.perf_counter() - start
        print(f"seed {seed}: {options.split} accuracy {results[-1]:.2f} %, {seconds:.1f} s")
    mean = sum(results) / len(results)
    print(f"mean {options.split} accuracy: {mean:.2f} % (goal {GOAL} %)")
    return 0 if mean >= GOAL else 1


if __name__ == "__main__":
    raise SystemExit(main())

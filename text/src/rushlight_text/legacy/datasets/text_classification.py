"""Eight published sets of texts with labels, as ids of n-grams (Zhang et al. 2015)."""

from __future__ import annotations

import csv
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from functools import partial
from typing import Any

import rushlight as rl
from rushlight.utils.data import Dataset
from rushlight_text.legacy.vocab import Vocab
from rushlight_text.tokenizers.basic import basic_english, ngrams_iterator
from rushlight_text.utils import download_from_url, extract_archive

_DRIVE = "https://drive.google.com/uc?export=download&id="
URLS = {
    "AG_NEWS": _DRIVE + "0Bz8a_Dbh9QhbUDNpeUdjb0wxRms",
    "SogouNews": _DRIVE + "0Bz8a_Dbh9QhbUkVqNEszd0pHaFE",
    "DBpedia": _DRIVE + "0Bz8a_Dbh9QhbQ2Vic1kxMmZZQ1k",
    "YelpReviewPolarity": _DRIVE + "0Bz8a_Dbh9QhbNUpYQ2N3SGlFaDg",
    "YelpReviewFull": _DRIVE + "0Bz8a_Dbh9QhbZlU4dXhHTFhZQU0",
    "YahooAnswers": _DRIVE + "0Bz8a_Dbh9Qhbd2JNdDBsQUdocVU",
    "AmazonReviewPolarity": _DRIVE + "0Bz8a_Dbh9QhbaW12WVVZS2drcnM",
    "AmazonReviewFull": _DRIVE + "0Bz8a_Dbh9QhbZVhsUnRWRDhETzA",
}
_ARCHIVES = {
    "AG_NEWS": "ag_news_csv.tar.gz",
    "SogouNews": "sogou_news_csv.tar.gz",
    "DBpedia": "dbpedia_csv.tar.gz",
    "YelpReviewPolarity": "yelp_review_polarity_csv.tar.gz",
    "YelpReviewFull": "yelp_review_full_csv.tar.gz",
    "YahooAnswers": "yahoo_answers_csv.tar.gz",
    "AmazonReviewPolarity": "amazon_review_polarity_csv.tar.gz",
    "AmazonReviewFull": "amazon_review_full_csv.tar.gz",
}

__all__ = ["DATASETS", "URLS", "TextClassificationDataset", *URLS]


class TextClassificationDataset(Dataset):
    """Pairs of a label and a tensor of ids.

    Args:
        vocab: of the ids. data: the pairs. labels: the set of labels.
    """

    def __init__(self, vocab: Vocab, data: list[tuple[int, rl.Tensor]], labels: set[int]):
        self._vocab, self._data, self._labels = vocab, data, labels

    def __getitem__(self, i: int) -> tuple[int, rl.Tensor]:
        return self._data[i]

    def __len__(self) -> int:
        return len(self._data)

    def __iter__(self) -> Iterator[tuple[int, rl.Tensor]]:
        yield from self._data

    def get_labels(self) -> set[int]:
        """The labels, from 0."""
        return self._labels

    def get_vocab(self) -> Vocab:
        """The vocabulary."""
        return self._vocab


def _rows(path: str, ngrams: int) -> Iterator[tuple[int, Iterable[str]]]:
    with open(path, encoding="utf-8", newline="") as file:
        for row in csv.reader(file):
            yield int(row[0]) - 1, ngrams_iterator(basic_english(" ".join(row[1:])), ngrams)


def _made(vocab: Vocab, path: str, ngrams: int, include_unk: bool) -> TextClassificationDataset:
    data = []
    for label, tokens in _rows(path, ngrams):
        ids = [vocab[token] for token in tokens if include_unk or token in vocab.stoi]
        data.append((label, rl.tensor(ids, dtype=rl.long)))
    return TextClassificationDataset(vocab, data, {label for label, _ in data})


def _published(
    name: str,
    root: str = ".data",
    ngrams: int = 1,
    vocab: Vocab | None = None,
    include_unk: bool = False,
) -> tuple[TextClassificationDataset, TextClassificationDataset]:
    """Training and test data.

    Args:
        root: folder of the archive, which is fetched if need be.
        ngrams: longest n-gram that is a token.
        vocab: default: that of the training data.
        include_unk: give unknown tokens the unknown id; else they are left out.
    """
    if vocab is not None and not isinstance(vocab, Vocab):
        raise TypeError(f"Passed vocabulary is not of type Vocab, but {type(vocab).__name__}")
    archive = download_from_url(URLS[name], path=f"{root}/{_ARCHIVES[name]}")
    files = extract_archive(archive)
    train = next(file for file in files if file.endswith("train.csv"))
    test = next(file for file in files if file.endswith("test.csv"))
    if vocab is None:
        counter: Counter[str] = Counter()
        for _, tokens in _rows(train, ngrams):
            counter.update(tokens)
        vocab = Vocab(counter)
    made = (_made(vocab, train, ngrams, include_unk), _made(vocab, test, ngrams, include_unk))
    if made[0].get_labels() != made[1].get_labels():
        raise ValueError("Training and test labels don't match")
    return made


DATASETS: dict[str, Callable[..., Any]] = {name: partial(_published, name) for name in URLS}
globals().update(DATASETS)

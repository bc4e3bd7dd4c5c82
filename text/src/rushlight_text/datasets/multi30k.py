"""Captions of photos in English, German, French and Czech (Elliott et al. 2016)."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from rushlight_text.datasets._files import lines, member
from rushlight_text.datasets._published import published

DATASET_NAME = "Multi30k"
_BASE = "https://raw.githubusercontent.com/neychev/small_DL_repo/master/datasets/Multi30k"
URL = {
    "train": f"{_BASE}/training.tar.gz",
    "valid": f"{_BASE}/validation.tar.gz",
    "test": f"{_BASE}/mmt16_task1_test.tar.gz",
}
MD5 = {  # by name; the digits are SHA-256
    "train": "20140d013d05dd9a72dfde46478663ba05737ce983f478f960c1123c6671be5e",
    "valid": "a7aa20e9ebd5ba5adce7909498b94410996040857154dab029851af3a866da8c",
    "test": "6d1ca1dba99e2c5dd54cae1226ff11c2551e6ce63527ebb072a1f70f72a5cd36",
}
NUM_LINES = {"train": 29000, "valid": 1014, "test": 1000}
_PREFIX = {"train": "train", "valid": "val", "test": "test"}


def _check(language_pair: Sequence[str] = ("de", "en")) -> None:
    if len(language_pair) != 2:
        raise AssertionError(
            "language_pair must contain only 2 elements: src and tgt language respectively"
        )
    if set(language_pair) != {"de", "en"}:
        raise AssertionError("language_pair must be either ('de','en') or ('en', 'de')")


@published(DATASET_NAME, ("train", "valid", "test"), _check)
def Multi30k(
    folder: str, split: str, language_pair: Sequence[str] = ("de", "en")
) -> Iterator[tuple[str, str]]:
    """Pairs of a caption and its translation.

    `root` is the folder of all data sets, `split` one of ``train``, ``valid``, ``test``, or
    several of them (default: all), `language_pair` ``("de", "en")`` or the other way round.
    """
    names = [f"{_PREFIX[split]}.{language}" for language in language_pair]
    files = [member(folder, name, URL[split], MD5[split]) for name in names]
    yield from zip(lines(files[0]), lines(files[1]), strict=False)

"""Talks in English, French, German, Czech and Arabic (IWSLT 2016)."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from rushlight_text.datasets._published import published
from rushlight_text.datasets._talks import check_talks, talks

DATASET_NAME = "IWSLT2016"
URL = "https://drive.google.com/uc?id=1l5y6Giag9aRPwGtuZHswh3w5v3qEz8D8"
_PATH = "2016-01.tgz"
MD5 = "c393ed3fc2a1b0f004b3331043f615ae"
SUPPORTED_DATASETS = {
    "valid_test": ["dev2010", "tst2010", "tst2011", "tst2012", "tst2013", "tst2014"],
    "language_pair": {
        "en": ["ar", "de", "fr", "cs"],
        "ar": ["en"],
        "fr": ["en"],
        "de": ["en"],
        "cs": ["en"],
    },
    "year": 16,
}
SET_NOT_EXISTS = {("en", "cs"): ["tst2014"], ("cs", "en"): ["tst2014"]}


def _check(
    language_pair: Sequence[str] = ("de", "en"),
    valid_set: str = "tst2013",
    test_set: str = "tst2014",
) -> None:
    check_talks(SUPPORTED_DATASETS, SET_NOT_EXISTS, language_pair, valid_set, test_set)


@published(DATASET_NAME, ("train", "valid", "test"), _check)
def IWSLT2016(
    folder: str,
    split: str,
    language_pair: Sequence[str] = ("de", "en"),
    valid_set: str = "tst2013",
    test_set: str = "tst2014",
) -> Iterator[tuple[str, str]]:
    """Pairs of a line and its translation.

    Args:
        root: folder of all data sets.
        split: ``train``, ``valid``, ``test``, or several of them (default: all).
        language_pair: English and another language, in either order.
        valid_set, test_set: one of ``SUPPORTED_DATASETS["valid_test"]``.
    """
    pair = "-".join(language_pair)
    stem, ending = f"train.tags.{pair}", ""
    if split != "train":
        stem, ending = f"IWSLT16.TED.{valid_set if split == 'valid' else test_set}.{pair}", ".xml"
    names = [f"{stem}.{language}{ending}" for language in language_pair]
    inner = f"2016-01/texts/{language_pair[0]}/{language_pair[1]}/{pair}.tgz"
    yield from talks(folder, (URL, MD5, _PATH), inner, names)

"""Talks in English, German, Dutch, Italian and Romanian (IWSLT 2017)."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from rushlight_text.datasets._published import published
from rushlight_text.datasets._talks import check_talks, talks

DATASET_NAME = "IWSLT2017"
URL = (
    "https://fbk.sharepoint.com/sites/MTUnit/_layouts/15/download.aspx?SourceUrl=%2Fsites%2FMTUnit"
    "%2FShared%20Documents%2Fwebsites%2FWIT3%2Dlibrary%2F2017%2D01%2Dtrnmted%2Etgz"
)
_PATH = "2017-01-trnmted.tgz"
MD5 = "aca701032b1c4411afc4d9fa367796ba"
SUPPORTED_DATASETS = {
    "valid_test": ["dev2010", "tst2010"],
    "language_pair": {
        "en": ["nl", "de", "it", "ro"],
        "ro": ["de", "en", "nl", "it"],
        "de": ["ro", "en", "nl", "it"],
        "it": ["en", "nl", "de", "ro"],
        "nl": ["de", "en", "it", "ro"],
    },
    "year": 17,
}
_VALID, _TEST = "dev2010", "tst2010"


def _check(language_pair: Sequence[str] = ("de", "en")) -> None:
    check_talks(SUPPORTED_DATASETS, {}, language_pair, _VALID, _TEST)


@published(DATASET_NAME, ("train", "valid", "test"), _check)
def IWSLT2017(
    folder: str, split: str, language_pair: Sequence[str] = ("de", "en")
) -> Iterator[tuple[str, str]]:
    """Pairs of a line and its translation.

    `root` is the folder of all data sets, `split` one of ``train``, ``valid``, ``test``, or
    several of them (default: all), `language_pair` any two of the languages.
    """
    pair = "-".join(language_pair)
    stem, ending = f"train.tags.{pair}", ""
    if split != "train":
        stem, ending = f"IWSLT17.TED.{_VALID if split == 'valid' else _TEST}.{pair}", ".xml"
    names = [f"{stem}.{language}{ending}" for language in language_pair]
    inner = "2017-01-trnmted/texts/DeEnItNlRo/DeEnItNlRo/DeEnItNlRo-DeEnItNlRo.tgz"
    yield from talks(folder, (URL, MD5, _PATH), inner, names)

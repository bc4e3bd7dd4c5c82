"""Texts of the web in 115 languages (Conneau et al. 2020)."""

from __future__ import annotations

from collections.abc import Iterator

from rushlight_text.datasets._files import lines, unpacked
from rushlight_text.datasets._published import published

DATASET_NAME = "CC100"
URL = "http://data.statmt.org/cc-100/%s.txt.xz"
MD5 = None
NUM_LINES = None
_CODES = """
am ar as az be bg bn bn_rom br bs ca cs cy da de el en eo es et eu fa ff fi fr fy ga gd
gl gn gu ha he hi hi_rom hr ht hu hy id ig is it ja jv ka kk km kn ko ku ky la lg li ln
lo lt lv mg mk ml mn mr ms my my_zaw ne nl no ns om or pa pl ps pt qu rm ro ru sa si sc
sd sk sl so sq sr ss su sv sw ta ta_rom te te_rom th tl tn tr ug uk ur ur_rom uz vi wo
xh yi yo zh-Hans zh-Hant zu
"""
VALID_CODES = set(_CODES.split())


def _check(language_code: str = "en") -> None:
    if language_code not in VALID_CODES:
        raise ValueError(
            f"Invalid language code {language_code}, choose from {sorted(VALID_CODES)}"
        )


@published(DATASET_NAME, check=_check)
def CC100(folder: str, language_code: str = "en") -> Iterator[tuple[str, str]]:
    """Pairs of the language and a line; `root` is the folder of all data sets."""
    for line in lines(unpacked(folder, URL % language_code, MD5)):
        yield language_code, line

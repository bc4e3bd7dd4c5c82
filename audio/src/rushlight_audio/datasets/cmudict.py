"""The CMU pronouncing dictionary."""

from __future__ import annotations

import re
from pathlib import Path

from rushlight.utils.download import fetch
from rushlight_audio.datasets.archives import Archive, Location
from rushlight_audio.datasets.recordings import Recordings

__all__ = ["CMUDict"]

_URL = "http://svn.code.sf.net/p/cmusphinx/code/trunk/cmudict/cmudict-0.7b"
_SUMS = {
    _URL: "209a8b4cd265013e96f4658632a9878103b0c5abf62b50d4ef3ae1be226b29e4",
    f"{_URL}.symbols": "408ccaae803641c6d7b626b6299949320c2dbca96b2220fd3fb17887b023b027",
}
# Entries that say how marks are read; words such as 'BOUT begin with a mark too.
_MARKS = frozenset(
    r"""
    !EXCLAMATION-POINT "CLOSE-QUOTE "DOUBLE-QUOTE "END-OF-QUOTE "END-QUOTE "IN-QUOTES "QUOTE
    "UNQUOTE #HASH-MARK #POUND-SIGN #SHARP-SIGN %PERCENT &AMPERSAND 'END-INNER-QUOTE
    'END-QUOTE 'INNER-QUOTE 'QUOTE 'SINGLE-QUOTE (BEGIN-PARENS (IN-PARENTHESES (LEFT-PAREN
    (OPEN-PARENTHESES (PAREN (PARENS (PARENTHESES )CLOSE-PAREN )CLOSE-PARENTHESES )END-PAREN
    )END-PARENS )END-PARENTHESES )END-THE-PAREN )PAREN )PARENS )RIGHT-PAREN )UN-PARENTHESES
    +PLUS ,COMMA --DASH -DASH -HYPHEN ...ELLIPSIS .DECIMAL .DOT .FULL-STOP .PERIOD .POINT
    /SLASH :COLON ;SEMI-COLON ;SEMI-COLON(1) ?QUESTION-MARK {BRACE {LEFT-BRACE {OPEN-BRACE
    }CLOSE-BRACE }RIGHT-BRACE
    """.split()
)


class CMUDict(Recordings):
    """The CMU pronouncing dictionary 0.7b: words and their sounds.

    Args:
        root: folder.
        exclude_punctuations: leave out entries that say how marks are read.
        download: fetch the files where they are not there.
        url: address of the dictionary.
        url_symbols: address of the list of sounds.

    Items are (word, list of sounds); a word has an item for each way to say it.
    """

    def __init__(
        self,
        root: Location,
        exclude_punctuations: bool = True,
        *,
        download: bool = False,
        url: str = _URL,
        url_symbols: str = f"{_URL}.symbols",
    ) -> None:
        self.exclude_punctuations = exclude_punctuations
        self._root_path = Path(root)
        if not self._root_path.is_dir():
            raise RuntimeError(f"The root directory does not exist: {root}")
        words, symbols = (self._file(each, download) for each in (url, url_symbols))
        self._symbols = symbols.read_text().split()
        entries = map(self._entry, words.read_text(encoding="latin-1").splitlines())
        self._walker = [entry for entry in entries if entry is not None]

    def _file(self, url: str, download: bool) -> Path:
        path = self._root_path / Archive(url).name
        if not path.exists():
            if not download:
                raise RuntimeError(
                    f"The dictionary is not found in {path}. Set `download=True` to download it, "
                    f"or put there what is at {url}"
                )
            fetch([url], path, sha256=_SUMS.get(url))
        return path

    def _entry(self, line: str) -> tuple[str, list[str]] | None:
        """Word and sounds of a line; None for a comment and for what is left out."""
        if not line or line.startswith(";;;"):
            return None
        word, sounds = line.strip().split("  ")
        if word in _MARKS:
            if self.exclude_punctuations:
                return None
            mark = re.match(r"\.\.\.|--|.", word)
            word = mark[0] if mark else word
        return re.sub(r"\(\d+\)", "", word), sounds.split(" ")

    def __getitem__(self, n: int) -> tuple[str, list[str]]:
        return self._walker[n]

    @property
    def symbols(self) -> list[str]:
        """The sounds that the dictionary uses."""
        return list(self._symbols)

"""Tokenizer: the tokens of a text, of a file, or of the columns of a row."""

from __future__ import annotations

import importlib
import re
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from lightning_lite.easy.data.describing import announce, describable
from lightning_lite.easy.text.rules import FLD, RULES

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

# Numbers with their points; what comes before "n't", and that; "'s" and its like; words; line ends;
# other characters alone.
_TOKEN = re.compile(
    r"\d+(?:[.,:]\d+)*|[^\W\d_]+?(?=n['’]t\b)|n['’]t\b|['’](?:s|m|re|ve|ll|d)\b|\w+|\n+|[^\w\s]",
    re.IGNORECASE,
)


@announce
def words(text: str) -> list[str]:
    """Words, numbers and signs of a text; contractions come apart.

    >>> words("it isn't 3.5, john's")
    ['it', 'is', "n't", '3.5', ',', 'john', "'s"]
    """
    return _TOKEN.findall(text)


@announce
def split_spaces(text: str) -> list[str]:
    """What stands between single spaces."""
    return text.split(" ")


def _function(tok: Any) -> Callable[[str], Sequence[str]]:
    if callable(tok):
        return tok
    if not isinstance(tok, str):
        raise TypeError(
            f"Tokenizer: tok is a {type(tok).__name__}; expected None, a name of a tokenizer of "
            "rushlight_text, or a function of a text"
        )
    try:
        data = importlib.import_module("rushlight_text.data")
    except ModuleNotFoundError as error:
        raise ModuleNotFoundError(
            f"Tokenizer: tok={tok!r} needs rushlight-text: pip install rushlight-text; tok=None "
            "needs nothing"
        ) from error
    found: Callable[[str], Sequence[str]] = data.get_tokenizer(tok)
    return found


@describable
class Tokenizer:
    """Tokens of a text (str), a file (Path) or several texts, each behind ``xxfld`` and its number.

    `tok`: a function of a text that gives tokens, or the name of a tokenizer of `rushlight_text`
    ("basic_english", "spacy", ...); `words` by default. `rules`: functions of texts that come
    before, fastai's by default; `sep`: what joins tokens again. Spaces in tokens become ``▁``.

    >>> Tokenizer()("Hello WORLD!!! It's fine.")[:9]
    ['xxbos', 'xxmaj', 'hello', 'xxup', 'world', 'xxrep', '3', '!', 'xxmaj']
    """

    def __init__(
        self,
        tok: str | Callable[[str], Iterable[str]] | None = None,
        rules: Iterable[Callable[[str], str]] | None = None,
        sep: str = " ",
    ) -> None:
        self.tok = words if tok is None else _function(tok)
        self.rules = list(RULES if rules is None else rules)
        self.sep = sep

    def __call__(self, source: Any) -> list[str]:
        """The tokens. TypeError for other sources."""
        if isinstance(source, Path):
            source = source.read_text(encoding="utf-8")
        if not isinstance(source, str):
            raise TypeError(
                f"Tokenizer: {source!r} is a {type(source).__name__}; expected a text or a Path"
            )
        for rule in self.rules:
            source = rule(source)
        return [token.replace(" ", "▁") for token in self.tok(source)]

    def joined(self, tokens: Sequence[str]) -> str:
        """The text of tokens."""
        return self.sep.join(tokens)


@describable
class JoinColumns:
    """Tables with a column `into` that holds the texts of the columns `text_cols` (names or
    positions) in one; several are marked with ``xxfld`` and their number unless `mark_fields` is
    False. KeyError for columns that are not there."""

    def __init__(self, text_cols: Any, into: str = "text", mark_fields: bool | None = None) -> None:
        several = isinstance(text_cols, list | tuple)
        self.text_cols = list(text_cols) if several else [text_cols]
        self.into = into
        self.mark_fields = len(self.text_cols) > 1 if mark_fields is None else mark_fields

    def __call__(self, items: Any) -> Any:
        """The table; what is none is left as it is."""
        if not hasattr(items, "iloc"):
            return items
        there = list(items.columns)
        names = [there[each] if isinstance(each, int) else each for each in self.text_cols]
        missing = [name for name in names if name not in there]
        if missing:
            raise KeyError(f"TextBlock.from_df: no columns {missing}; there are: {there}")
        columns = [[str(value) for value in items[name]] for name in names]
        made = items.copy()
        made[self.into] = [self._joined(texts) for texts in zip(*columns, strict=True)]
        return made

    def _joined(self, texts: Sequence[str]) -> str:
        if not self.mark_fields:
            return " ".join(texts)
        return " ".join(f"{FLD} {number} {text}" for number, text in enumerate(texts, 1))

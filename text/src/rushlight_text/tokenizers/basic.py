"""Tokenizers that are a few rules: white space, basic English; n-grams of their tokens."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator

from rushlight_text.tokenizers._outside import OUTSIDE

__all__ = ["basic_english", "get_tokenizer", "ngrams_iterator"]

# What basic English does with a character once double quotes and <br /> are gone.
_RULES = str.maketrans(
    {mark: f" {mark} " for mark in "'.,()!?"} | {separator: " " for separator in ";:"}
)


def basic_english(line: str) -> list[str]:
    """Tokens of `line` by torchtext's rules for basic English.

    Lower case; ``' . , ( ) ! ?`` become tokens of their own; double quotes vanish without
    separating; ``; :`` and ``<br />`` separate; then split at white space.

    >>> basic_english("It's 5:30, isn't it?")
    ['it', "'", 's', '5', '30', ',', 'isn', "'", 't', 'it', '?']

    Raises:
        TypeError: `line` is not a string.
    """
    _require_text("basic_english", line)
    plain = line.lower().replace('"', "").replace("<br />", " ")
    return plain.translate(_RULES).split()


def split_at_spaces(line: str) -> list[str]:
    """Tokens of `line` between white space; what ``get_tokenizer(None)`` returns."""
    _require_text("split", line)
    return line.split()


def get_tokenizer(
    tokenizer: str | Callable[[str], list[str]] | None, language: str = "en"
) -> Callable[[str], list[str]]:
    """The tokenizer of a name: a function from a line to its list of tokens.

    Args:
        tokenizer: ``"basic_english"``; None to split at white space; a callable, which is returned
            as it is; or a name whose rules live in a library: ``"spacy"``, ``"moses"``
            (sacremoses), ``"toktok"`` (nltk), ``"revtok"`` and ``"subword"`` (revtok).
        language: ``"en"`` for basic English; spaCy's pipeline, Moses' language.

    Raises:
        ValueError: unknown name, or a language the tokenizer does not know.
        ModuleNotFoundError: the library is not installed; the text names its package.
        TypeError: neither a string, a callable nor None.
    """
    if tokenizer is None:
        return split_at_spaces
    if tokenizer == "basic_english":
        if language != "en":
            raise ValueError(
                f"get_tokenizer(): 'basic_english' knows only language 'en', got {language!r}"
            )
        return basic_english
    if callable(tokenizer):
        return tokenizer
    if not isinstance(tokenizer, str):
        raise TypeError(
            "get_tokenizer(): argument 'tokenizer' must be a string, a callable or None, "
            f"not {type(tokenizer).__name__}"
        )
    if tokenizer in OUTSIDE:
        return OUTSIDE[tokenizer](language)
    raise ValueError(
        f"get_tokenizer(): unknown tokenizer {tokenizer!r}; known are 'basic_english', "
        f"{', '.join(map(repr, OUTSIDE))}, None (split at white space), or any callable"
    )


def ngrams_iterator(token_list: Iterable[str], ngrams: int) -> Iterator[str]:
    """All tokens, then all runs of 2 tokens joined by a space, and so on up to `ngrams`.

    >>> list(ngrams_iterator(["here", "we", "are"], 2))
    ['here', 'we', 'are', 'here we', 'we are']

    Raises:
        ValueError: `ngrams` is not a positive integer.
    """
    if not isinstance(ngrams, int) or ngrams < 1:
        raise ValueError(f"ngrams_iterator(): 'ngrams' must be a positive integer, got {ngrams!r}")
    tokens = list(token_list)
    return (
        " ".join(tokens[start : start + length])
        for length in range(1, ngrams + 1)
        for start in range(len(tokens) - length + 1)
    )


def _require_text(op: str, line: object) -> None:
    if not isinstance(line, str):
        raise TypeError(f"{op}(): argument 'line' must be a string, not {type(line).__name__}")

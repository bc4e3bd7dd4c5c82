"""The vocabulary of the legacy fields: ``itos``, ``stoi``, ``freqs``, ``vectors``."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

import rushlight as rl
from rushlight_text._libraries import library
from rushlight_text.vocab.vectors import CharNGram, FastText, GloVe, Vectors, pretrained_aliases

__all__ = [
    "CharNGram",
    "FastText",
    "GloVe",
    "SubwordVocab",
    "Vectors",
    "Vocab",
    "pretrained_aliases",
]

Source = str | Vectors | Sequence[str | Vectors]


class Vocab:
    """Tokens by frequency, the most frequent first, equal ones by alphabet, after the specials.

    Args:
        counter: frequency of each token.
        max_size: keep at most so many, besides the specials.
        min_freq: rarer tokens are left out; at least 1.
        specials: tokens that are there in any case. Where ``<unk>`` is one, unknown tokens have its
            id; else they are a KeyError.
        vectors: vectors to load, as of :meth:`load_vectors`.
        unk_init, vectors_cache: for vectors that are named.
        specials_first: put the specials first; else last.

    Attributes:
        freqs: the counter. itos: tokens by id. stoi: ids by token. vectors: ``[V, dim]`` or None.
    """

    UNK = "<unk>"

    def __init__(
        self,
        counter: Counter[str],
        max_size: int | None = None,
        min_freq: int = 1,
        specials: Iterable[str] = ("<unk>", "<pad>"),
        vectors: Source | None = None,
        unk_init: Callable[[rl.Tensor], rl.Tensor] | None = None,
        vectors_cache: str | None = None,
        specials_first: bool = True,
    ):
        self.freqs = counter
        special = list(specials)
        ranked = sorted(
            ((token, count) for token, count in counter.items() if token not in special),
            key=lambda pair: (-pair[1], pair[0]),
        )
        tokens = [token for token, count in ranked if count >= max(min_freq, 1)]
        if max_size is not None:
            tokens = tokens[:max_size]
        self.itos: list[str] = [*special, *tokens] if specials_first else [*tokens, *special]
        self.unk_index = self.itos.index(self.UNK) if self.UNK in special else None
        self.stoi: dict[str, int] = self._table()
        self.stoi.update({token: index for index, token in enumerate(self.itos)})
        self.vectors: rl.Tensor | None = None
        if vectors is not None:
            self.load_vectors(vectors, unk_init=unk_init, cache=vectors_cache)

    def _table(self) -> dict[str, int]:
        return defaultdict() if self.unk_index is None else defaultdict(self._default_unk_index)

    def _default_unk_index(self) -> int:
        if self.unk_index is None:
            raise KeyError(self.UNK)
        return self.unk_index

    def __getitem__(self, token: str) -> int:
        return self.stoi[token] if self.unk_index is None else self.stoi.get(token, self.unk_index)

    def __len__(self) -> int:
        return len(self.itos)

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Vocab):
            return NotImplemented
        return (self.freqs, self.itos) == (other.freqs, other.itos) and self.stoi == other.stoi

    __hash__ = None  # type: ignore[assignment]

    def lookup_indices(self, tokens: Iterable[str]) -> list[int]:
        """The ids of several tokens."""
        return [self[token] for token in tokens]

    def extend(self, v: Vocab, sort: bool = False) -> None:
        """Add the tokens of another vocabulary; with `sort` by alphabet."""
        for token in sorted(v.itos) if sort else v.itos:
            if token not in self.stoi:
                self.itos.append(token)
                self.stoi[token] = len(self.itos) - 1

    def load_vectors(self, vectors: Source, **kwargs: Any) -> None:
        """Give every token its vector.

        Args:
            vectors: :class:`Vectors`, a name of `pretrained_aliases`, or several of them, whose
                vectors are joined.
            kwargs: for vectors that are named (``cache``, ``unk_init``).

        Raises:
            ValueError: an unknown name.
            TypeError: something else.
        """
        listed = [vectors] if isinstance(vectors, (str, Vectors)) else list(vectors)
        found = [_resolved(each, kwargs) for each in listed]
        self.vectors = rl.stack(
            [rl.cat([each[token.strip()].flatten() for each in found]) for token in self.itos]
        )

    def set_vectors(
        self,
        stoi: Mapping[str, int],
        vectors: rl.Tensor,
        dim: int,
        unk_init: Callable[[rl.Tensor], rl.Tensor] = rl.Tensor.zero_,
    ) -> None:
        """Take the vectors ``[N, dim]`` of a table; tokens that it lacks get what `unk_init` makes
        of zeros."""
        rows = []
        for token in self.itos:
            row = stoi.get(token)
            rows.append(unk_init(rl.zeros(dim)) if row is None else vectors[row])
        self.vectors = rl.stack(rows)


def _resolved(source: str | Vectors, options: Mapping[str, Any]) -> Vectors:
    if isinstance(source, Vectors):
        return source
    if not isinstance(source, str):
        raise TypeError(
            "load_vectors(): vectors must be a name, a Vectors object, or a list of them, got "
            f"{type(source).__name__}"
        )
    if source not in pretrained_aliases:
        raise ValueError(
            f"Got string input vector {source}, but allowed pretrained vectors are "
            f"{list(pretrained_aliases)}"
        )
    return pretrained_aliases[source](**options)


class SubwordVocab(Vocab):
    """Segments of words by the library ``revtok``; arguments as of :class:`Vocab`."""

    def __init__(
        self,
        counter: Counter[str],
        max_size: int | None = None,
        specials: Iterable[str] = ("<pad>",),
        vectors: Source | None = None,
        unk_init: Callable[[rl.Tensor], rl.Tensor] = rl.Tensor.zero_,
    ):
        revtok = library("revtok", "revtok", "SubwordVocab")
        self.segment = revtok.SubwordSegmenter(counter, max_size)
        # Letters first, then by the segmenter's score.
        order = sorted(
            self.segment.vocab.items(), key=lambda pair: (len(pair[0]) != 1, -pair[1], pair[0])
        )
        super().__init__(Counter(), specials=specials)
        self.freqs = counter
        for token, _ in order[:max_size]:
            self.itos.append(token)
            self.stoi[token] = len(self.itos) - 1
        if vectors is not None:
            self.load_vectors(vectors, unk_init=unk_init)

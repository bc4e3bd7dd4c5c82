"""Steps of beam searches over sequences, compiled; on NumPy arrays, as searches keep them."""

from __future__ import annotations

from typing import Any, NamedTuple

from rushlight.kernels.signal import lexicon_search as kernels
from rushlight.machine import np

__all__ = ["Followers", "PrefixTree", "best_rows", "summed_rows"]


class Followers(NamedTuple):
    """What may follow the hypotheses of a beam, arrays ``[F]``: the score, the best score of a word
    below the node each comes from, the language model's state, the node, the token, the hypothesis
    each comes from, the word that ended (-1: none), whether the token is the blank.

    In rows ``words[0]`` to ``words[1]`` a word of the tree ended, from there to ``words[2]`` an
    unknown one; their scores lack the language model's.
    """

    score: Any
    before: Any
    state: Any
    node: Any
    token: Any
    parent: Any
    word: Any
    blank: Any
    words: tuple[int, int, int]


class PrefixTree:
    """Prefixes of the spellings of words: a tree along which a beam search spells.

    Node 0 is the root. The children of node n are the entries ``starts[n]`` to ``starts[n + 1]`` of
    `tokens` and `nodes`, its words those of `labels` from ``label_starts[n]`` on.

    Args:
        starts: ``[N + 1]``, like all but `best` of int64.
        tokens: ``[E]``, the token that leads to each child.
        nodes: ``[E]``, the children.
        best: ``[N]`` of float64, the greatest score of a word at or below each node.
        label_starts: ``[N + 1]``.
        labels: ``[L]``, numbers of words.

    The number of nodes is the attribute `nodes`, and that of tokens at least `tokens`.

    Raises ValueError where starts or nodes are out of range.

    >>> import numpy as np
    >>> tree = rushlight.signal.PrefixTree([0, 1, 1], [2], [1], [0.0, 0.0], [0, 0, 1], [0])
    >>> first = np.zeros(1), np.zeros(1), np.zeros(1), np.zeros(1), np.zeros(1)
    >>> found = tree.followers(first, np.log([0.25, 0.25, 0.5]), np.ones(3), silence=1, blank=0)
    >>> found.token.tolist(), found.word.tolist()  # a word ends; silence; a blank
    ([2, 1, 0], [0, -1, -1])
    """

    def __init__(
        self, starts: Any, tokens: Any, nodes: Any, best: Any, label_starts: Any, labels: Any
    ):
        whole = (starts, tokens, nodes, label_starts, labels)
        starts, tokens, nodes, label_starts, labels = (_dense(each, np.int64) for each in whole)
        best = _dense(best, np.float64)
        _check_starts("starts", starts, len(best), len(nodes))
        _check_starts("label_starts", label_starts, len(best), len(labels))
        if len(tokens) != len(nodes) or tokens.min(initial=0) < 0:
            raise ValueError("PrefixTree: tokens must be one number of at least 0 for each child")
        if nodes.min(initial=0) < 0 or nodes.max(initial=0) >= len(best):
            raise ValueError(f"PrefixTree: nodes must be numbers from 0 to {len(best) - 1}")
        self.nodes = len(best)
        self.tokens = int(tokens.max(initial=-1)) + 1
        self._tree = kernels.Tree.of(starts, tokens, nodes, best, label_starts, labels)

    def followers(
        self, hypotheses: Any, heard: Any, tried: Any, silence, blank, unknown=-1, weight=1.0
    ) -> Followers:
        """What may follow the hypotheses of a beam by a frame of CTC's outputs: a token more along
        the tree, the end of a word, the same token once more, silence between words, a blank.

        Args:
            hypotheses: score (float64), state of the language model, node, token (int64) and
                whether the token is a blank (bool) of each, five arrays ``[H]``.
            heard: ``[T]`` of float64, scores of the tokens.
            tried: ``[T]`` of bool, the tokens that may go on with a spelling.
            silence: its token.
            blank: its token.
            unknown: the number of the unknown word, which any unfinished spelling may end as; -1
                for none.
            weight: factor of the scores `best`, of which each node counts the difference.

        Returns:
            :class:`Followers`, in which scores of words that end lack those of the language model.

        Raises IndexError where a token or a node is out of range.
        """
        kinds = (np.float64, np.int64, np.int64, np.int64, np.bool_)
        hypotheses = [_dense(each, kind) for each, kind in zip(hypotheses, kinds, strict=True)]
        heard, tried = _dense(heard, np.float64), _dense(tried, np.bool_)
        self._check(hypotheses, heard, tried, {"silence": silence, "blank": blank})
        specials = (silence, blank, unknown)
        return Followers(*kernels.followers(hypotheses, heard, tried, self._tree, specials, weight))

    def _check(self, hypotheses, heard, tried, specials):
        if len({len(each) for each in hypotheses}) != 1:
            raise ValueError("followers: the arrays of hypotheses must have one length")
        if len(tried) != len(heard) or len(heard) < self.tokens:
            raise ValueError(
                f"followers: heard and tried must have one number for each of at least "
                f"{self.tokens} tokens, got {len(heard)} and {len(tried)}"
            )
        for name, token in specials.items():
            if not 0 <= token < len(heard):
                raise IndexError(f"followers: {name} must be one of {len(heard)} tokens, {token=}")


def best_rows(score: Any, key: Any, most: int, threshold=-float("inf")):
    """Up to `most` rows with different keys and scores above `threshold`, the best first, the first
    of equal ones; of the rows with one key the best counts.

    `score` is an array ``[N]`` of float64, `key` one of int64. Returns int64.

    >>> import numpy as np
    >>> rushlight.signal.best_rows(np.array([1.0, 3.0, 2.0]), np.array([5, 5, 6]), 2).tolist()
    [1, 2]
    """
    score, key = _scored("best_rows", score, key, most)
    return kernels.best_rows(score, key, most, threshold)


def summed_rows(score: Any, key: Any, most: int, threshold=-float("inf")):
    """Up to `most` rows with different keys and scores above `threshold`, the best first, and their
    scores: those of rows with one key are added as logarithms of probabilities.

    Arguments as of :func:`best_rows`; returns int64 and float64.

    >>> import numpy as np
    >>> rows, totals = rushlight.signal.summed_rows(np.log([0.5, 0.4, 0.3]), np.array([5, 6, 5]), 2)
    >>> rows.tolist(), np.exp(totals).round(3).tolist()
    ([0, 1], [0.8, 0.4])
    """
    score, key = _scored("summed_rows", score, key, most)
    return kernels.summed_rows(score, key, most, threshold)


def _scored(name, score, key, most):
    score, key = _dense(score, np.float64), _dense(key, np.int64)
    if score.ndim != 1 or score.shape != key.shape:
        raise ValueError(
            f"{name}: score and key must be arrays of one length, got shapes "
            f"{list(score.shape)} and {list(key.shape)}"
        )
    if most < 0:
        raise ValueError(f"{name}: most must be at least 0, got {most}")
    return score, key


def _dense(array, dtype):
    return np.ascontiguousarray(array, dtype)


def _check_starts(name, starts, nodes, entries):
    right = len(starts) == nodes + 1 and starts[0] == 0 and starts[-1] == entries
    if not right or (starts[1:] < starts[:-1]).any():
        raise ValueError(
            f"PrefixTree: {name} must be {nodes + 1} numbers that rise from 0 to {entries}"
        )

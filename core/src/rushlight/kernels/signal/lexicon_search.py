"""A frame of a beam search over the words of a lexicon (Collobert et al., Wav2Letter, 2016): what
may follow each hypothesis, and the best of it.

``followers`` spells words along a tree of prefixes, ``best_rows`` merges and chooses. Both are as
their references to the last bit.
"""

from __future__ import annotations

import ctypes
import functools
from typing import Any, NamedTuple

from rushlight.kernels.launch.execution import REFERENCE
from rushlight.kernels.launch.prepared import word_of
from rushlight.kernels.signal import lexicon_search_kernels as native
from rushlight.machine import np
from rushlight.machine.memory import address

__all__ = [
    "Tree",
    "best_rows",
    "best_rows_reference",
    "call",
    "followers",
    "followers_reference",
    "summed_rows",
]

_COLUMNS = 8  # of what follows


class Tree(NamedTuple):
    """A tree as :class:`rushlight.signal.PrefixTree` describes it; `most`: the rows that may follow
    a hypothesis at each node; `words`: the addresses of the others, and how many nodes there are.
    """

    starts: Any
    tokens: Any
    nodes: Any
    best: Any
    label_starts: Any
    labels: Any
    most: Any
    words: list[int]

    @classmethod
    def of(cls, starts, tokens, nodes, best, label_starts, labels):
        """The tree of dense arrays."""
        words = np.diff(label_starts)
        entries = np.concatenate([[0], np.cumsum(1 + np.maximum(words[nodes], 1))])
        arrays = (starts, tokens, nodes, best, label_starts, labels)
        addresses = [*(each.ctypes.data for each in arrays), len(best)]
        return cls(*arrays, np.diff(entries[starts]), addresses)


@functools.cache
def _called(code):
    return ctypes.CFUNCTYPE(None, *[ctypes.c_int64] * 4)(code)


@functools.cache
def _block(size):
    return ctypes.c_int64 * size


def call(code, block):
    """Run the kernel at `code` on its block of words."""
    _called(code)(ctypes.addressof(block), 0, 1, 0)


def _run(code, words, results):
    """The results of the kernel at `code`, words behind those that it is given."""
    count = len(words)
    block = _block(count + results)(*words)
    call(code, block)
    return block[count:]


# ------------------------------------------------------------------------------ what may follow
def _expanded(starts, nodes):
    """For each entry of each of `nodes`: which of them it belongs to, and its number."""
    first = starts[nodes]
    counts = starts[nodes + 1] - first
    owner = np.repeat(np.arange(len(nodes)), counts)
    inside = np.arange(len(owner)) - np.repeat(np.cumsum(counts) - counts, counts)
    return owner, np.repeat(first, counts) + inside


def _spelled(hypotheses, heard, tried, tree, unknown, weight):
    """Hypotheses with a token more: inside of a word, at the end of one, or of an unknown one."""
    score, state, node, token, blank = hypotheses
    parent, entry = _expanded(tree.starts, node)
    allowed = tried[tree.tokens[entry]]
    parent, entry = parent[allowed], entry[allowed]
    said, child = tree.tokens[entry], tree.nodes[entry]
    total = score[parent] + heard[said]
    before = _before(tree, node)[parent]
    inner = tree.starts[child + 1] > tree.starts[child]
    rows = np.flatnonzero(inner & (blank[parent] | (said != token[parent])))
    smeared = total[rows] + weight * (tree.best[child[rows]] - before[rows])
    parts = [_part(smeared, before[rows], state, child[rows], said[rows], parent[rows])]
    again = (node == 0)[parent] & (token[parent] == said)
    rows, label = _expanded(tree.label_starts, child)
    label, rows = tree.labels[label[~again[rows]]], rows[~again[rows]]
    parts.append(_part(total[rows], before[rows], state, 0, said[rows], parent[rows], label))
    empty = tree.label_starts[child] == tree.label_starts[child + 1]
    rows = np.flatnonzero(empty & (unknown >= 0))
    parts.append(_part(total[rows], before[rows], state, 0, said[rows], parent[rows], unknown))
    return parts


def followers_reference(hypotheses, heard, tried, tree, specials, weight):
    """The columns of :class:`rushlight.signal.Followers` of hypotheses (score, state, node, token,
    blank), given scores of tokens and which of them are tried. `specials`: the silence, the blank
    and the number of the unknown word (-1: no unknown words)."""
    score, state, node, token, blank = hypotheses
    sil, blank_token, _ = specials
    for numbers, size in ((node, len(tree.best)), (token, len(heard))):
        if ((numbers < 0) | (numbers >= size)).any():
            raise IndexError("followers: a node or a token of the hypotheses is out of range")
    parts = _spelled(hypotheses, heard, tried, tree, specials[2], weight)
    before = _before(tree, node)
    rows = np.flatnonzero(~blank | (node == 0))
    same = np.where(node[rows] == 0, sil, token[rows])
    parts.append(_part(score[rows] + heard[same], before[rows], state, node[rows], same, rows))
    rows = np.arange(len(score))
    parts.append(
        _part(score + heard[blank_token], before, state, node, blank_token, rows, -1, True)
    )
    ends = np.cumsum([len(part[0]) for part in parts]).tolist()
    columns = [np.concatenate(column) for column in zip(*parts, strict=True)]
    return *columns, tuple(ends[:3])


def _before(tree, node):
    return np.where(node == 0, 0.0, tree.best[node])


def _part(score, before, state, node, token, parent, word=-1, blank=False):
    """Columns of one kind."""
    columns = (before, state[parent], node, token, parent, word, blank)
    return [score, *(np.broadcast_to(np.asarray(column), score.shape) for column in columns)]


def followers(hypotheses, heard, tried, tree, specials, weight):
    """:func:`followers_reference`, compiled. Arrays are dense; IndexError where a node or a
    token of the hypotheses is out of range."""
    if REFERENCE:
        return followers_reference(hypotheses, heard, tried, tree, specials, weight)
    score, node = hypotheses[0], hypotheses[2]
    room = max(1, int(tree.most.take(node, mode="clip").sum()) + 2 * len(score))
    space = np.empty((_COLUMNS, room), np.int64)
    first = address(space)
    words = [
        *map(address, hypotheses), len(score), address(heard), address(tried), len(heard),
        *tree.words, *specials, word_of(weight),
        *range(first, first + 8 * room * _COLUMNS, 8 * room),
    ]  # fmt: skip
    *ends, count = _run(native.followers.address(), words, 4)
    if count < 0:
        raise IndexError("followers: a node or a token of the hypotheses is out of range")
    blank = space[-1].view(bool)[:count]
    return *space[:2].view(float)[:, :count], *space[2:-1, :count], blank, tuple(ends)


# ---------------------------------------------------------------------------------- the best rows
def best_rows_reference(score, key, most, threshold):
    """Up to `most` rows with different keys and scores above `threshold`, the best first, the first
    of equal ones; of the rows with one key the best counts."""
    rows = np.flatnonzero(score > threshold)
    rows = rows[np.argsort(-score[rows], kind="stable")]
    first = np.sort(np.unique(key[rows], return_index=True)[1])
    return rows[first[:most]]


def best_rows(score, key, most, threshold):
    """:func:`best_rows_reference`, compiled, of dense float64 scores and int64 keys."""
    if REFERENCE:
        return best_rows_reference(score, key, most, threshold)
    count = len(score)
    slots = 1 << (2 * count).bit_length()  # at most half of the table is full
    chosen = min(most, count)
    space = np.empty(slots + chosen + count, np.int64)
    table = address(space)
    words = [
        address(score), address(key), count, most, word_of(threshold), table, slots - 1,
        table + 8 * slots, table + 8 * (slots + chosen),
    ]  # fmt: skip
    (found,) = _run(native.best_rows.address(), words, 1)
    return space[slots : slots + found]


def summed_rows(score, key, most, threshold):
    """Up to `most` rows with different keys and scores above `threshold`, the best first, and their
    scores: those of the rows with one key added as logarithms of probabilities."""
    rows = np.flatnonzero(score > threshold)
    key, score = key[rows], score[rows]
    order = np.lexsort((-score, key))
    first = np.flatnonzero(np.diff(key[order], prepend=-1))
    totals = np.logaddexp.reduceat(score[order], first) if len(first) else score
    best = np.argsort(-totals, kind="stable")[:most]
    return rows[order[first[best]]], totals[best]

"""Trees of spellings."""

import numpy as np
import pytest

import rushlight as rl


def drawn_tree(draw, tokens, words):
    """A tree of random spellings, as :class:`rushlight.signal.PrefixTree` takes it."""
    children, labels, own = [{}], [[]], [-np.inf]
    for word in range(words):
        node = 0
        for token in draw.integers(2, tokens, draw.integers(1, 5)).tolist():
            if token not in children[node]:
                children[node][token] = len(children)
                children.append({})
                labels.append([])
                own.append(-np.inf)
            node = children[node][token]
        labels[node].append(word)
        own[node] = max(own[node], float(draw.normal()))
    for node in reversed(range(len(children))):
        own[node] = max([own[node], *(own[child] for child in children[node].values())])
    return (
        np.cumsum([0, *map(len, children)]),
        np.array([token for row in children for token in row]),
        np.array([node for row in children for node in row.values()]),
        np.array(own),
        np.cumsum([0, *map(len, labels)]),
        np.array([label for row in labels for label in row]),
    )


@pytest.fixture
def random_tree():
    """A function that draws the arrays of a tree."""
    return drawn_tree


@pytest.fixture
def small_tree():
    """Token 2 is word 0; tokens 2, 3 are word 1."""
    return rl.signal.PrefixTree([0, 1, 2, 2], [2, 3], [1, 2], [4.0, 4.0, 3.0], [0, 0, 1, 2], [0, 1])

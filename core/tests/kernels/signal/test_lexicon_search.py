"""Frames of a beam search over a lexicon: kernels as their references, to the last bit."""

import numpy as np
import pytest

import rushlight as rl
from rushlight.kernels.signal import lexicon_search


def random_beam(draw, nodes, tokens):
    size = int(draw.integers(1, 70))
    node = draw.integers(0, nodes, size) * (draw.random(size) < 0.8)
    token, blank = draw.integers(1, tokens, size), draw.random(size) < 0.3
    token[blank] = 0
    return draw.normal(size=size) * 10, draw.integers(0, 9, size), node, token, blank


@pytest.mark.parametrize("seed", range(60))
def test_followers_are_the_reference(seed, random_tree):
    draw = np.random.default_rng(seed)
    tokens = int(draw.integers(3, 30))
    arrays = random_tree(draw, tokens, int(draw.integers(1, 200)))
    tree = lexicon_search.Tree.of(*arrays)
    beam = random_beam(draw, len(arrays[3]), tokens)
    tried = draw.random(tokens) < 0.7
    unknown = -1 if seed % 3 else 1000
    inputs = (beam, draw.normal(size=tokens), tried, tree, (1, 0, unknown), 1.7 * draw.normal())
    found = rl.signal.Followers(*lexicon_search.followers(*inputs))
    expected = rl.signal.Followers(*lexicon_search.followers_reference(*inputs))
    assert found.words == expected.words
    for name in ("score", "before", "state", "node", "token", "parent", "word", "blank"):
        np.testing.assert_array_equal(getattr(found, name), getattr(expected, name), name)


@pytest.mark.parametrize("seed", range(40))
def test_best_rows_are_the_reference(seed):
    draw = np.random.default_rng(seed)
    count = int(draw.integers(0, 3000))
    score = draw.integers(-9, 9, count) * 0.5 if seed % 2 else draw.normal(size=count)
    score[draw.random(count) < 0.02] = np.nan
    score[draw.random(count) < 0.02] = -np.inf
    key = draw.integers(-(2**62), 2**62, count) if seed % 4 == 0 else draw.integers(0, 50, count)
    inputs = score, key, int(draw.integers(0, 300)), float(draw.normal() - 1)
    found = lexicon_search.best_rows(*inputs)
    assert found.tolist() == lexicon_search.best_rows_reference(*inputs).tolist()


def test_best_of_one_key_and_first_of_equal_ones():
    score, key = np.array([2.0, 3.0, 3.0, 1.0, 3.0]), np.array([7, 7, 8, 9, 7])
    assert rl.signal.best_rows(score, key, 9).tolist() == [1, 2, 3]
    assert rl.signal.best_rows(score, key, 1).tolist() == [1]
    assert rl.signal.best_rows(score, key, 9, threshold=1.0).tolist() == [1, 2]


def test_words_and_their_prefixes(small_tree):
    found = small_tree.followers(
        ([5.0], [6], [0], [1], [False]), [0.1, 0.2, 0.3, 0.4], np.ones(4), 1, 0, weight=2.0
    )
    assert found.words == (1, 2, 2)
    assert found.token.tolist() == [2, 2, 1, 0]
    assert found.node.tolist() == [1, 0, 0, 0]
    assert found.word.tolist() == [-1, 0, -1, -1]
    assert found.blank.tolist() == [False, False, False, True]
    np.testing.assert_allclose(found.score, [5.3 + 2 * 4.0, 5.3, 5.2, 5.1], rtol=1e-15)


@pytest.mark.parametrize("node, token", [(3, 1), (-1, 1), (0, 4), (0, -1)])
def test_hypotheses_out_of_range(node, token, small_tree):
    with pytest.raises(IndexError, match="hypotheses is out of range"):
        small_tree.followers(([0.0], [0], [node], [token], [False]), np.zeros(4), np.ones(4), 1, 0)


def test_arguments_that_do_not_fit(small_tree):
    beam = ([0.0], [0], [0], [1], [False])
    with pytest.raises(ValueError, match="at least 4 tokens"):
        small_tree.followers(beam, np.zeros(3), np.ones(3), 1, 0)
    with pytest.raises(IndexError, match="silence must be one of 4 tokens"):
        small_tree.followers(beam, np.zeros(4), np.ones(4), 4, 0)
    with pytest.raises(ValueError, match="hypotheses must have one length"):
        small_tree.followers((*beam[:4], []), np.zeros(4), np.ones(4), 1, 0)
    with pytest.raises(ValueError, match="starts must be 2 numbers that rise from 0 to 1"):
        rl.signal.PrefixTree([0, 2], [1], [0], [0.0], [0, 0], [])
    with pytest.raises(ValueError, match="nodes must be numbers from 0 to 0"):
        rl.signal.PrefixTree([0, 1], [1], [1], [0.0], [0, 0], [])
    with pytest.raises(ValueError, match="tokens must be one number"):
        rl.signal.PrefixTree([0, 1], [-1], [0], [0.0], [0, 0], [])
    with pytest.raises(ValueError, match="arrays of one length"):
        rl.signal.best_rows(np.zeros(3), np.zeros(2, np.int64), 1)
    with pytest.raises(ValueError, match="most must be at least 0"):
        rl.signal.best_rows(np.zeros(1), np.zeros(1, np.int64), -1)

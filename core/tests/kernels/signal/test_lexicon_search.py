"""Frames of a beam search over a lexicon: kernels as their references, to the last bit."""

import numpy as np
import pytest

import rushlight as rl
from rushlight.kernels.signal import lexicon_search


def random_tree(draw, tokens, words):
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


def random_beam(draw, nodes, tokens):
    size = int(draw.integers(1, 70))
    node = draw.integers(0, nodes, size) * (draw.random(size) < 0.8)
    token, blank = draw.integers(1, tokens, size), draw.random(size) < 0.3
    token[blank] = 0
    return draw.normal(size=size) * 10, draw.integers(0, 9, size), node, token, blank


@pytest.mark.parametrize("seed", range(60))
def test_followers_are_the_reference(seed):
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


def small_tree():
    """Token 2 is word 0; tokens 2, 3 are word 1."""
    return rl.signal.PrefixTree([0, 1, 2, 2], [2, 3], [1, 2], [4.0, 4.0, 3.0], [0, 0, 1, 2], [0, 1])


def test_words_and_their_prefixes():
    found = small_tree().followers(
        ([5.0], [6], [0], [1], [False]), [0.1, 0.2, 0.3, 0.4], np.ones(4), 1, 0, weight=2.0
    )
    assert found.words == (1, 2, 2)
    assert found.token.tolist() == [2, 2, 1, 0]
    assert found.node.tolist() == [1, 0, 0, 0]
    assert found.word.tolist() == [-1, 0, -1, -1]
    assert found.blank.tolist() == [False, False, False, True]
    np.testing.assert_allclose(found.score, [5.3 + 2 * 4.0, 5.3, 5.2, 5.1], rtol=1e-15)


@pytest.mark.parametrize("node, token", [(3, 1), (-1, 1), (0, 4), (0, -1)])
def test_hypotheses_out_of_range(node, token):
    with pytest.raises(IndexError, match="hypotheses is out of range"):
        small_tree().followers(
            ([0.0], [0], [node], [token], [False]), np.zeros(4), np.ones(4), 1, 0
        )


def test_arguments_that_do_not_fit():
    beam = ([0.0], [0], [0], [1], [False])
    with pytest.raises(ValueError, match="at least 4 tokens"):
        small_tree().followers(beam, np.zeros(3), np.ones(3), 1, 0)
    with pytest.raises(IndexError, match="silence must be one of 4 tokens"):
        small_tree().followers(beam, np.zeros(4), np.ones(4), 4, 0)
    with pytest.raises(ValueError, match="hypotheses must have one length"):
        small_tree().followers((*beam[:4], []), np.zeros(4), np.ones(4), 1, 0)
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


def said(states, words):
    """A language model whose states repeat."""
    after = [(state * 31 + word * 7 + 3) % 1009 for state, word in zip(states, words, strict=True)]
    return after, [-(state % 17) / 3 for state in after]


def drawn_search(seed, **more):
    """A beam and frames for it."""
    draw = np.random.default_rng(seed)
    tokens, frames = int(draw.integers(3, 30)), int(draw.integers(1, 30))
    tree = rl.signal.PrefixTree(*random_tree(draw, tokens, int(draw.integers(1, 200))))
    options = {
        "tokens": tokens,
        "silence": 1,
        "blank": 0,
        "unknown": -1 if seed % 3 else 1000,
        "beam_size": int(draw.integers(1, 60)),
        "threshold": float(draw.integers(2, 50)),
        "weight": float(draw.normal()),
        "word_score": 0.3,
        "unknown_score": -2.0,
        **more,
    }
    heard, tried = draw.normal(size=(frames, tokens)) * 3, draw.random((frames, tokens)) < 0.8
    return rl.signal.LexiconBeam(tree, **options), heard, tried


def by_frames(beam, heard, tried):
    """The same frames one by one, by the two kernels above."""
    beam._compiled = None
    beam.begin()
    beam.advance(heard, tried)
    return beam.frames


@pytest.mark.parametrize("ask", [None, said], ids=["no model", "a model"])
@pytest.mark.parametrize("seed", range(40))
def test_a_beam_goes_on_as_frame_by_frame(seed, ask):
    beam, heard, tried = drawn_search(seed, ask=ask)
    cut = len(heard) // 2
    beam.advance(heard[:cut], tried[:cut])
    beam.advance(heard[cut:], tried[cut:])
    found = beam.frames
    expected = by_frames(beam, heard, tried)
    assert len(found) == len(expected) == len(heard) + 1
    for ours, theirs in zip(found, expected, strict=True):
        for name in ours._fields:
            np.testing.assert_array_equal(getattr(ours, name), getattr(theirs, name), name)


def test_what_the_model_said_is_kept_and_buffers_grow():
    asked = []

    def ask(states, words):
        asked.extend(zip(states, words, strict=True))
        return said(states, words)

    tree = random_tree(np.random.default_rng(1), 40, 3000)
    beam = rl.signal.LexiconBeam(
        rl.signal.PrefixTree(*tree), tokens=40, silence=1, blank=0, ask=ask, beam_size=400
    )
    heard = np.random.default_rng(2).normal(size=(25, 40))
    beam.advance(heard)
    first = beam.frames[-1]
    assert len(asked) == len(set(asked)) > 2000
    count = len(asked)
    beam.begin()
    beam.advance(heard)
    assert len(asked) == count
    np.testing.assert_array_equal(beam.frames[-1].score, first.score)
    np.testing.assert_array_equal(beam.frames[-1].score, by_frames(beam, heard, None)[-1].score)


def test_probabilities_of_one_hypothesis_are_added():
    """A word said in three ways: with a blank behind it, twice, or behind a blank."""
    tree = rl.signal.PrefixTree([0, 1, 1], [2], [1], [0.0, 0.0], [0, 0, 1], [0])
    options = {"tokens": 3, "silence": 1, "blank": 0, "beam_size": 9}
    heard = np.log([[0.3, 0.1, 0.6], [0.2, 0.5, 0.3]])
    scores = {}
    for log_add in (False, True):
        beam = rl.signal.LexiconBeam(tree, log_add=log_add, **options)
        beam.advance(heard)
        last = beam.frames[-1]
        scores[log_add] = {
            (int(state), int(token), bool(blank)): score
            for score, state, token, blank in zip(
                last.score, last.state, last.token, last.blank, strict=True
            )
        }
    silent = (0, 1, False)  # behind silence, or behind a blank
    np.testing.assert_allclose(scores[False][silent], np.log(0.3 * 0.5))
    np.testing.assert_allclose(scores[True][silent], np.log(0.3 * 0.5 + 0.1 * 0.5))
    assert scores[False].keys() == scores[True].keys()


def test_a_frame_that_leaves_nothing():
    beam, heard, tried = drawn_search(4)
    heard = np.concatenate([heard, np.full((1, heard.shape[1]), np.nan)])
    tried = np.concatenate([tried, tried[:1]])
    with pytest.raises(ValueError, match=f"frame {len(heard) - 1} of emissions leaves no hypothes"):
        beam.advance(heard, tried)
    assert len(beam.frames) == len(heard)
    beam.begin()
    with pytest.raises(ValueError, match="frame 0 of emissions leaves no hypothesis"):
        beam.advance(np.full_like(heard, -np.inf))


def test_arguments_of_a_beam_that_do_not_fit():
    options = {"tokens": 4, "silence": 1, "blank": 0}
    with pytest.raises(ValueError, match="tokens must be at least the tree's 4 and beam_size"):
        rl.signal.LexiconBeam(small_tree(), **{**options, "tokens": 3})
    with pytest.raises(ValueError, match="got 4 and 0"):
        rl.signal.LexiconBeam(small_tree(), beam_size=0, **options)
    with pytest.raises(IndexError, match="blank must be one of 4 tokens, got 4"):
        rl.signal.LexiconBeam(small_tree(), **{**options, "blank": 4})
    beam = rl.signal.LexiconBeam(small_tree(), **options)
    with pytest.raises(ValueError, match=r"shape \[T, 4\], got \[2, 3\]"):
        beam.advance(np.zeros((2, 3)))
    with pytest.raises(ValueError, match=r"got \[2, 4\] and \[1, 4\]"):
        beam.advance(np.zeros((2, 4)), np.ones((1, 4)))
    with pytest.raises(ValueError, match="summed_rows: most must be at least 0, got -1"):
        rl.signal.summed_rows(np.zeros(1), np.zeros(1), -1)

"""Beams over CTC's outputs: many frames in one loop as frame by frame, to the last bit."""

import numpy as np
import pytest

import rushlight as rl


def lexicon_beam(tree, ask=None, **options):
    return rl.signal.LexiconBeam(tree, rl.signal.BeamOptions(**options), ask)


def free_beam(ask=None, row=None, **options):
    return rl.signal.FreeBeam(rl.signal.BeamOptions(**options), ask, row)


def said(states, words):
    """A language model whose states repeat."""
    after = [(state * 31 + word * 7 + 3) % 1009 for state, word in zip(states, words, strict=True)]
    return after, [-(state % 17) / 3 for state in after]


def drawn_search(random_tree, seed, **more):
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
    return lexicon_beam(tree, **options), heard, tried


def by_frames(beam, heard, tried):
    """The same frames one by one."""
    beam._compiled = None
    beam.begin()
    beam.advance(heard, tried)
    return beam.frames


def check_frames(beam, heard, tried):
    """Half of the frames and the others are as all of them one by one."""
    cut = len(heard) // 2
    beam.advance(heard[:cut], tried[:cut])
    beam.advance(heard[cut:], tried[cut:])
    found = beam.frames
    expected = by_frames(beam, heard, tried)
    assert len(found) == len(expected) == len(heard) + 1
    numbers = ({}, {})
    for ours, theirs in zip(found, expected, strict=True):
        for name in ours._fields:
            pair = getattr(ours, name), getattr(theirs, name)
            if name == "state" and beam._ask is None:  # histories, numbered as they are met
                pair = [
                    [known.setdefault(state, len(known)) for state in states.tolist()]
                    for known, states in zip(numbers, pair, strict=True)
                ]
            np.testing.assert_array_equal(*pair, name)


@pytest.mark.parametrize("ask", [None, said], ids=["no model", "a model"])
@pytest.mark.parametrize("seed", range(40))
def test_words(seed, ask, random_tree):
    check_frames(*drawn_search(random_tree, seed, ask=ask))


def row(state):
    return np.array([-(((state * 31 + token * 7 + 3) % 1009) % 17) / 3 for token in range(30)])


@pytest.mark.parametrize("ask", [None, said], ids=["no model", "a model"])
@pytest.mark.parametrize("seed", range(40))
def test_free_tokens(seed, ask):
    draw = np.random.default_rng(seed)
    frames = int(draw.integers(1, 30))
    options = {"beam_size": int(draw.integers(1, 60)), "threshold": float(draw.integers(2, 50))}
    beam = free_beam(
        tokens=30, silence=1, blank=0, ask=ask, row=row if ask else None, weight=draw.normal(),
        **options,
    )  # fmt: skip
    heard = draw.normal(size=(frames, 30)) * 3
    tried = draw.random((frames, 30)) < draw.random()
    tried[:, 5] = True  # a frame without any leaves no hypothesis
    check_frames(beam, heard, tried)


def test_rows_say_what_the_model_would():
    heard = np.random.default_rng(0).normal(size=(20, 30))
    options = {"tokens": 30, "silence": 1, "blank": 0, "ask": said, "weight": 0.7}
    with_rows, asked = free_beam(**options, row=row), free_beam(**options)
    for beam in (with_rows, asked):
        beam.advance(heard)
    best = [beam.frames[-1] for beam in (with_rows, asked)]
    np.testing.assert_allclose(best[0].score, best[1].score, rtol=1e-12)
    assert with_rows.path(0) == asked.path(0)


def test_free_tokens_by_hand():
    """Of two frames: a token twice is one; behind a blank it is two."""
    beam = free_beam(tokens=3, silence=1, blank=0)
    beam.advance(np.log([[0.25, 0.15, 0.6], [0.5, 0.1, 0.4], [0.2, 0.1, 0.7]]))
    last = beam.frames[-1]
    found = {tuple(beam.path(at)[0]): score for at, score in enumerate(last.score)}
    np.testing.assert_allclose(found[1, 2, 0, 2], np.log(0.6 * 0.5 * 0.7))
    np.testing.assert_allclose(found[1, 2, 2, 2], np.log(0.6 * 0.4 * 0.7))
    assert max(found, key=found.get) == (1, 2, 0, 2)
    states = {tuple(beam.path(at)[0]): state for at, state in enumerate(last.state.tolist())}
    assert states[1, 2, 2, 2] == beam.frames[1].state[beam.frames[1].token == 2][0]
    assert states[1, 2, 0, 2] != states[1, 2, 2, 2]


def test_hypotheses_end():
    tree = rl.signal.PrefixTree([0, 1, 1], [2], [1], [0.0, 0.0], [0, 0, 1], [7])
    beam = lexicon_beam(tree, tokens=3, silence=1, blank=0, weight=2.0)
    beam.advance(np.log([[0.1, 0.2, 0.7], [0.1, 0.8, 0.1]]))
    last = beam.frames[-1]
    rows = np.flatnonzero(last.node == 0)
    beam.finish(rows, last.state[rows], np.arange(len(rows)) * -3.0)
    ended = beam.frames[-1]
    assert ended.parent[0] == rows[0] and ended.token.tolist() == [1] * len(ended.token)
    np.testing.assert_allclose(ended.score[0], last.score[rows[0]])
    np.testing.assert_allclose(ended.score[1], last.score[rows[1]] - 6.0)
    assert beam.path(0) == ([1, 2, 1, 1], [7])


def test_what_the_model_said_is_kept_and_buffers_grow(random_tree):
    asked = []

    def ask(states, words):
        asked.extend(zip(states, words, strict=True))
        return said(states, words)

    tree = random_tree(np.random.default_rng(1), 40, 3000)
    beam = lexicon_beam(
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
        beam = lexicon_beam(tree, log_add=log_add, **options)
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


def test_a_frame_that_leaves_nothing(random_tree):
    beam, heard, tried = drawn_search(random_tree, 4)
    heard = np.concatenate([heard, np.full((1, heard.shape[1]), np.nan)])
    tried = np.concatenate([tried, tried[:1]])
    with pytest.raises(ValueError, match=f"frame {len(heard) - 1} of emissions leaves no hypothes"):
        beam.advance(heard, tried)
    assert len(beam.frames) == len(heard)
    beam.begin()
    with pytest.raises(ValueError, match="frame 0 of emissions leaves no hypothesis"):
        beam.advance(np.full_like(heard, -np.inf))


def test_arguments_of_a_beam_that_do_not_fit(small_tree):
    options = {"tokens": 4, "silence": 1, "blank": 0}
    with pytest.raises(ValueError, match="tokens must be at least the tree's 4, got 3"):
        lexicon_beam(small_tree, **{**options, "tokens": 3})
    with pytest.raises(ValueError, match="LexiconBeam: beam_size must be at least 1, got 0"):
        lexicon_beam(small_tree, beam_size=0, **options)
    with pytest.raises(IndexError, match="blank must be one of 4 tokens, got 4"):
        lexicon_beam(small_tree, **{**options, "blank": 4})
    beam = lexicon_beam(small_tree, **options)
    with pytest.raises(ValueError, match=r"shape \[T, 4\], got \[2, 3\]"):
        beam.advance(np.zeros((2, 3)))
    with pytest.raises(ValueError, match=r"got \[2, 4\] and \[1, 4\]"):
        beam.advance(np.zeros((2, 4)), np.ones((1, 4)))
    with pytest.raises(ValueError, match="summed_rows: most must be at least 0, got -1"):
        rl.signal.summed_rows(np.zeros(1), np.zeros(1), -1)
    with pytest.raises(ValueError, match=r"row must give 4 scores, got an array of shape \[30\]"):
        free_beam(**options, ask=said, row=row).advance(np.zeros((1, 4)))

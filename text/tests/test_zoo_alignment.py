"""Letters beside their phones: ``text/zoo/alignment.py``."""

import importlib.util
import itertools
import random
from pathlib import Path

import numpy as np
import pytest


@pytest.fixture(scope="module")
def alignment():
    path = Path(__file__).parents[1] / "zoo" / "alignment.py"
    if not path.is_file():
        pytest.skip("the trainers are in the repository alone")
    spec = importlib.util.spec_from_file_location("zoo_alignment", path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def drawn(count):
    """Words of letters that give a fixed piece each, c none and x two."""
    pieces = {"a": ["A"], "b": ["B"], "c": [], "x": ["K", "S"]}
    pick = random.Random(0)
    words = ["".join(pick.choices("abcx", k=pick.randint(1, 6))) for _ in range(count)]
    return [(word, [p for c in word for p in pieces[c]]) for word in words]


def test_pieces_of_a_plain_spelling_are_found(alignment):
    rows = [row for row in drawn(200) if row[1]]
    aligned = alignment.Alignment(rows)
    likelihoods = [aligned.learn(1) for _ in range(8)]
    assert all(b >= a for a, b in itertools.pairwise(likelihoods[1:]))
    sizes = {"a": 1, "b": 1, "c": 0, "x": 2}
    cuts = aligned.cut()
    assert sorted(cuts) == list(range(len(rows)))
    assert all(cuts[n] == [sizes[c] for c in word] for n, (word, _) in enumerate(rows))


def test_sums_and_best_cuts_are_those_of_all_cuts(alignment):
    random_numbers = np.random.default_rng(0)
    likely = [random_numbers.random((2, 3, 5 - size)) for size in range(3)]
    ways = [way for way in itertools.product(range(3), repeat=3) if sum(way) == 4]

    def chance(word, way):
        start, found = 0, 1.0
        for letter, size in enumerate(way):
            found *= likely[size][word, letter, start]
            start += size
        return found

    expected, logarithm = alignment._expected(likely)
    chances = np.array([[chance(word, way) for way in ways] for word in range(2)])
    assert logarithm == pytest.approx(np.log(chances.sum(1)).sum())
    two = sum(chances[:, n] for n, way in enumerate(ways) if way[1] == 2) / chances.sum(1)
    assert expected[2][:, 1].sum(1) == pytest.approx(two)
    best = alignment._best([np.log(each) for each in likely])
    assert best.tolist() == [list(ways[n]) for n in chances.argmax(1)]


def test_words_with_too_many_phones_are_left_out(alignment):
    rows = [("w", ["D", "AH", "B"]), ("ab", ["A", "B"]), ("", []), ("b", ["B"])]
    aligned = alignment.Alignment(rows)
    aligned.learn(2)
    assert aligned.cut() == {1: [1, 1], 3: [1]}

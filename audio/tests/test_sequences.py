"""Edit distances: both ways of computing them against a table filled in cell by cell."""

import random

import pytest

import rushlight as rl
from rushlight_audio import functional as F


def by_table(one, other):
    table = [[i + j for j in range(len(other) + 1)] for i in range(len(one) + 1)]
    for i, a in enumerate(one):
        for j, b in enumerate(other):
            table[i + 1][j + 1] = min(
                table[i][j] + (a != b), table[i][j + 1] + 1, table[i + 1][j] + 1
            )
    return table[-1][-1]


@pytest.mark.parametrize("letters", ["ab", "abcdefgh"])
def test_edit_distance_is_that_of_the_table(letters):
    draw = random.Random(0)
    for _ in range(200):
        one, other = ("".join(draw.choices(letters, k=draw.randrange(90))) for _ in range(2))
        expected = by_table(one, other)
        assert F.edit_distance(one, other) == expected
        assert F.edit_distance([[c] for c in one], [[c] for c in other]) == expected


def test_edit_distance_of_tensors():
    assert F.edit_distance(rl.tensor([1, 2, 3]), rl.tensor([1, 3, 3, 4])) == 2
    assert F.edit_distance(["a", 1], [1, "a"]) == 2

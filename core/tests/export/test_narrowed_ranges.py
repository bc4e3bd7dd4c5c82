"""Ranges of sizes as the parts say that a program takes: those of PyTorch 2.13."""

import io
import math

import pytest

import rushlight
from rushlight.export import Dim, export, load, save

OO = math.inf


def written(x, part):
    """A copy in which a part is 0."""
    x = x.clone()
    x[part] = 0.0
    return x


# What is taken of a tensor of six rows, and the range of their number that PyTorch gives.
TAKEN = {
    "to 3": (lambda x: x[:3], 3, OO),
    "to 6": (lambda x: x[:6], 6, OO),
    "to 10": (lambda x: x[:10], 2, 9),
    "to 0": (lambda x: x[:0], 2, OO),
    "from 3": (lambda x: x[3:], 3, OO),
    "from 6": (lambda x: x[6:], 6, OO),
    "from 8": (lambda x: x[8:], 2, 7),
    "to -2": (lambda x: x[:-2], 2, OO),
    "to -4": (lambda x: x[:-4], 4, OO),
    "to -8": (lambda x: x[:-8], 2, 7),
    "from -4": (lambda x: x[-4:], 4, OO),
    "from -8": (lambda x: x[-8:], 2, 7),
    "1 to 5": (lambda x: x[1:5], 5, OO),
    "1 to 9": (lambda x: x[1:9], 2, 8),
    "-5 to -2": (lambda x: x[-5:-2], 5, OO),
    "every second": (lambda x: x[::2], 2, OO),
    "every second to 4": (lambda x: x[:4:2], 4, OO),
    "2 and 2": (lambda x: x[2:][2:], 4, OO),
    "1, then 3": (lambda x: x[1:][:3], 4, OO),
    "all but 1, then 4": (lambda x: x[:-1][:4], 5, OO),
    "of twice as many": (lambda x: rushlight.cat([x, x])[:9], 2, OO),
    "of more": (lambda x: rushlight.nn.functional.pad(x, (0, 0, 0, 2))[:7], 5, OO),
    "padded by less": (lambda x: rushlight.nn.functional.pad(x, (0, 0, -1, -2)), 3, OO),
    "row 3": (lambda x: x[3], 4, OO),
    "row -3": (lambda x: x[-3], 3, OO),
    "narrow": (lambda x: x.narrow(0, 1, 3), 4, OO),
    "written rows": (lambda x: written(x, slice(0, 4)), 4, OO),
    "written row": (lambda x: written(x, 4), 5, OO),
    "tensor_split": (lambda x: x.tensor_split([2, 4])[0], 4, OO),
    "unfold": (lambda x: x.unfold(0, 3, 1), 3, OO),
    "topk": (lambda x: x.topk(3, 0)[0], 3, OO),
    "kthvalue": (lambda x: x.kthvalue(4, 0)[0], 4, OO),
    "gathered": (lambda x: x[[0, 3]], 2, OO),
    "up to another size": (lambda x: x[: x.shape[1]], 4, OO),
}


class Taking(rushlight.nn.Module):
    def __init__(self, function):
        super().__init__()
        self.function = function

    def forward(self, x):
        return self.function(x)


def rows(n):
    return rushlight.arange(n * 4.0).reshape(n, 4)


@pytest.mark.parametrize("name", TAKEN)
@pytest.mark.parametrize("dim", [Dim.DYNAMIC, Dim.AUTO])
def test_ranges_keep_to_what_is_taken(name, dim):
    function, low, high = TAKEN[name]
    program = export(Taking(function), (rows(6),), dynamic_shapes=({0: dim},))
    (found,) = program.range_constraints.values()
    assert (found.lower, found.upper) == (low, high)
    call = program.module()
    for n in sorted({max(low, 4), 6, min(high, 11)}):
        assert call(rows(n)).tolist() == function(rows(n)).tolist()
    if low > 2:
        with pytest.raises(AssertionError, match=f"expected at least {low}"):
            call(rows(low - 1))
    if high != OO:
        with pytest.raises(AssertionError, match=f"at most {high}"):
            call(rows(high + 1))


def test_sizes_of_nodes_follow_the_range():
    program = export(Taking(TAKEN["to 3"][0]), (rows(6),), dynamic_shapes=({0: Dim.DYNAMIC},))
    (node,) = [n for n in program.graph.nodes if n.op == "call_function"]
    assert node.meta.get("sizes", (3, 4)) == (3, 4)


def test_archives_and_decomposed_programs_have_the_range():
    function, low, _ = TAKEN["1, then 3"]
    program = export(Taking(function), (rows(6),), dynamic_shapes=({0: Dim.DYNAMIC},))
    file = io.BytesIO()
    save(program, file)
    file.seek(0)
    for each in (load(file), program.run_decompositions()):
        (found,) = each.range_constraints.values()
        assert (found.lower, found.upper) == (low, OO)


def test_ranges_that_are_given_stay():
    """A named size keeps the range that it is given, and programs all sizes of it: PyTorch refuses
    to export where a part needs a narrower one."""
    dim = Dim("n", min=2, max=60)
    program = export(Taking(TAKEN["to 3"][0]), (rows(6),), dynamic_shapes=({0: dim},))
    (found,) = program.range_constraints.values()
    assert (found.lower, found.upper) == (2, 60)
    assert program.module()(rows(2)).tolist() == rows(2).tolist()


def test_only_the_size_that_is_compared_is_narrowed():
    class Two(rushlight.nn.Module):
        def forward(self, x, y):
            return x[:3].sum() + y[2:, 1:].sum()

    program = export(Two(), (rows(6), rows(5)), dynamic_shapes=({0: Dim.DYNAMIC}, {0: Dim.DYNAMIC}))
    limits = [(r.lower, r.upper) for r in program.range_constraints.values()]
    assert limits == [(3, OO), (2, OO)]

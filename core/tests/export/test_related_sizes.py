"""Sizes that are multiples, or not larger than others, without being declared so."""

import pytest

import rushlight
from rushlight.export import Dim, export

torch = pytest.importorskip("torch")


class Windows(rushlight.nn.Module):
    def forward(self, x):
        b, h, w = x.shape
        return x.view(b, h // 2, 2, w // 3, 3).sum((2, 4))


class Cut(rushlight.nn.Module):
    def forward(self, x, y):
        return x[:, : y.size(1)] + y


def sizes_of_inputs(program):
    nodes = [n for n in program.graph.nodes if n.op == "placeholder"]
    return [tuple(map(str, n.meta["sizes"])) for n in nodes]


def test_sizes_that_may_be_inferred_need_not_be_multiples():
    program = export(Windows(), (rushlight.zeros(2, 8, 9),), dynamic_shapes=({0: Dim.AUTO,
                     1: Dim.AUTO, 2: Dim.AUTO},))  # fmt: skip
    assert sizes_of_inputs(program) == [("s0", "s1", "s2")]
    with pytest.raises(RuntimeError, match="invalid for input of size 70"):
        program.module()(rushlight.zeros(2, 7, 5))
    for shape in ((2, 8, 9), (5, 2, 3), (1, 14, 300)):
        x = rushlight.randn(shape)
        rushlight.testing.assert_close(program.module()(x), Windows()(x))


def test_named_sizes_are_told_that_they_are_multiples():
    with pytest.raises(Exception, match=r"h = 2\*_h"):
        export(Windows(), (rushlight.zeros(2, 8, 9),), dynamic_shapes=({1: Dim("h")},))


@pytest.mark.parametrize("dims", [(Dim("m"), Dim("n")), (Dim.AUTO, Dim.AUTO)])
def test_a_size_that_may_not_be_larger_than_another(dims):
    example = rushlight.zeros(2, 7), rushlight.zeros(2, 5)
    program = export(Cut(), example, dynamic_shapes=({1: dims[0]}, {1: dims[1]}))
    long, short = (sizes[1] for sizes in sizes_of_inputs(program))
    assert long != short
    for m, n in ((7, 5), (6, 6), (40, 3)):
        x, y = rushlight.randn(2, m), rushlight.randn(2, n)
        rushlight.testing.assert_close(program.module()(x, y), Cut()(x, y))

"""Random tensors like others in captured, decomposed and traced programs: the same numbers."""

from __future__ import annotations

import pytest

import rushlight
import rushlight.export
from rushlight import jit, nn


class Sampler(nn.Module):
    """Draws in the shape of its input."""

    def __init__(self, name, options):
        super().__init__()
        self.name, self.options = name, options

    def forward(self, x):
        return getattr(rushlight, self.name)(x, **self.options) * 2 + x


CASES = [
    (name, options)
    for name in ("rand_like", "randn_like")
    for options in ({}, {"dtype": rushlight.float64})
]


@pytest.mark.parametrize(("name", "options"), CASES)
def test_numbers_are_those_of_the_program(name, options, tmp_path):
    def drawn(program, x):
        rushlight.manual_seed(4)
        return program(x)

    model, x, other = Sampler(name, options), rushlight.rand(3, 2), rushlight.rand(3, 2)
    program = rushlight.export.export(model, (x,))
    names = [n.target.__name__ for n in program.graph.nodes if n.op == "call_function"]
    assert names == [name, "mul", "add"]
    rushlight.export.save(program, tmp_path / "net.pt2")
    found = [
        program.module(),
        program.run_decompositions().module(),
        rushlight.export.load(tmp_path / "net.pt2").module(),
        jit.trace(model, (x,), check_trace=False),
    ]
    expected = drawn(model, other)
    assert all(rushlight.equal(drawn(each, other), expected) for each in found)

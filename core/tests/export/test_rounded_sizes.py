"""Numbers that programs make of sizes by rounding: at every size in range they are eager's."""

import math

import pytest

import rushlight
from rushlight._dynamo.exc import UserError
from rushlight.export import Dim, export

NUMBERS = {
    "int": lambda n: int(n * 0.5),
    "floor": lambda n: math.floor(n * 0.7),
    "ceil": lambda n: math.ceil(n / 3),
    "trunc": lambda n: math.trunc(n * 1.5),
    "floor of a float": lambda n: int((n * 0.7) // 2),
    "rounded thirds": lambda n: round(n / 3),
    "remainder": lambda n: n % 3,
    "least": lambda n: min(n, 20),
    "greatest": lambda n: max(n, 7, 12),
    # no divisions, although they are like one at a few sizes
    "round": lambda n: round(n * 0.5),
    "whole root": math.isqrt,
    "root": lambda n: int(n**0.5),
    "logarithm": lambda n: int(math.log2(n)),
    "bits": lambda n: n.bit_length(),
}
ALWAYS = {
    "int", "floor", "ceil", "trunc", "floor of a float", "rounded thirds", "remainder", "least",
    "greatest",
}  # fmt: skip


class Model(rushlight.nn.Module):
    def __init__(self, name):
        super().__init__()
        self.name = name

    def forward(self, x):
        return rushlight.zeros(NUMBERS[self.name](x.shape[0])), x * 2


def test_every_size_in_range():
    for name in NUMBERS:
        model, x = Model(name), rushlight.rand(9)
        sizes = ({0: Dim.DYNAMIC(min=4, max=40)},)
        program = export(model, (x,), dynamic_shapes=sizes)
        (limits,) = program.range_constraints.values()
        if name in ALWAYS:
            assert (limits.lower, limits.upper) == (4, 40), name
        module = program.module()
        for size in range(limits.lower, limits.upper + 1):
            count = module(rushlight.rand(size))[0].numel()
            assert count == NUMBERS[name](size), (name, size)
        with pytest.raises(AssertionError, match="expected at least"):
            module(rushlight.rand(limits.upper + 1))


@pytest.mark.parametrize("name", ["whole root", "logarithm"])
def test_without_a_greatest_size(name):
    with pytest.raises(UserError, match="Constraints violated"):
        export(Model(name), (rushlight.rand(9),), dynamic_shapes=({0: Dim("n")},))

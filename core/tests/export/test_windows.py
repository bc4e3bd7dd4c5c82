"""Sizes that are compared with lengths of the program: windows, steps, ends, branches."""

import pytest
import torch

import rushlight
from rushlight.export import Dim, export
from rushlight.fx.experimental.symbolic_shapes import ConstraintViolationError

EXAMPLE = 600
SIZES = (600, 601, 1203, 2999, 3000, 3001, 4999, 5000, 5001, 5003, 5004, 11000, 19999)


class Calls(rushlight.nn.Module):
    def __init__(self, function):
        super().__init__()
        self.function = function

    def forward(self, x):
        return self.function(x)


def exported(function, least=EXAMPLE, most=20000):
    size = Dim("n", min=least, max=most)
    x = rushlight.zeros(2, EXAMPLE)
    return export(Calls(function), (x,), dynamic_shapes={"x": {1: size}})


def sizes_of_result(program):
    return program.graph.output_node().args[0][0].meta["sizes"]


WINDOWS = [(4, 3), (4, 64), (4, 65), (7, 333), (4, 500), (400, 160), (4, 5000), (513, 600)]


@pytest.mark.parametrize(("length", "step"), WINDOWS)
def test_numbers_of_windows_are_exact(length, step):
    program = exported(lambda x: x.unfold(1, length, step))
    _, count, extent = sizes_of_result(program)
    assert extent == length
    for n in range(EXAMPLE, 20000, 7):
        assert count.expression.value({"n": n}) == (n - length) // step + 1
    for n in SIZES:
        assert program.module()(rushlight.zeros(2, n)).shape == (
            2,
            (n - length) // step + 1,
            length,
        )


@pytest.mark.parametrize("step", [3, 64, 700, 5000])
def test_numbers_of_pooled_elements_are_exact(step):
    program = exported(lambda x: rushlight.nn.functional.max_pool1d(x, 4, step))
    count = sizes_of_result(program)[1]
    for n in SIZES:
        assert count.expression.value({"n": n}) == (n - 4) // step + 1


def test_ends_of_slices_beyond_the_example():
    first = sizes_of_result(exported(lambda x: 2 * x[:, :5000]))[1]
    rest = sizes_of_result(exported(lambda x: 2 * x[:, 3000:]))[1]
    for n in SIZES:
        assert first.expression.value({"n": n}) == min(n, 5000)
        assert rest.expression.value({"n": n}) == max(n - 3000, 0)


def test_a_program_that_is_another_beyond_a_length_names_the_limit():
    def in_parts(x):
        return sum(part.sum(1) for part in x.split(5000, 1))

    with pytest.raises(
        ConstraintViolationError, match=r"Suggested fixes:\n  n = Dim\('n', min=600, max=5000\)"
    ):
        exported(in_parts)
    exported(in_parts, most=5000)


def test_a_branch_below_the_upper_limit_is_seen():
    def branching(x):
        return 2 * x if x.shape[1] > 4096 else 3 * x

    with pytest.raises(
        ConstraintViolationError, match=r"Suggested fixes:\n  n = Dim\('n', min=600, max=4096\)"
    ):
        exported(branching)
    exported(branching, most=4096)


def test_pytorch_reads_the_same_numbers(tmp_path):
    program = exported(lambda x: x.unfold(1, 4, 5000).sum(-1))
    rushlight.export.save(program, tmp_path / "windows.pt2")
    module = torch.export.load(tmp_path / "windows.pt2").module()
    for n in SIZES:
        x = torch.arange(2.0 * n).reshape(2, n)
        expected = x.unfold(1, 4, 5000).sum(-1)
        assert torch.equal(module(x), expected)
        found = program.module()(rushlight.tensor(x.numpy()))
        assert found.tolist() == expected.tolist()

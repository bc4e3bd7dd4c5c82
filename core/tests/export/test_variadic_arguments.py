"""What `dynamic_shapes` says of ``*args`` and ``**kwargs``: PyTorch's forms, and one by one."""

import pytest

import rushlight
from rushlight._dynamo.exc import UserError
from rushlight.export import Dim, export


class Sums(rushlight.nn.Module):
    def forward(self, first, *rest, last=1.0, **named):
        return first.sum(0) + sum(x.sum(0) for x in rest) + named["y"].sum(0) * last


FREE, FIXED = {0: Dim.AUTO}, None


@pytest.mark.parametrize(
    "shapes",
    [
        (FREE, (FIXED, FREE), {"y": FREE}),
        (FREE, [FIXED, FREE], {"y": FREE}),
        {"first": FREE, "rest": (FIXED, FREE), "named": {"y": FREE}},
        (FREE, FIXED, FREE, FREE),
        {"first": FREE, "rest_0": FIXED, "rest_1": FREE, "y": FREE},
    ],
)
def test_sizes_of_variadic_arguments(shapes):
    given = [rushlight.rand(4, 3), rushlight.rand(5, 3), rushlight.rand(6, 3)]
    program = export(Sums(), tuple(given), {"y": rushlight.rand(3, 3)}, dynamic_shapes=shapes)
    run = program.module()
    given[0], given[2], y = rushlight.rand(9, 3), rushlight.rand(2, 3), rushlight.rand(7, 3)
    assert rushlight.equal(run(*given, y=y), Sums()(*given, y=y))
    given[1] = rushlight.rand(8, 3)
    with pytest.raises(AssertionError, match=r"rest_0' must have the shape \[5, 3\]"):
        run(*given, y=y)


def test_sizes_of_variadic_arguments_are_as_many_as_these():
    with pytest.raises(UserError, match="dynamic_shapes of rest_0"):
        export(
            Sums(), (rushlight.rand(4, 3), rushlight.rand(5, 3)), {"y": rushlight.rand(3, 3)},
            dynamic_shapes=(FREE, (FREE, FREE), {"y": FREE}),
        )  # fmt: skip


def test_an_error_of_the_program_itself_is_told():
    class Refuses(rushlight.nn.Module):
        def forward(self, x):
            raise NotImplementedError("no such layer")

    with pytest.raises(NotImplementedError, match="no such layer"):
        export(Refuses(), (rushlight.rand(4),), dynamic_shapes=({0: Dim.AUTO},))

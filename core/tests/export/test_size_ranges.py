"""The ranges of sizes that may differ, and which sizes a program refuses for them."""

import pytest

import rushlight
from rushlight.export import Dim, export


class Doubled(rushlight.nn.Module):
    def forward(self, x):
        return x * 2


def of_size(n):
    return rushlight.arange(n * 3.0).reshape(n, 3) + 0.5


@pytest.mark.parametrize("dim, limits, refused", [
    (Dim.DYNAMIC, (2, float("inf")), ()), (Dim.AUTO, (2, float("inf")), ()),
    (Dim.AUTO(min=0), (2, float("inf")), ()), (Dim.DYNAMIC(min=1, max=8), (2, 8), (9,)),
    (Dim.DYNAMIC(min=3), (3, float("inf")), (0, 1, 2)), (Dim("b"), (0, float("inf")), ()),
    (Dim("b", min=2), (2, float("inf")), ()), (Dim("b", min=1), (1, float("inf")), ()),
    (Dim("b", min=3), (3, float("inf")), (0, 1, 2)), (2 * Dim("b", min=2), (2, float("inf")), (2,)),
])  # fmt: skip
def test_ranges_and_what_is_refused(dim, limits, refused):
    """Sizes 0 and 1 are taken unless a limit of 3 or more says otherwise, as PyTorch does it."""
    program = export(Doubled(), (of_size(6),), dynamic_shapes=({0: dim},))
    (found,) = program.range_constraints.values()
    assert (found.lower, found.upper) == limits
    module = program.module()
    for n in {0, 1, 2, 9} - set(refused) if str(dim)[0] != "2" else {4, 8}:
        assert module(of_size(n)).tolist() == (of_size(n) * 2).tolist()
    for n in refused:
        with pytest.raises(AssertionError, match="expected at least"):
            module(of_size(n))

"""What an op refuses for the sizes of its arguments it refuses on the meta device too."""

from __future__ import annotations

import pytest
from op_models import NAMES, cases

import rushlight

# Their shape rules take more than their bodies do.
LOOSE = frozenset(
    """
linalg_ldl_solve lu_unpack max_pool2d_with_indices_backward searchsorted segment_reduce sum_to_size
""".split()
)
REFUSALS = (RuntimeError, IndexError, ValueError)


def longer(inputs):
    """The inputs, each time with one dimension of one tensor longer by one."""
    for i, x in enumerate(inputs):
        for dim in range(min(x.ndim, 3)):
            if x.shape[dim]:
                more = rushlight.cat([x, x.narrow(dim, 0, 1)], dim)
                yield [more if j == i else other for j, other in enumerate(inputs)]


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("name", [n for n in NAMES if n not in LOOSE])
def test_sizes_that_do_not_fit(name):
    for model, inputs in cases(name):
        for given in longer(inputs):
            try:
                model(*given)
            except REFUSALS as error:
                refused = error
            else:
                continue
            with pytest.raises((*REFUSALS, NotImplementedError)):
                model(*(x.to("meta") for x in given))
                print(f"the body refuses: {refused}")

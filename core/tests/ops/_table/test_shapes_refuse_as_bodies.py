"""What an op refuses for its shapes, its shape rule refuses: bad shapes and numbers, generated."""

import math
import sys
import warnings
from pathlib import Path

import pytest

import rushlight
from rushlight.utils import _pytree as pytree

sys.path.insert(0, str(Path(__file__).parents[2]))
from op_models import NAMES, TABLE, samples_of  # noqa: E402

# Ops that refuse values, or memory, which the meta device has not.
VALUES = frozenset(
    """
as_strided as_strided_copy as_strided_scatter cov fake_quantize_per_channel_affine histc
linalg_ldl_solve linalg_lu_solve lu_solve
lu_unpack masked_scatter segment_reduce
""".split()
)


def others(shape):
    """Shapes that differ from one in a size or a dimension."""
    for d, size in enumerate(shape):
        before, after = shape[:d], shape[d + 1 :]
        yield from ((*before, size + 1, *after), (*before, *after))
        if size > 1:
            yield (*before, size - 1, *after)
    yield from ((*shape, 2), (2, *shape), ())


def is_real(tensor):
    return (
        tensor.dtype.is_floating_point or tensor.dtype.is_complex or tensor.dtype is rushlight.bool
    )


def of_shape(tensor, shape):
    """The elements of a tensor, repeated, in another shape; None where there are none."""
    count, flat = math.prod(shape), tensor.reshape(-1)
    if not len(flat):
        return None if count else flat.reshape(shape)
    return flat.repeat(-(-count // len(flat)))[:count].reshape(shape)


def variants(args, kwargs):
    """Calls with one argument changed: a tensor's shape, or a whole number."""
    leaves, spec = pytree.tree_flatten((args, kwargs))
    # indices of zeros are inside of everything that has elements
    leaves = [
        (v.detach() if is_real(v) else v.detach() * 0) if rushlight.is_tensor(v) else v
        for v in leaves
    ]
    for i, value in enumerate(leaves):
        if rushlight.is_tensor(value):
            changed = [
                of_shape(value, shape) for shape in dict.fromkeys(others(tuple(value.shape)))
            ]
        else:
            changed = [value + 1, value - 1, -value - 1, 17] if type(value) is int else []
        for other in changed:
            if other is not None:
                yield [*leaves[:i], other, *leaves[i + 1 :]], spec


def refused(function, leaves, spec, change):
    leaves = [change(v) if rushlight.is_tensor(v) else v for v in leaves]
    args, kwargs = pytree.tree_unflatten(leaves, spec)
    try:
        with warnings.catch_warnings(action="ignore"):
            function(*args, **kwargs)
    except Exception as error:  # noqa: BLE001 - any refusal counts
        return error
    return None


@pytest.mark.parametrize("name", NAMES)
def test_a_shape_that_the_op_refuses_is_refused_without_elements(name):
    found = []
    for args, kwargs in list(samples_of(TABLE[name]))[:4]:
        for leaves, spec in variants(args, kwargs):
            error = refused(TABLE[name].function, leaves, spec, lambda v: v)
            meta = lambda v: v.to("meta")  # noqa: E731
            if error is not None and refused(TABLE[name].function, leaves, spec, meta) is None:
                found.append((pytree.tree_map(lambda v: getattr(v, "shape", v), leaves), error))
    assert not found or name in VALUES, found[:3]

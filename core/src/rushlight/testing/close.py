"""`assert_close`: equality of tensors up to the rounding of their dtype."""

from __future__ import annotations

import rushlight
from rushlight.tensor.tensor import Tensor
from rushlight.testing.nested import not_close_error_metas
from rushlight.testing.pairs import BooleanPair, NonePair, NumberPair
from rushlight.testing.tensor_pair import TensorLikePair


def assert_close(
    actual,
    expected,
    *,
    allow_subclasses=True,
    rtol=None,
    atol=None,
    equal_nan=False,
    check_device=True,
    check_dtype=True,
    check_layout=True,
    check_stride=False,
    msg=None,
):
    """Raise AssertionError unless ``|actual - expected| <= atol + rtol * |expected|`` everywhere.

    Numbers, tensors, arrays, and sequences or dicts of them; a tensor and an array, or a tensor and
    a number, are a TypeError. The tolerances follow from the dtypes unless both are given.
    """
    found = not_close_error_metas(
        actual, expected, pair_types=(NonePair, BooleanPair, NumberPair, TensorLikePair),
        allow_subclasses=allow_subclasses, rtol=rtol, atol=atol, equal_nan=equal_nan,
        check_device=check_device, check_dtype=check_dtype, check_layout=check_layout,
        check_stride=check_stride,
    )  # fmt: skip
    if found:
        raise found[0].to_error(msg)


_FORMER = {"float16": (1e-3, 1e-3), "float32": (1e-4, 1e-5), "float64": (1e-5, 1e-8)}


def assert_allclose(actual, expected, rtol=None, atol=None, equal_nan=True, msg="") -> None:
    """The former :func:`assert_close`: takes any data, ignores dtypes, and counts NaN as equal.

    Without tolerances they are those of the less exact dtype: 1e-4 and 1e-5 for float32.
    """
    import warnings

    warnings.warn(
        "`rushlight.testing.assert_allclose()` is deprecated. Please use "
        "`rushlight.testing.assert_close()` instead.",
        FutureWarning,
        stacklevel=2,
    )
    actual = actual if isinstance(actual, Tensor) else rushlight.tensor(actual)
    if not isinstance(expected, Tensor):
        expected = rushlight.tensor(expected, dtype=actual.dtype)
    if rtol is None and atol is None:
        pairs = [_FORMER.get(x.dtype.name, (0.0, 0.0)) for x in (actual, expected)]
        rtol, atol = max(p[0] for p in pairs), max(p[1] for p in pairs)
    assert_close(
        actual, expected, rtol=rtol, atol=atol, equal_nan=equal_nan, check_dtype=False,
        msg=msg or None,
    )  # fmt: skip

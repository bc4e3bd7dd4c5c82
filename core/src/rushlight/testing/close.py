"""`assert_close`: equality of tensors up to the rounding of their dtype."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import rushlight
from rushlight.machine import np
from rushlight.tensor.tensor import Tensor

_TOLERANCES = {
    "float16": (1e-3, 1e-5), "bfloat16": (1.6e-2, 1e-5), "float32": (1.3e-6, 1e-5),
    "float64": (1e-7, 1e-7), "complex32": (1e-3, 1e-5), "complex64": (1.3e-6, 1e-5),
    "complex128": (1e-7, 1e-7),
}  # fmt: skip


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
    if (rtol is None) != (atol is None):
        raise ValueError(
            "rtol and atol must both be specified or both be unspecified, but got no "
            f"{'rtol' if rtol is None else 'atol'}"
        )
    options = {
        "rtol": rtol, "atol": atol, "equal_nan": equal_nan, "check_device": check_device,
        "check_dtype": check_dtype, "check_layout": check_layout, "check_stride": check_stride,
        "allow_subclasses": allow_subclasses,
    }  # fmt: skip
    _compare(actual, expected, "", options, msg)


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


def _fail(where, text, msg):
    text = f"{text}\n\nThe failure occurred for item {where}" if where else text
    raise AssertionError(msg(text) if callable(msg) else msg or text)


def _compare(actual, expected, where, options, msg):
    if isinstance(expected, Mapping) and isinstance(actual, Mapping):
        missing = [key for key in expected if key not in actual]
        additional = [key for key in actual if key not in expected]
        if missing or additional:
            _fail(
                where,
                "The keys of the mappings do not match:\n"
                f"Missing keys in the actual mapping: {missing}\n"
                f"Additional keys in the actual mapping: {additional}",
                msg,
            )
        for key in expected:
            _compare(actual[key], expected[key], f"{where}[{key!r}]", options, msg)
    elif _is_sequence(expected) and _is_sequence(actual):
        if len(actual) != len(expected):
            _fail(
                where,
                f"The length of the sequences mismatch: {len(actual)} != {len(expected)}",
                msg,
            )
        for i, (a, e) in enumerate(zip(actual, expected, strict=True)):
            _compare(a, e, f"{where}[{i}]", options, msg)
    elif actual is None or expected is None:
        if actual is not expected:
            _fail(where, f"None mismatch: {actual} is not {expected}", msg)
    else:
        _compare_leaves(actual, expected, where, options, msg)


def _is_sequence(value):
    return isinstance(value, Sequence) and not isinstance(value, str)


def _compare_leaves(actual, expected, where, options, msg):
    """Two numbers, or two tensors, arrays or the like of one kind: nothing is made a tensor to
    fit the other."""
    if isinstance(actual, _BOOLEANS) and isinstance(expected, _BOOLEANS):
        if bool(actual) is not bool(expected):
            _fail(where, f"Booleans mismatch: {actual} is not {expected}", msg)
        return
    if isinstance(actual, _NUMBERS) and isinstance(expected, _NUMBERS):
        _compare_numbers(actual, expected, where, options, msg)
        return
    related = isinstance(actual, type(expected)) or isinstance(expected, type(actual))
    if not related or not options["allow_subclasses"] and type(actual) is not type(expected):
        raise _unsupported(actual, expected, where)
    try:
        actual, expected = rushlight.as_tensor(actual), rushlight.as_tensor(expected)
    except (TypeError, ValueError, RuntimeError) as error:
        raise _unsupported(actual, expected, where) from error
    _compare_attributes(actual, expected, where, options, msg)
    actual, expected = actual.detach(), expected.detach()
    if actual.layout == expected.layout != "strided":
        _compare_sparse(actual, expected, where, options, msg)
    else:
        _compare_values(actual, expected, where, options, msg, "Tensor-likes")


_BOOLEANS = bool, np.bool_
_NUMBERS = int, float, complex, np.number


def _unsupported(actual, expected, where):
    text = (
        f"No comparison pair was able to handle inputs of type {type(actual)} and {type(expected)}."
    )
    return TypeError(f"{text}\n\nThe failure occurred for item {where}" if where else text)


def _compare_numbers(actual, expected, where, options, msg):
    """Two numbers, of Python or NumPy."""
    pair = [v.item() if isinstance(v, np.number) else v for v in (actual, expected)]
    if options["check_dtype"] and type(pair[0]) is not type(pair[1]):
        text = f"The (d)types do not match: {type(pair[0])} != {type(pair[1])}."
        _fail(where, text, msg)
    if all(isinstance(v, int) for v in pair):
        kinds = [rushlight.int64] * 2
    else:
        kinds = [rushlight.complex128 if isinstance(v, complex) else rushlight.float64
                 for v in pair]  # fmt: skip
    pair = [rushlight.tensor(v, dtype=k) for v, k in zip(pair, kinds, strict=True)]
    _compare_values(*pair, where, options, msg, "Scalars")


def _compare_sparse(actual, expected, where, options, msg):
    """Sparse tensors of one layout, by their parts."""
    kind = str(actual.layout).removeprefix("sparse_").upper()
    by_row = kind in ("CSR", "BSR")
    names = ("crow_indices", "col_indices") if by_row else ("ccol_indices", "row_indices")
    names = ("indices",) if actual.is_sparse else names
    if actual.is_sparse:
        actual, expected = actual.coalesce(), expected.coalesce()
    if actual._nnz() != expected._nnz():
        text = f"The number of specified values in sparse {kind} tensors does not match: "
        _fail(where, f"{text}{actual._nnz()} != {expected._nnz()}", msg)
    for name in (*names, "values"):
        parts = getattr(actual, name)(), getattr(expected, name)()
        _compare_values(*parts, where, options, msg, f"Sparse {kind} {name}")


def _compare_attributes(actual, expected, where, options, msg):
    pairs = [("shape", actual.shape, expected.shape)]
    if options["check_layout"]:
        pairs.append(("layout", actual.layout, expected.layout))
    if options["check_device"]:
        pairs.append(("device", actual.device, expected.device))
    if options["check_dtype"]:
        pairs.append(("dtype", actual.dtype, expected.dtype))
    if options["check_stride"] and actual.layout == expected.layout == "strided":
        pairs.append(("stride()", tuple(actual.stride()), tuple(expected.stride())))
    for name, ours, theirs in pairs:
        if ours != theirs:
            shown = f"The values for attribute '{name}' do not match: {ours} != {theirs}."
            _fail(where, shown, msg)


_UNSIGNED = (rushlight.uint16, rushlight.uint32, rushlight.uint64)  # not to be subtracted


def _common_dtype(first, second):
    """The dtype to compare in; whole numbers that no common dtype holds meet in int64."""
    if first is second:
        return first
    kinds = (rushlight.int64 if d in _UNSIGNED else d for d in (first, second))
    return rushlight.promote_types(*kinds)


def _computed_in(both, exact):
    """The dtype that the comparison computes in, of the two's common one."""
    if both.is_floating_point:
        return rushlight.float64
    if both.is_complex:
        return rushlight.complex128
    return rushlight.int64 if both is rushlight.bool or not exact else both


def _compare_values(actual, expected, where, options, msg, kind):
    rtol, atol = options["rtol"], options["atol"]
    if rtol is None:
        pairs = [_TOLERANCES.get(t.dtype.name, (0.0, 0.0)) for t in (actual, expected)]
        rtol, atol = max(p[0] for p in pairs), max(p[1] for p in pairs)
    if str(actual.layout) != "strided":
        actual, expected = actual.to_dense(), expected.to_dense()
    both = _common_dtype(actual.dtype, expected.dtype)
    exact = not rtol and not atol
    common = _computed_in(both, exact)
    actual, expected = actual.to(common), expected.to(common)
    close = rushlight.isclose(actual, expected, rtol, atol, options["equal_nan"])
    if bool(close.all()):
        return
    if both.is_floating_point or both.is_complex:  # figures as the tensors' dtype has them
        actual, expected = actual.to(both), expected.to(both)
    if common in _UNSIGNED:
        common = rushlight.int64
        actual, expected = actual.to(common), expected.to(common)
    limits = None if exact else (atol, rtol)
    if close.ndim:
        text = _tensors_differ(actual, expected, close, limits, common)
        _fail(where, f"{kind} are not {'equal' if exact else 'close'}!\n\n{text}", msg)
    text = _scalars_differ(actual, expected, limits, common)
    _fail(where, f"Scalars are not {'equal' if exact else 'close'}!\n\n{text}", msg)


def _scalars_differ(actual, expected, limits, common):
    """How much two numbers differ; `limits` are the absolute and relative ones, None if exact."""
    difference = (actual - expected).abs()
    relative = difference / expected.abs()
    allowed = ["", ""] if limits is None else [f" (up to {limit} allowed)" for limit in limits]
    return (
        f"Expected {expected.item()} but got {actual.item()}.\n"
        f"Absolute difference: {_number(difference, common)}{allowed[0]}\n"
        f"Relative difference: {relative.item()}{allowed[1]}"
    )


def _tensors_differ(actual, expected, close, limits, common):
    """How many elements differ, and where most."""
    difference = (actual - expected).abs()
    relative = difference / expected.abs()
    count = int((~close).sum())
    lines = [f"Mismatched elements: {count} / {close.numel()} ({count / close.numel():.1%})"]
    for i, (name, values) in enumerate((("absolute", difference), ("relative", relative))):
        values = values.masked_fill(close, 0.0)
        position = int(values.argmax())
        found = rushlight.unravel_index(rushlight.tensor(position), close.shape)
        index = tuple(int(each) for each in found)
        worst = values.reshape(-1)[position]
        worst = _number(worst, common) if name == "absolute" else worst.item()
        allowed = "" if limits is None else f" (up to {limits[i]} allowed)"
        lines.append(f"Greatest {name} difference: {worst} at index {index}{allowed}")
    return "\n".join(lines)


def _number(value, common):
    """A difference as a number of the kind that was compared."""
    return value.item() if common.is_floating_point or common.is_complex else int(value.item())

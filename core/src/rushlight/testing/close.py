"""`assert_close`: equality of tensors up to the rounding of their dtype."""

from __future__ import annotations

import rushlight
from rushlight.tensor.tensor import Tensor

_TOLERANCES = {
    "float16": (1e-3, 1e-5), "bfloat16": (1.6e-2, 1e-5), "float32": (1.3e-6, 1e-5),
    "float64": (1e-7, 1e-7), "complex64": (1.3e-6, 1e-5), "complex128": (1e-7, 1e-7),
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

    Numbers, tensors, and sequences or dicts of them. The tolerances follow from the dtypes unless
    both are given.
    """
    if (rtol is None) != (atol is None):
        raise ValueError("assert_close: give both rtol and atol, or neither")
    options = (rtol, atol, equal_nan, check_device, check_dtype, check_stride, check_layout)
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
    text = f"{where or 'values'}: {text}" if where else text
    raise AssertionError(msg(text) if callable(msg) else msg or text)


def _compare(actual, expected, where, options, msg):
    if isinstance(expected, dict):
        if not isinstance(actual, dict) or actual.keys() != expected.keys():
            _fail(where, "The keys of the mappings do not match", msg)
        for key in expected:
            _compare(actual[key], expected[key], f"{where}[{key!r}]", options, msg)
        return
    if isinstance(expected, (list, tuple)):
        if not isinstance(actual, (list, tuple)) or len(actual) != len(expected):
            _fail(where, "The length of the sequences do not match", msg)
        for i, (a, e) in enumerate(zip(actual, expected, strict=True)):
            _compare(a, e, f"{where}[{i}]", options, msg)
        return
    numbers = not isinstance(actual, Tensor) and not isinstance(expected, Tensor)
    actual, expected = rushlight.as_tensor(actual), rushlight.as_tensor(expected)
    actual, expected = actual.detach(), expected.detach()
    if actual.layout == expected.layout == "strided":
        _compare_tensors(actual, expected, where, options, msg, numbers)
    else:
        _compare_layouts(actual, expected, where, options, msg)


def _compare_layouts(actual, expected, where, options, msg):
    """Sparse tensors by their parts; of different layouts, where that is allowed, as dense ones."""
    if actual.shape == expected.shape and actual.layout != expected.layout:
        if options[-1]:
            text = f"The values for attribute 'layout' do not match: {actual.layout} != "
            _fail(where, f"{text}{expected.layout}.", msg)
        _compare_tensors(actual.to_dense(), expected.to_dense(), where, options, msg, False)
        return
    if actual.shape != expected.shape:
        text = f"The values for attribute 'shape' do not match: {actual.shape} != {expected.shape}."
        _fail(where, text, msg)
    kind = "COO" if actual.is_sparse else "CSR"
    names = ("indices",) if actual.is_sparse else ("crow_indices", "col_indices")
    if actual.is_sparse:
        actual, expected = actual.coalesce(), expected.coalesce()
    if actual._nnz() != expected._nnz():
        text = f"The number of specified values in sparse {kind} tensors does not match: "
        _fail(where, f"{text}{actual._nnz()} != {expected._nnz()}", msg)
    for name in (*names, "values"):
        parts = getattr(actual, name)(), getattr(expected, name)()
        _compare_tensors(*parts, f"{where}Sparse {kind} {name}", options, msg, False)


def _compare_tensors(actual, expected, where, options, msg, numbers):
    rtol, atol, equal_nan, check_device, check_dtype, check_stride, _ = options
    if actual.shape != expected.shape:
        _fail(
            where,
            f"The values for attribute 'shape' do not match: {actual.shape} != {expected.shape}.",
            msg,
        )
    if check_device and actual.device != expected.device:
        _fail(
            where,
            f"The values for attribute 'device' do not match: {actual.device} != "
            f"{expected.device}.",
            msg,
        )
    if check_dtype and not numbers and actual.dtype is not expected.dtype:
        _fail(
            where,
            f"The values for attribute 'dtype' do not match: {actual.dtype} != {expected.dtype}.",
            msg,
        )
    if check_stride and actual.stride() != expected.stride():
        _fail(
            where,
            f"The values for attribute 'stride()' do not match: {actual.stride()} != "
            f"{expected.stride()}.",
            msg,
        )
    if rtol is None:
        pairs = [_TOLERANCES.get(t.dtype.name, (0.0, 0.0)) for t in (actual, expected)]
        rtol, atol = max(p[0] for p in pairs), max(p[1] for p in pairs)
    common = rushlight.promote_types(actual.dtype, expected.dtype)
    if common.is_floating_point:
        common = rushlight.float64
    actual, expected = actual.to(common), expected.to(common)
    close = rushlight.isclose(actual, expected, rtol, atol, equal_nan)
    if not bool(close.all()):
        bad = int((~close).sum())
        worst = (actual - expected).abs().max().item() if not common == rushlight.bool else 1
        _fail(
            where,
            f"Tensor-likes are not close!\n\nMismatched elements: {bad} / "
            f"{close.numel()}\nGreatest absolute difference: {worst} (up to {atol} "
            f"allowed, rtol {rtol})",
            msg,
        )

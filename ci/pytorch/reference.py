"""Forward parity over the `reference_inputs` of PyTorch's op table (`table.py --reference`).

Beyond its samples the table makes reference inputs for elementwise functions and some others: many
shapes, gaps, broadcasting, Python numbers, values near and beyond the ends of their ranges, nan and
infinities. To these come, for functions of two tensors, every pair of dtypes (as tensors of one
dimension and of none), which shows how types promote. Each input runs on both sides. Results must
have the same values, dtype and shape; where PyTorch raises, so must we, by an error of that kind.

Entries whose reference inputs are their samples are covered by the checks of the samples. What is
known not to agree stands in ci/pytorch/reference_known.toml with its reasons.
"""

from __future__ import annotations

import itertools
import warnings

import table_checks as checks
import table_values as values
import torch
from torch.testing._internal.common_methods_invocations import BinaryUfuncInfo
from torch.testing._internal.opinfo.core import SampleInput

import rushlight

# The dtypes of the other operand.
PARTNERS = (
    "bool", "uint8", "int8", "int16", "int32", "int64", "float16", "bfloat16", "float32",
    "float64", "complex64", "complex128",
)  # fmt: skip
SECONDS = 300  # for one entry in one dtype
MOST_TOLD = 3  # inputs that are described, of those that differ


def applies(info):
    """Whether an entry has reference inputs other than its samples."""
    return info.reference_inputs_func is not None


def inputs(info, dtype):
    """The reference inputs of an entry in a dtype, then every pair of dtypes."""
    yield from info.reference_inputs("cpu", dtype)
    if isinstance(info, BinaryUfuncInfo):
        yield from _pairs(info, dtype)


def _pairs(info, dtype):
    """Small operands, the second one of any dtype, of one dimension or of none on either side."""
    for partner in PARTNERS:
        other = getattr(torch, partner)
        for left, right in (((3,), (3,)), ((3,), ()), ((), (3,)), ((), ())):
            low = _lowest(dtype), _lowest(other)
            a = torch.testing.make_tensor(left, dtype=dtype, device="cpu", low=low[0], high=4)
            b = torch.testing.make_tensor(right, dtype=other, device="cpu", low=low[1], high=4)
            # not in place of what they have by default: such as `rounding_mode`
            yield SampleInput(a, args=(b,), kwargs=dict(info.sample_kwargs("cpu", dtype, a)[0]))


def _lowest(dtype):
    return None if dtype.is_complex or dtype is torch.bool else 1


def kin(found, wanted):
    """Whether our error is of the kind of PyTorch's."""
    named = (TypeError, ValueError, IndexError, AttributeError, ZeroDivisionError, OverflowError)
    if issubclass(wanted, NotImplementedError):
        return isinstance(found, RuntimeError)
    if isinstance(found, NotImplementedError) and "not implemented for dtype" not in str(found):
        return False
    return isinstance(found, wanted if wanted in named else RuntimeError)


# Dtypes that PyTorch's functions lack kernels for where the function makes sense nevertheless.
_NARROW = ("'Bool'", "'Byte'", "'Char'", "'Half'", "'BFloat16'", "'ComplexHalf'")


def lacks_kernel(error):
    """Whether PyTorch refuses because nobody wrote its kernel for a narrow dtype: to compute the
    result all the same is no defect, and there is nothing to compare it with."""
    text = str(error)
    return (
        isinstance(error, NotImplementedError)
        and " not implemented for " in text
        and text.endswith(_NARROW)
    )


def outcome(function, arguments, home):
    """``(result, None)`` or ``(None, error)`` of a call from a fixed seed."""
    home.manual_seed(7)
    try:
        return function(arguments[0], *arguments[1], **arguments[2]), None
    except Exception as error:  # noqa: BLE001 - the error is what is compared
        return None, error


def difference(info, function, sample):
    """What differs for one input: None, or a line of text; Unavailable if it cannot be asked."""
    given = sample.input, tuple(sample.args), dict(sample.kwargs)
    own = values.ours(given)
    expected, wanted = outcome(info.op, given, torch)
    found, raised = outcome(function, own, rushlight)
    what = checks.told(sample)
    if expected is NotImplemented:
        wanted = TypeError("unsupported operands")  # an operator's method declines
    if wanted is not None:
        if raised is None and lacks_kernel(wanted):
            raise values.Unavailable(str(wanted))
        if raised is None:
            return f"{what}: accepted; PyTorch raises {_short(wanted)}"
        same = kin(raised, type(wanted))
        return None if same else f"{what}: raises {_short(raised)}; PyTorch {_short(wanted)}"
    if raised is not None:
        return f"{what}: raises {_short(raised)}"
    if info.name in checks._UNWRITTEN:
        pairs = zip(checks.tensors(found), checks.tensors(expected), strict=True)
        same = all(tuple(a.shape) == tuple(b.shape) for a, b in pairs)
        return None if same else f"{what}: another shape"
    expected = checks.processed(info, sample, expected, False)
    found = checks.processed(info, sample, found, True)
    if info.name in checks._TIES:
        found = checks.chosen(info, sample, found)
        expected = checks.chosen(info, sample, expected)
    try:
        checks.compare_near(info, sample, found, expected, what)
    except values.Mismatch as mismatch:
        return str(mismatch)
    return None


def _short(error):
    return f"{type(error).__name__} ({' '.join(str(error).split())[:120]})"


def run(info, dtype, most):
    """``(compared, differing, lines)`` of an entry in a dtype; lines describe the first."""
    compared, lines = 0, []
    checks.limit(SECONDS)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            torch.manual_seed(3)
            function = values.function_of(info)
            for sample in itertools.islice(inputs(info, getattr(torch, dtype)), most):
                try:
                    text = difference(info, function, sample)
                except values.Unavailable:
                    continue
                compared += 1
                if text is not None:
                    lines.append(text)
        if not compared:
            lines.append("no input could be compared")
    except Exception as error:  # noqa: BLE001 - any failure is the entry's result
        lines.append(_short(error))
    finally:
        checks.limit(0)
    return compared, len(lines), lines[:MOST_TOLD]

"""Numbers that hardly any dtype holds, as arguments: every function that takes a number in PyTorch
takes and refuses what it does there, in every dtype, with the same kind of error or the same
result, and no warning of NumPy's is seen."""

import sys
import warnings
from pathlib import Path

import pytest

import rushlight

torch = pytest.importorskip("torch")
sys.path.insert(0, str(Path(__file__).parent))
from torch_arguments import told  # noqa: E402
from torch_calls import assert_equal, copied, known, named, ours, theirs  # noqa: E402
from torch_numbers import NUMBERS, bases, takes_number  # noqa: E402
from torch_signatures import signatures  # noqa: E402

# Not called, with the reason.
LEFT_OUT = {
    "arange": "as many elements as the number says",
    "range": "the same",
    "nn.functional.interpolate": "the same",
    "sym_constrain_range": "only for programs that are traced",
    "sym_constrain_range_for_size": "the same",
}
SIGNATURES = {
    name: several
    for name, several in signatures().items()
    if any(takes_number(p) for signature in several for p in signature)
    and known(name)
    and name not in LEFT_OUT
}


def _group(name):
    return name.rpartition(".")[2][0]


GROUPS = sorted({*map(_group, SIGNATURES)})
ROUNDING = {"float16": 4e-3, "bfloat16": 3e-2}

_FIRST = "a number in the first place is rounded to half the width before the quotient there"
_ORDER = "norms of an order of 1e39 and more: one step of rounding, or nan, apart"
_HALVES = "half-width statistics are rounded at another step"
_EDGES = "the results of these extremes come from another order of steps"
# Function and argument -> why results or errors are not the same; warnings are not seen there too.
KNOWN = {
    ("div", "input"): _FIRST, ("true_divide", "input"): _FIRST, ("floor_divide", "input"): _FIRST,
    ("remainder", "self"): _FIRST, ("pow", "self"): _FIRST,
    ("xlogy", "other"): "the number is rounded to half the width first there",
    ("dist", "p"): _ORDER, ("nn.functional.normalize", "p"): _ORDER, ("renorm", "p"): _ORDER,
    ("pairwise_distance", "p"): _ORDER, ("nn.functional.pairwise_distance", "p"): _ORDER,
    ("pdist", "p"): _ORDER,
    ("nn.functional.triplet_margin_loss", "p"): _ORDER,
    ("trapezoid", "dx"): _ORDER, ("trapz", "dx"): _ORDER,
    ("add", "other"): "complex numbers times infinity: nan in one of two parts",
    ("sub", "other"): "the same", ("subtract", "other"): "the same",
    ("addmm", "alpha"): "infinity times a product of zero",
    ("addbmm", "alpha"): "summed as one product here, which is rounded once",
    ("addbmm", "beta"): "the same",
    ("sub", "alpha"): "negated as an unsigned number there if it has 64 bits",
    ("rsub", "alpha"): "the same", ("subtract", "alpha"): "the same",
    ("full_like", "fill_value"): "half-width tensors of no dimension are not checked there",
    ("new_full", "fill_value"): "the same",
    ("hamming_window", "alpha"): _EDGES, ("hamming_window", "beta"): _EDGES,
    ("kaiser_window", "beta"): _EDGES,
    ("logit", "eps"): "limits that cross: which of them wins is not documented",
    ("std", "correction"): _EDGES, ("std_mean", "correction"): _EDGES,
    ("var", "correction"): _EDGES, ("var_mean", "correction"): _EDGES,
    ("rms_norm", "eps"): _EDGES, ("nn.functional.rms_norm", "eps"): _EDGES,
    ("nn.functional.celu", "alpha"): _EDGES, ("celu", "alpha"): _EDGES,
    ("pinverse", "rcond"): _EDGES,
    ("nn.functional.local_response_norm", "alpha"): _EDGES,
    ("nn.functional.local_response_norm", "k"): _EDGES,
    ("native_group_norm", "eps"): _EDGES, ("native_layer_norm", "eps"): _EDGES,
    ("normal", "std"): _EDGES, ("nn.functional.gaussian_nll_loss", "var"): _EDGES,
    ("native_batch_norm", "momentum"): _HALVES, ("native_batch_norm", "eps"): _HALVES,
    ("nn.functional.batch_norm", "momentum"): _HALVES,
    ("nn.functional.batch_norm", "eps"): _HALVES,
    ("nn.functional.instance_norm", "momentum"): _HALVES,
    ("nn.functional.instance_norm", "eps"): _HALVES,
    ("normal", "mean"): "checked against float32 there if a tensor gives the deviations",
    ("nn.functional.multi_margin_loss", "margin"): "the same check for one dtype",
    ("nn.functional.linear_cross_entropy", "label_smoothing"): "not checked there",
    ("triplet_margin_loss", "margin"): "checked by nn.functional's function alone there",
    ("hinge_embedding_loss", "margin"): "whole numbers give floats, as in nn.functional",
    ("nn.functional.hardtanh", "max_val"): "which of two errors comes first for uint8",
    ("nn.functional.hardtanh", "min_val"): "the same",
    **{(f"{home}{kind}dropout{dims}", "p"): "whole and complex elements are taken here"
       for home in ("", "nn.functional.") for kind in ("", "alpha_", "feature_", "feature_alpha_")
       for dims in ("", "1d", "2d", "3d")},
}  # fmt: skip


def _outcome(run, name, args, kwargs):
    try:
        return run(name, args, kwargs)
    except Exception as error:  # noqa: BLE001 - what is compared
        return error


def _ours(name, args, kwargs):
    rushlight.default_generator.manual_seed(3)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        warnings.simplefilter("ignore", UserWarning)  # of former orders of arguments
        return named(rushlight, name)(*ours(copied(args)), **ours(copied(kwargs)))


def _is_wide(number):
    """Whether a whole number has more than 64 bits: arguments that are floats take it, other ones
    do not, and functions in Python pass it on."""
    return isinstance(number, int) and not -(2**63) <= number < 2**63


def _differs(name, dtype, number, found, expected):
    if isinstance(found, Exception) and isinstance(expected, Exception):
        return not issubclass(type(found), type(expected)) and not _is_wide(number)
    if isinstance(found, Exception) or isinstance(expected, Exception):
        refused = isinstance(found, OverflowError) or isinstance(expected, OverflowError)
        return not (refused and _is_wide(number))
    try:
        assert_equal(found, expected, name, ROUNDING.get(dtype, 1e-4))
    except Exception:  # noqa: BLE001 - whatever is not alike
        return True
    return False


def differences(name):
    """How many calls of a function were compared, and those that differ."""
    count, wrong, plain = 0, [], name.removeprefix("Tensor.").rstrip("_")
    for parameter, dtype, make in bases(name, SIGNATURES[name]):
        for number in NUMBERS:
            args, kwargs = make(number)
            expected = _outcome(theirs, name, args, kwargs)
            count += 1
            for _ in range(2):  # the second time by the short way
                found = _outcome(_ours, name, args, kwargs)
                warned = isinstance(found, Warning)
                excused = (plain, parameter) in KNOWN and not warned
                if warned or not excused and _differs(name, dtype, number, found, expected):
                    outcomes = f"{_short(found)}, PyTorch {_short(expected)}"
                    wrong.append(f"{name}({told(args, kwargs)}) {parameter}: {outcomes}")
                    break
    return count, wrong


def _short(outcome):
    kind = f"{type(outcome).__name__}: " if isinstance(outcome, Exception) else ""
    return " ".join((kind + str(outcome)).split())[:120]


@pytest.mark.parametrize("group", GROUPS)
def test_numbers(group):
    names = [n for n in SIGNATURES if _group(n) == group]
    wrong = [text for name in names for text in differences(name)[1]]
    assert not wrong, "\n".join(wrong)


def test_the_generator():
    """Factors, bounds, exponents and values to fill with are among the calls that are compared."""
    for name in ("add", "clamp", "Tensor.pow_", "masked_fill", "nn.functional.leaky_relu"):
        count, wrong = differences(name)
        assert count >= len(NUMBERS)
        assert not wrong

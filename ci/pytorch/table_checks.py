"""What `torch_table` asks of one op: PyTorch's own samples, run here and there, compared.

Samples are PyTorch's (`torch.testing._internal`), so are the expected results: nothing is expected
that PyTorch did not compute from the same input a moment before.
"""

from __future__ import annotations

import itertools
import signal
import warnings

import table_values as values
import torch
from table_values import (
    Mismatch,
    Refused,
    Unavailable,
    dense,
    function_of,
    method_of,
    ours,
    sharing,
    theirs,
    translated,
)
from torch.testing._internal.common_utils import noncontiguous_like

import rushlight

DTYPES = ("float32", "float64", "int64", "bool", "complex64", "bfloat16")
# (rtol, atol) per dtype: PyTorch's own for comparing two devices, not for repeating one.
TOLERANCE = {
    "float16": (5e-3, 5e-3), "bfloat16": (2e-2, 2e-2), "float32": (1e-4, 1e-5),
    "float64": (1e-7, 1e-9), "complex32": (5e-3, 5e-3), "complex64": (1e-4, 1e-5),
    "complex128": (1e-7, 1e-9),
}  # fmt: skip
SECONDS = 120  # for one op, one check
LARGEST_THERE = 1 << 16  # elements of a sample's tensor on an emulated device


def limit(seconds):
    """Raise TimeoutError in this process after so many seconds; 0 takes it back."""

    def stop(*_):
        raise TimeoutError(f"over {SECONDS} s")

    signal.signal(signal.SIGALRM, stop)
    signal.alarm(seconds)


# ---------------------------------------------------------------------- comparing
def tensors(result):
    """The tensors in a result of either side."""
    if isinstance(result, (list, tuple)):
        return [t for item in result for t in tensors(item)]
    if isinstance(result, dict):
        return [t for item in result.values() for t in tensors(item)]
    return [result] if isinstance(result, (torch.Tensor, rushlight.Tensor)) else []


def compare(found, expected, what, scale=1.0):
    """Raise Mismatch unless both results hold the same."""
    if isinstance(found, rushlight.Tensor) and isinstance(expected, torch.Tensor):
        if found.layout != str(expected.layout).split(".")[1]:
            raise Mismatch(f"{what}: layout {found.layout}, PyTorch gives {expected.layout}")
    found = theirs(found)
    if isinstance(expected, (list, tuple, dict)):
        if isinstance(expected, dict):
            expected, found = list(expected.values()), list(found.values())
        if not isinstance(found, (list, tuple)) or len(found) != len(expected):
            raise Mismatch(f"{what}: {type(found).__name__} for {len(expected)} results")
        for i, (a, b) in enumerate(zip(found, expected, strict=True)):
            compare(a, b, f"{what}[{i}]", scale)
        return
    if not isinstance(expected, torch.Tensor):
        same = found == expected or (found != found and expected != expected)
        if isinstance(expected, float) and isinstance(found, float):
            same = same or abs(found - expected) <= 1e-6 * abs(expected)
        if not same:
            raise Mismatch(f"{what}: {found!r}, PyTorch gives {expected!r}")
        return
    if not isinstance(found, torch.Tensor):
        raise Mismatch(f"{what}: {type(found).__name__}, PyTorch gives a tensor")
    expected = expected.detach() if expected.layout == torch.strided else expected.to_dense()
    expected = expected.detach().resolve_conj().resolve_neg()
    rtol, atol = TOLERANCE.get(str(expected.dtype).split(".")[1], (0.0, 0.0))
    try:
        torch.testing.assert_close(
            found, expected, rtol=rtol * scale, atol=atol * scale, equal_nan=True
        )
    except AssertionError as error:
        raise Mismatch(f"{what}: {' '.join(str(error).split())[:300]}") from None


def told(sample):
    """A sample in one short line."""
    text = f"{_brief(sample.input)} {_brief(sample.args)} {_brief(sample.kwargs)}"
    return text[:220]


def _brief(value):
    if isinstance(value, torch.Tensor):
        return f"{str(value.dtype)[6:]}{list(value.shape)}"
    if isinstance(value, (list, tuple)):
        return "(" + ", ".join(_brief(v) for v in value) + ")"
    if isinstance(value, dict):
        return "{" + ", ".join(f"{k}={_brief(v)}" for k, v in value.items()) + "}"
    return repr(value)


# ---------------------------------------------------------------------- the checks
# Results that are only determined up to a sign, a phase, an order: compared through the function
# that the table gives for it.
_UNDETERMINED = (
    "linalg.svd", "svd", "linalg.eig", "linalg.eigh", "pca_lowrank", "svd_lowrank", "linalg.qr",
    "qr", "geqrf",
)  # fmt: skip


def processed(info, sample, result, translate):
    """What is compared and differentiated of a result."""
    function = sample.output_process_fn_grad
    if info.name in _UNDETERMINED and not isinstance(function, type):
        function = translated(function) if translate else function
        return function(result)
    return result


def call(info, function, sample):
    """One sample on both sides: their result, our result, and the inputs of both."""
    own = ours((sample.input, tuple(sample.args), dict(sample.kwargs)))
    torch.manual_seed(7)
    try:
        expected = info.op(sample.input, *sample.args, **sample.kwargs)
    except Exception as error:  # noqa: BLE001 - such as a view that needs dense memory
        raise Refused(f"PyTorch refuses: {error}") from None
    rushlight.manual_seed(7)
    found = function(own[0], *own[1], **own[2])
    return expected, found, own


# Which of several equal elements is named is not determined; the place of `dim` in their arguments.
_TIES = {
    "sort": 0, "argsort": 0, "msort": 0, "mode": 0, "median": 0, "nanmedian": 0, "topk": 1,
    "kthvalue": 1, "cummax": 0, "cummin": 0,
}  # fmt: skip


def chosen(info, sample, result):
    """A result with indices replaced by the elements that they name."""
    at, found = _TIES[info.name], []
    given = [a for a in sample.args if type(a) is int]
    dim = sample.kwargs.get("dim", given[at] if len(given) > at else -1)
    for tensor in tensors(theirs(result)):
        if tensor.dtype == torch.int64 and sample.input.ndim and tensor is not sample.input:
            reduced = tensor.ndim < sample.input.ndim
            index = tensor.unsqueeze(dim) if reduced else tensor
            if (
                index.numel()
                and index.max() < sample.input.shape[dim]
                and (found or info.name == "argsort")
            ):
                tensor = sample.input.detach().gather(dim, index)
        found.append(tensor)
    return found


# Random functions: a device's numbers are not the CPU's, in PyTorch too.
UNLIKE = frozenset((
    "bernoulli", "cauchy", "exponential", "geometric", "log_normal", "multinomial", "normal",
    "nn.functional.alpha_dropout", "nn.functional.dropout", "nn.functional.dropout2d",
    "nn.functional.dropout3d", "nn.functional.feature_alpha_dropout", "nn.functional.rrelu",
    "nn.functional.fractional_max_pool2d", "nn.functional.fractional_max_pool3d", "pca_lowrank",
    "rand_like", "randint", "randint_like", "randn", "randn_like", "svd_lowrank", "uniform",
))  # fmt: skip


def is_random(info, sample):
    """Whether the result of a sample is random numbers."""
    if info.name == "nn.functional.scaled_dot_product_attention":
        return sample.kwargs.get("dropout_p", 0) > 0
    if info.name == "nn.functional.multi_head_attention_forward":
        return sample.kwargs["training"] and sample.args[9] > 0
    return info.name in UNLIKE


def all_there(sample, found):
    """Raise Mismatch unless all tensors of a result lie on the device."""
    for tensor in tensors(found):
        if tensor.device.type != values.DEVICE:
            raise Mismatch(f"{told(sample)}: a result on {tensor.device}")


def repeated(function, sample, own, found, expected):
    """Random numbers of a device: PyTorch's shapes and dtypes, and the same from the same seed."""
    rushlight.manual_seed(7)
    again = function(*own[:1], *own[1], **own[2])
    results = zip(tensors(found), tensors(again), tensors(expected), strict=True)
    for number, (a, b, c) in enumerate(results):
        a, b = theirs(a), theirs(b)
        if a.shape != c.shape or a.dtype != c.dtype:
            raise Mismatch(
                f"{told(sample)}: {a.dtype}{list(a.shape)}, not {c.dtype}{list(c.shape)}"
            )
        if not torch.equal(a.nan_to_num(), b.nan_to_num()):
            raise Mismatch(f"{told(sample)}: result {number} is another one from the same seed")


_UNWRITTEN = ("empty", "new_empty", "empty_like", "empty_strided", "empty_permuted",
              "new_empty_strided", "resize_", "resize_as_", "nn.init.skip_init")  # fmt: skip


def check_forward(info, function, samples):
    """Every sample gives PyTorch's result; one at least can be asked for."""
    reason, compared = None, 0
    for sample in samples:
        try:
            expected, found, own = call(info, function, sample)
        except Refused:
            continue
        except Unavailable as error:
            reason = error
            continue
        except Exception as error:
            raise _located(error, sample) from error
        if values.DEVICE != "cpu":
            all_there(sample, found)
            if is_random(info, sample):
                repeated(function, sample, own, found, expected)
                compared += 1
                continue
        if info.name in _UNWRITTEN:
            for a, b in zip(tensors(found), tensors(expected), strict=True):
                if tuple(a.shape) != tuple(b.shape) or a.stride() != b.stride():
                    raise Mismatch(f"{told(sample)}: shape {a.shape}, stride {a.stride()}")
            continue
        expected = processed(info, sample, expected, False)
        found = processed(info, sample, found, True)
        if info.name in _TIES:
            found, expected = chosen(info, sample, found), chosen(info, sample, expected)
        compare_near(info, sample, found, expected, told(sample))
        compared += 1
    if reason is not None and not compared:
        raise Mismatch(f"no sample could be carried over: {reason}")


def compare_near(info, sample, found, expected, what):
    """:func:`compare`, content with results that are as near to double precision."""
    try:
        compare(found, expected, what)
    except Mismatch:
        exact = exactly(info, sample)
        if exact is None or not as_near(found, expected, exact):
            raise


# ---------------------------------------------------------------------- rounding
_WIDER = {
    torch.float16: torch.float64, torch.bfloat16: torch.float64, torch.float32: torch.float64,
    torch.complex32: torch.complex128, torch.complex64: torch.complex128,
    # as they are: they have rounding errors to compare where another input is narrower
    torch.float64: torch.float64, torch.complex128: torch.complex128,
}  # fmt: skip


def widened(value):
    """The same value in double precision; leaves that ask for a gradient stay leaves."""
    if isinstance(value, torch.Tensor):
        made = value.detach().to(_WIDER.get(value.dtype, value.dtype))
        return made.requires_grad_() if value.requires_grad else made
    if isinstance(value, torch.dtype):
        return _WIDER.get(value, value)
    if isinstance(value, (list, tuple)) and not hasattr(value, "_fields"):
        return type(value)(widened(v) for v in value)
    if isinstance(value, dict):
        return {k: widened(v) for k, v in value.items()}
    return value


class _Wide:
    """A sample in double precision."""

    def __init__(self, sample):
        self.input, self.args = widened(sample.input), widened(tuple(sample.args))
        self.kwargs = widened(dict(sample.kwargs))
        self.output_process_fn_grad = sample.output_process_fn_grad


def exactly(info, sample):
    """PyTorch's result in double precision; None where that is another computation."""
    if getattr(info, "has_nondeterministic_output", False) or info.name in _TIES:
        return None
    wide = _Wide(sample)
    try:
        return processed(info, wide, info.op(wide.input, *wide.args, **wide.kwargs), False)
    except Exception:  # noqa: BLE001 - the op has no such kernel
        return None


def as_near(found, expected, exact):
    """Whether our rounding errors are at most twice PyTorch's own, by the largest and the mean.
    Dtypes, shapes and what is not a number must be the same all the same."""
    found, expected, exact = tensors(theirs(found)), tensors(expected), tensors(exact)
    if not len(found) == len(expected) == len(exact):
        return False
    for a, b, c in zip(found, expected, exact, strict=True):
        if a.dtype != b.dtype or a.shape != b.shape or a.shape != c.shape or a.dtype not in _WIDER:
            return False
        wide = _WIDER[a.dtype]
        ours_off = (a.detach().to(wide) - c.detach()).abs()
        theirs_off = (b.detach().to(wide) - c.detach()).abs()
        real = ours_off.isfinite() & theirs_off.isfinite()
        if bool((ours_off.isfinite() < theirs_off.isfinite()).any()):
            return False  # a number there, none here
        ours_off, theirs_off = ours_off[real], theirs_off[real]
        if ours_off.numel() and (
            ours_off.max() > 2 * theirs_off.max() or ours_off.mean() > 2 * theirs_off.mean()
        ):
            return False
    return True


def check_noncontiguous(info, function, samples):
    """The same with every tensor laid out with gaps (sparse ones as they are)."""
    check_forward(info, function, [with_gaps(s) for s in samples])


def with_gaps(sample):
    """A sample whose strided tensors lie in memory with gaps."""

    def spread(value):
        if isinstance(value, torch.Tensor) and value.layout != torch.strided:
            return value
        return noncontiguous_like(value) if isinstance(value, torch.Tensor) else value

    if all(t.layout == torch.strided for t in tensors((sample.input, sample.args, sample.kwargs))):
        return sample.noncontiguous()
    return sample.transform(spread)


def size_of(sample):
    """Elements of the largest tensor of a sample."""
    return max((t.numel() for t in tensors((sample.input, sample.args, sample.kwargs))), default=0)


def affordable(samples):
    """On a device, which is an emulator: the samples of small tensors, or one if none is small."""
    skipped = None
    for sample in samples:
        if values.DEVICE == "cpu" or size_of(sample) <= LARGEST_THERE:
            skipped = ()
            yield sample
        elif skipped is None:
            skipped = (sample,)
    yield from skipped or ()


def leaves(sample):
    """The tensors of a sample that ask for a gradient."""
    return [t for t in tensors((sample.input, sample.args, sample.kwargs)) if t.requires_grad]


def check_gradients(info, function, samples, order=1):
    """First (and second) derivatives of a random combination of the results agree."""
    checked = 0
    for sample in samples:
        own_leaves = leaves(sample)
        if values.DEVICE != "cpu" and is_random(info, sample):
            continue
        if not own_leaves or info.name in _TIES and own_leaves[0].dtype == torch.bfloat16:
            continue  # equal elements: the gradient goes to one of them
        try:
            expected, found, own = call(info, function, sample)
            expected = tensors(processed(info, sample, expected, False))
            found = tensors(processed(info, sample, found, True))
            try:
                wanted = _derivatives(expected, own_leaves, order, torch, None)
            except (RuntimeError, NotImplementedError):
                continue  # PyTorch has no such derivative
            if wanted is None:
                continue
            given = _derivatives(found, leaves(_Own(own)), order, rushlight, wanted[1])
        except Unavailable:
            continue
        except Mismatch:
            raise
        except Exception as error:
            raise _located(error, sample) from error
        if given is None:
            if any(bool((g != 0).any()) for g in wanted[0] if g is not None):
                raise Mismatch(f"{told(sample)}: no result asks for a gradient")
            continue  # constant here, zero derivatives there
        _compare_gradients(info, sample, order, given[0], wanted)
        checked += 1
    return checked


def _places(leaf):
    """Ones where a sparse leaf has elements (only there gradients are the same); else None."""
    if leaf.layout == torch.strided:
        return None
    with torch.no_grad():
        return (dense(leaf) != 0).to(leaf.dtype)  # the samples hold no zeros as elements


def _compare_gradients(info, sample, order, given, wanted):
    """Raise Mismatch unless every gradient is PyTorch's, or as near to that in double precision."""
    exact, places = None, [_places(leaf) for leaf in leaves(sample)]
    for i, (a, b) in enumerate(zip(given, wanted[0], strict=True)):
        if b is None and info.name in _LOST or not _comparable(sample, i, a, b, i < len(places)):
            continue
        near, place = (a, b), places[i % len(places)]
        a, b = theirs(a), dense(b)
        if place is not None:
            a, b = a * place, b * place
        try:
            compare(a, b, f"gradient {i} of {told(sample)}", 10.0)
        except Mismatch:
            exact = exact or _exact_derivatives(info, sample, order, wanted[1])
            if not exact or exact[i] is None or not as_near(*near, exact[i]):
                raise


_LOST = ("istft",)  # PyTorch gives no gradient of a window that it pads


def _comparable(sample, i, a, b, first):
    """Whether gradient `i` is there on both sides; Mismatch unless what is missing is zero, and
    unless first gradients have a history on both sides or on none."""
    if b is None or a is None:
        only = dense(b) if a is None else theirs(a)
        if only is not None and bool((only != 0).any()):
            raise Mismatch(f"{told(sample)}: gradient {i} is there on one side only")
        return False
    if first and a.requires_grad != b.requires_grad:
        raise Mismatch(
            f"{told(sample)}: gradient {i} "
            f"{'requires' if a.requires_grad else 'does not require'} grad under create_graph"
        )
    return True


def _exact_derivatives(info, sample, order, used):
    """PyTorch's derivatives of the same combination in double precision, or None."""
    if getattr(info, "has_nondeterministic_output", False) or info.name in _TIES:
        return None
    wide = _Wide(sample)
    used = [(places, [widened(w) for w in weights]) for places, weights in used]
    try:
        result = info.op(wide.input, *wide.args, **wide.kwargs)
        found = _derivatives(
            tensors(processed(info, wide, result, False)), leaves(wide), order, torch, used
        )
    except Exception:  # noqa: BLE001 - the op has no such kernel
        return None
    return None if found is None else found[0]


class _Own:
    """The inputs on our side, in the shape of a sample."""

    def __init__(self, own):
        self.input, self.args, self.kwargs = own


def _derivatives(results, inputs, order, home, wanted):
    """Gradients of the weighted sum of the results; with order 2 those of the gradients' too.

    Returns them and, for the other side, which results and gradients were combined and with what
    weights: ``(gradients, [(positions, weights), ...])``.
    """
    used = []

    def total(parts):
        step = len(used)
        if wanted is None:
            places = [i for i, t in enumerate(parts) if t is not None and t.requires_grad]
            weights = [_weight(parts[i], i) for i in places]
        else:
            places, weights = wanted[step]
        used.append((places, weights))
        terms = []
        for place, weight in zip(places, weights, strict=True):
            part = parts[place]
            if part is None or not part.requires_grad:
                continue  # constant on this side: its derivative is zero
            term = part * (weight if home is torch else ours(weight))
            if term.dtype == home.complex32:  # of which there are no sums
                term = term.to(home.complex64)
            term = term.sum()
            terms.append(home.real(term) if term.is_complex() else term)
        return sum(terms[1:], terms[0]) if terms else None

    whole = total(results)
    if whole is None:
        return None
    first = home.autograd.grad(whole, inputs, create_graph=order == 2, allow_unused=True)
    if order == 1:
        return list(first), used
    if wanted is not None and len(wanted) == 1:
        return list(first), used  # PyTorch has no second derivative
    whole = total(list(first))
    if whole is None:
        return [*first, *[None] * len(inputs)], used
    try:
        return [*first, *home.autograd.grad(whole, inputs, allow_unused=True)], used
    except (RuntimeError, NotImplementedError):
        if home is not torch:
            raise
        return list(first), used[:1]


def _weight(part, place):
    generator = torch.Generator().manual_seed(place + 1)
    weight = torch.rand(part.shape, generator=generator, dtype=torch.float64) + 0.5
    return weight.to(part.dtype)


def check_second(info, function, samples):
    """Second derivatives agree."""
    return check_gradients(info, function, samples, 2)


def check_errors(info, function, _):
    """Every input that PyTorch refuses is refused with an exception of that type."""
    if info.error_inputs_func is None:
        return
    for error in info.error_inputs("cpu"):
        sample = error.sample_input
        try:
            with sharing():
                own = ours((sample.input, tuple(sample.args), dict(sample.kwargs)))
        except Unavailable:
            continue
        try:
            info.op(sample.input, *sample.args, **sample.kwargs)
        except Exception as raised:  # noqa: BLE001 - whatever PyTorch raises is the standard
            wanted = type(raised)
        else:
            continue
        try:
            function(own[0], *own[1], **own[2])
        except Exception as raised:  # noqa: BLE001 - compared by type
            named = (TypeError, ValueError, IndexError, AttributeError)
            kin = wanted if wanted in named else RuntimeError
            if (
                not isinstance(raised, kin)
                or isinstance(raised, NotImplementedError)
                and (not issubclass(wanted, NotImplementedError))
            ):
                raise Mismatch(
                    f"{told(sample)}: {type(raised).__name__} ({str(raised)[:80]}), PyTorch "
                    f"raises {wanted.__name__} ({str(error.error_regex)[:80]})"
                ) from None
        else:
            raise Mismatch(
                f"{told(sample)}: accepted; PyTorch raises {wanted.__name__} "
                f"({str(error.error_regex)[:100]})"
            )


def check_variants(info, function, samples):
    """The method, ``out=`` and in-place forms give what the function gives."""
    for sample in samples[:6]:
        try:
            expected, found, own = call(info, function, sample)
        except Unavailable:
            continue
        if not isinstance(sample.input, torch.Tensor):
            continue
        expected = processed(info, sample, expected, False)
        if info.method_variant is not None:
            _variant(info, sample, expected, own)
        if info.inplace_variant is not None and not sample.broadcasts_input:
            _inplace(info, sample, own)
        if info.supports_out and isinstance(found, rushlight.Tensor) and own[2].get("out") is None:
            out = rushlight.empty_like(found.detach())
            with rushlight.no_grad():
                rushlight.manual_seed(7)
                back = function(own[0], *own[1], **own[2], out=out)
            if back is not out:
                raise Mismatch(f"{told(sample)}: out= is not what comes back")
            if info.name not in _UNWRITTEN:
                compare(theirs(out), theirs(found), "out=" + told(sample))


def _variant(info, sample, expected, own):
    method = method_of(info.method_variant)
    rushlight.manual_seed(7)
    found = processed(info, sample, method(own[0], *own[1], **own[2]), True)
    if info.name in _TIES:
        found, expected = chosen(info, sample, found), chosen(info, sample, expected)
    if info.name not in _UNWRITTEN:
        compare_near(info, sample, found, expected, f"method of {told(sample)}")


def _inplace(info, sample, own):
    copy = sample.input.detach().clone()
    torch.manual_seed(7)
    try:
        expected = info.inplace_variant(copy, *sample.args, **sample.kwargs)
    except Exception:  # noqa: BLE001 - PyTorch has no in-place form for this sample
        return
    target = own[0].detach().clone()
    method = method_of(info.inplace_variant)
    rushlight.manual_seed(7)
    with rushlight.no_grad():
        found = method(target, *own[1], **own[2])
    if found is not target:
        raise Mismatch(f"{told(sample)}: the in-place form gives another tensor")
    if info.name not in _UNWRITTEN:
        compare_near(info, sample, target, expected, f"in place: {told(sample)}")


def _located(error, sample):
    text = f"{type(error).__name__}: {' '.join(str(error).split())[:200]}"
    return Mismatch(f"{told(sample)}: {text}")


CHECKS = {
    "forward": check_forward,
    "noncontiguous": check_noncontiguous,
    "gradient": check_gradients,
    "second": check_second,
    "errors": check_errors,
    "variants": check_variants,
}


def run_check(info, name, dtype, most):
    """One check of an op in one dtype: "ok", "skip" (it does not apply) or what is wrong."""
    torch_dtype = getattr(torch, dtype)
    grads = name in ("gradient", "second", "saved")
    if grads and not (
        info.supports_autograd and torch_dtype.is_floating_point + torch_dtype.is_complex
    ):
        return "skip"
    if grads and torch_dtype not in info.supported_backward_dtypes("cpu"):
        return "skip"
    limit(SECONDS)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            function = function_of(info)
            torch.manual_seed(3)
            found = info.sample_inputs("cpu", torch_dtype, requires_grad=grads)
            samples = [] if name == "errors" else list(itertools.islice(affordable(found), most))
            CHECKS[name](info, function, samples)
    except Mismatch as error:
        return str(error)
    except Exception as error:  # noqa: BLE001 - any failure is the op's result
        return f"{type(error).__name__}: {' '.join(str(error).split())[:240]}"
    finally:
        limit(0)
    return "ok"

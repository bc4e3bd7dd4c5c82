"""The tests every op of the table gets, whatever it is called.

A pytest module collects them with one call::

    from rushlight.testing.ops import generate
    generate(globals())
"""

from __future__ import annotations

import contextlib
import functools
import os
import warnings

import pytest

import rushlight
from rushlight import dtypes
from rushlight.autograd.gradcheck import gradcheck, gradgradcheck
from rushlight.ops._table import deferred as _deferred
from rushlight.ops._table.op import TABLE
from rushlight.tensor.construction import without_values
from rushlight.tensor.memory_format import channels_last, channels_last_3d
from rushlight.tensor.tensor import Tensor
from rushlight.testing.oracle import (
    assert_same,
    expect,
    flat,
    to_torch,
    torch_function,
    torch_or_none,
)
from rushlight.testing.samples import samples_of

torch = torch_or_none()
_deferred.load_all()
_deferred.load(
    "former.private_names"
)  # loaded by other tests or not: the list does not depend on it
_LACKS = (
    "not implemented for",
    "not supported",
    "does not support",
    "X.is_contiguous",
    "view size is not",
)
_SWEEP = [d for d in dtypes.ALL if d.category < 3 or d is dtypes.complex64]
# ``RUSHLIGHT_OPS_TIER=full`` takes every sample where the quick tier takes one.
_FULL = os.environ.get("RUSHLIGHT_OPS_TIER", "quick") == "full"


def _table():
    return list(TABLE.values())


@functools.cache
def _sampled():
    return [op for op in _table() if samples_of(op)]


def _holds_tensors(op):
    """Whether samples depend on a dtype at all."""
    return any(isinstance(t, Tensor) for t in flat(samples_of(op)[0][0]))


def is_differentiable(op):
    """Whether an op has gradients: its own, or if it is a composite those of its parts."""
    if op.kind == "composite":
        return op.options.get("differentiable", True)
    return bool(op.formulas or op.joint)


def _alike(check, table):
    """The ops of a table that PyTorch answers alike in a check, or whose gradient is the `slope` of
    their values: what `differs` is left out, and a comment at the declaration says why."""
    return [op for op in table if check not in op.options.get("differs", ())]


@functools.cache
def _differentiable():
    return [op for op in _sampled() if is_differentiable(op) and _holds_tensors(op)]


def _complex_too():
    public = [op for op in _differentiable() if not op.name.startswith("_")]
    return [op for op in public if 3 in op.options.get("sweep", range(4))]


def _oracled_composites():
    return [op for op in _oracled() if op.kind == "composite"]


def _ours(op, function=None):
    """The op, or a variant of it, as tests call it: through a declaration's ``compared``, which may
    symmetrize what goes in and turn what comes out into what is unique."""
    return op.options.get("compared", _itself)(
        _unwarned(_seeded(function or op.function, rushlight))
    )


def _theirs(op):
    """PyTorch's function of the same name as tests call it."""
    function = _unwarned(_seeded(torch_function(op, torch), torch))
    return op.options.get("compared", _itself)(function)


def _unwarned(function):
    """The same function without its warnings, which are tested elsewhere."""

    def call(*args, **kwargs):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            return function(*args, **kwargs)

    return call


def _itself(function):
    return function


def _seeded(function, home):
    """The same function from the same state of the random numbers at each call."""

    def call(*args, **kwargs):
        home.manual_seed(1)
        return function(*args, **kwargs)

    return call


@functools.cache
def _oracled():
    return [op for op in _sampled() if torch and torch_function(op, torch) is not None]


def _ids(op):
    return op.name


def check_forward(op):
    """Every sample agrees with PyTorch in float64."""
    for args, kwargs in samples_of(op):
        theirs = _theirs(op)(*to_torch(args, torch), **to_torch(kwargs, torch))
        assert_same(_ours(op)(*args, **kwargs), theirs, op.options.get("rtol"))


def _typical(samples):
    """The samples of a check that makes do with one in the quick tier."""
    return samples if _FULL else [samples[min(2, len(samples) - 1)]]


def _samples_in(op, dtype):
    """Samples in a dtype; of eight-bit floats, in which few can be computed, from wider ones."""
    if dtype not in dtypes.EIGHT_BITS:
        return samples_of(op, dtype)
    made = samples_of(op, dtypes.float32)
    return [(_narrowed(args, dtype), _narrowed(kwargs, dtype)) for args, kwargs in made]


def _narrowed(value, dtype):
    if isinstance(value, Tensor):
        return value.to(dtype) if value.dtype is dtypes.float32 else value
    if isinstance(value, (list, tuple)):
        return type(value)(_narrowed(v, dtype) for v in value)
    if isinstance(value, dict):
        return {k: _narrowed(v, dtype) for k, v in value.items()}
    return value


def check_dtype(op, dtype):
    """A sample in each dtype: the result PyTorch gives, or an error where PyTorch has one."""
    for args, kwargs in _typical(_samples_in(op, dtype)):
        tensors = [t for t in flat(args) if isinstance(t, Tensor)]
        if _FULL and dtype.itemsize == 2 and any(not t.numel() for t in tensors):
            continue  # PyTorch often has the kernel for no elements only
        rare = dtype.code >= dtypes.FIRST_LIMITED or dtype.category == dtypes.COMPLEX
        if rare and any(t.numel() < 2 for t in tensors):
            continue  # PyTorch answers before it looks for a kernel
        _check_dtype(op, args, kwargs)


def _check_dtype(op, args, kwargs):
    try:
        theirs = _theirs(op)(*to_torch(args, torch), **to_torch(kwargs, torch))
    except (RuntimeError, NotImplementedError, TypeError, ValueError) as error:
        if any(words in str(error) for words in _LACKS):
            return  # PyTorch lacks the kernel; having it is no fault
        with pytest.raises((RuntimeError, NotImplementedError, TypeError, ValueError)):
            _ours(op)(*args, **kwargs)
        return
    assert_same(_ours(op)(*args, **kwargs), theirs, op.options.get("rtol"))


def check_gradient(op):
    """First and second derivatives against finite differences, on every sample."""
    checked = [_check_gradient(op, *sample) for sample in samples_of(op, requires_grad=True)]
    expect(any(checked), f"{op.name}: no sample takes part in the gradient check")


def check_complex_gradient(op):
    """The same of complex inputs, on one sample, where the op takes them."""
    for args, kwargs in _typical(samples_of(op, rushlight.complex128, True)):
        try:
            op.function(*args, **kwargs)
        except (RuntimeError, TypeError, ValueError):
            continue
        _check_gradient(op, args, kwargs)


def _check_gradient(op, args, kwargs):
    """Check one call; False if nothing in it is to be differentiated."""
    leaves = [t for t in flat(args) if isinstance(t, Tensor) and t.requires_grad]
    if not leaves or any(not t.numel() for t in leaves):
        return False

    def call(*tensors):
        fresh = iter(tensors)
        return _ours(op)(*_replace(args, fresh), **kwargs)

    if not any(map(_is_recorded, flat(call(*leaves)))):
        return False
    gradcheck(call, leaves, fast_mode=True)
    if op.options.get("differentiable") != "once":
        gradgradcheck(call, leaves, fast_mode=True)
    return True


def _replace(value, fresh):
    if isinstance(value, Tensor) and value.requires_grad:
        return next(fresh)
    if isinstance(value, (tuple, list)):
        return type(value)(_replace(v, fresh) for v in value)
    return value


def check_gradient_oracle(op):
    """float32 gradients of a sum agree with PyTorch's."""
    samples = samples_of(op, rushlight.float32, requires_grad=True)
    for args, kwargs in samples if _FULL else samples[:4]:
        leaves = [t for t in flat(args) if isinstance(t, Tensor) and t.requires_grad]
        if not leaves:
            continue
        for leaf in leaves:
            leaf.grad = None
        theirs_args = to_torch(args, torch)
        theirs_leaves = [
            t.requires_grad_()
            for t, own in zip(flat(theirs_args), flat(args), strict=True)
            if isinstance(own, Tensor) and own.requires_grad
        ]
        ours = flat(_ours(op)(*args, **kwargs))
        try:
            theirs = flat(_theirs(op)(*theirs_args, **to_torch(kwargs, torch)))
        except RuntimeError as error:
            expect("does not support automatic differentiation" in str(error), str(error))
            continue
        recorded = [_is_recorded(t) for t in theirs]
        expect([_is_recorded(t) for t in ours] == recorded, f"PyTorch records {recorded}")
        if not any(recorded):
            continue
        _squares(ours, rushlight).backward()
        try:
            _squares(theirs, torch).backward()
        except RuntimeError as error:  # some of PyTorch's composites write into what they saved
            own = "modified by an inplace operation", "derivative for aten::"
            expect(any(words in str(error) for words in own), str(error))
            continue
        for a, b in zip(leaves, theirs_leaves, strict=True):
            if not a.is_leaf:
                continue
            if a.grad is None or b.grad is None:  # none is zero
                other = b.grad if a.grad is None else a.grad
                expect(other is None or not bool((other != 0).any()), "a gradient is missing")
            else:
                assert_same(a.grad, b.grad, max(op.options.get("rtol") or 0, 2e-5), 2e-5)


def _is_recorded(result):
    return getattr(result, "requires_grad", False)


def _squares(results, home):
    """A real sum to differentiate, with all recorded results in it, elements by unequal weights:
    the plain sum of squares of what is normalized has no gradient."""
    total = 0
    for t in filter(_is_recorded, results):
        weights = (home.arange(t.numel()) % 5 + 1).div(5).reshape(t.shape)
        total += (((t * t.conj()).real if t.is_complex() else t * t) * weights).sum()
    return total


def check_noncontiguous(op):
    """Inputs in another order of memory: what PyTorch gives, or an error where it has one."""
    for args, kwargs in _typical(samples_of(op)):
        _check_dtype(op, _reordered(args), {k: _reordered(v) for k, v in kwargs.items()})


def _reordered(value):
    """The same values, tensors with the first dimension innermost in memory, vectors with gaps."""
    if isinstance(value, (tuple, list)):
        return type(value)(_reordered(v) for v in value)
    if not isinstance(value, Tensor) or not value.dim():
        return value
    if value.dim() == 1:
        return rushlight.stack([value, value], 1)[:, 0]
    return value.transpose(0, -1).contiguous().transpose(0, -1)


def check_out(op):
    """``out=`` where PyTorch has it: the result is written there."""
    for args, kwargs in _typical(samples_of(op)):
        call = _unwarned(_seeded(op.function, rushlight))
        expected = call(*args, **kwargs)
        if not isinstance(expected, Tensor):
            continue
        given = to_torch(args, torch), to_torch(kwargs, torch)
        there = torch.empty(tuple(expected.shape), dtype=to_torch(expected.dtype, torch))
        try:
            _unwarned(torch_function(op, torch))(*given[0], out=there, **given[1])
        except (TypeError, RuntimeError):
            continue
        out = rushlight.empty(tuple(expected.shape), dtype=expected.dtype)
        found = call(*args, out=out, **kwargs)
        expect(found is out, "out= is not what comes back")
        assert_equal(out, expected)


def check_autocast(op):
    """float32 inputs under autocast to bfloat16: the dtypes that PyTorch gives."""
    for args, kwargs in _typical(samples_of(op, rushlight.float32)):
        given = to_torch(args, torch), to_torch(kwargs, torch)
        try:
            with torch.autocast("cpu", torch.bfloat16):
                theirs = _theirs(op)(*given[0], **given[1])
        except (RuntimeError, TypeError, ValueError):
            continue  # the sample is not for float32, or PyTorch's parts disagree about the dtype
        with rushlight.autocast("cpu", rushlight.bfloat16):
            ours = _ours(op)(*args, **kwargs)
        kinds = [
            [str(getattr(t, "dtype", "")).split(".")[-1] for t in flat(r)] for r in (ours, theirs)
        ]
        expect(kinds[0] == kinds[1], f"dtypes {kinds[0]}, PyTorch gives {kinds[1]}")


def check_variants(op):
    """Method, ``out=`` and in-place forms give what the function gives."""
    for args, kwargs in _typical(samples_of(op)):
        if isinstance(args[0], Tensor):
            _check_variants(op, args, kwargs)


def _check_variants(op, args, kwargs):
    expected = _ours(op)(*args, **kwargs)
    if op.method and not op.name.startswith("_"):
        assert_equal(_ours(op, getattr(Tensor, op.name))(*args, **kwargs), expected)
    if op.outputs == 1 and op.kind in ("elementwise", "op") and isinstance(expected, Tensor):
        out = rushlight.empty(tuple(expected.shape), dtype=expected.dtype)
        expect(op.function(*args, out=out, **kwargs) is out, "out= is not what comes back")
        assert_equal(out, expected)
    fits = isinstance(expected, Tensor) and expected.shape == args[0].shape
    if op.inplace is not None and fits:
        target = args[0].clone()
        version = target._version
        try:
            found = _seeded(op.inplace, rushlight)(target, *args[1:], **kwargs)
        except RuntimeError:
            fits = dtypes.can_cast(expected.dtype, target.dtype)
            expect(not fits, "the in-place form refuses a result that fits")
            return
        expect(found is target, "the in-place form gives another tensor")
        expect(target._version == version + 1, "an in-place write is one version")
        assert_equal(target, expected.to(target.dtype))


def assert_equal(a, b):
    """Bit-equal results."""
    for left, right in zip(flat(a), flat(b), strict=True):
        if not isinstance(left, Tensor):
            expect(left == right, f"{left} is not {right}")
            continue
        expect(left.dtype is right.dtype and left.shape == right.shape, "dtype or shape differs")
        same = (left == right) | ((left != left) & (right != right))
        expect(bool(same.all()), f"{left} is not {right}")


def check_saved(op):
    """Writing to an input after the call is an error in backward exactly if a formula saved it and
    no result restores it."""
    args, kwargs = samples_of(op, requires_grad=True)[min(2, len(samples_of(op)) - 1)]
    inputs = [t for t in args if isinstance(t, Tensor)]
    floats = [t for t in inputs if t.is_floating_point()]
    if len(inputs) != len([t for t in flat(args) if isinstance(t, Tensor)]) or not floats:
        return
    for position in range(len(inputs)):
        copies = [t.detach().clone() for t in inputs]
        copies = [t.requires_grad_() if t.is_floating_point() else t for t in copies]
        live = [t * 1 if t.is_floating_point() else t for t in copies]
        fresh = iter(live)
        given = [next(fresh) if isinstance(a, Tensor) else a for a in args]
        result = next(t for t in flat(op.function(*given, **kwargs)) if t.requires_grad)
        if result._is_view() or op.kind == "view":
            return
        places = [i for i, a in enumerate(args) if isinstance(a, Tensor)]
        slot = op.tensor_positions.index(places[position])
        saved = _is_needed(result._node.plan, slot) if result._node.op is op else None
        with rushlight.no_grad():
            live[position].zero_()
        if saved is None:
            return
        if saved:
            with pytest.raises(RuntimeError, match="modified by an inplace operation"):
                _total(result).backward()
        else:
            _total(result).backward()


def _is_needed(plan, slot):
    return slot in plan.inputs and plan.inputs.index(slot) not in plan.restores


def _total(result):
    """A real sum to differentiate."""
    return (result.real if result.is_complex() else result).sum()


def check_meta(op):
    """On the meta device: shape, dtype, strides and offset of the real result, of inputs that are
    row-major, transposed and channels last, or a clear refusal."""
    for args, kwargs in _typical(samples_of(op)):
        if all(isinstance(a, Tensor) for a in args[:1]):
            _check_meta(op, args, kwargs)
            for change in (_turned, _channels_last):
                changed = _each(change, args), _each(change, kwargs)
                if any(isinstance(t, Tensor) and not t.is_contiguous() for t in flat(changed)):
                    _check_meta(op, *changed)


def _check_meta(op, args, kwargs):
    moved, named = _on_meta(args), _on_meta(kwargs)
    try:
        expected = op.function(*args, **kwargs)
    except RuntimeError as error:  # of strides that the op does not take
        with pytest.raises(type(error)):
            op.function(*moved, **named)
        return
    try:
        found = op.function(*moved, **named)
    except (NotImplementedError, RuntimeError) as error:
        expect(_may_refuse(op, args, kwargs, error), f"{op.name} refuses: {error}")
        return
    for a, b in zip(flat(found), flat(expected), strict=True):
        if not isinstance(a, Tensor):
            expect(a == b, f"meta gives {a}")
            continue
        expect(_layout(a) == _layout(b), f"meta gives {_layout(a)}, the CPU {_layout(b)}")
        expect(a.device.type == "meta", f"meta gives {a.device}")


def _layout(tensor):
    """Shape, dtype, strides of dimensions that are longer than one, and offset."""
    steps = [s for s, n in zip(tensor.stride(), tensor.shape, strict=True) if n > 1]
    return tensor.shape, tensor.dtype, steps if tensor.numel() else [], tensor.storage_offset()


def _each(change, value):
    """Arguments with their tensors changed."""
    if isinstance(value, Tensor) or hasattr(value, "to"):
        return change(value)
    if isinstance(value, dict):
        return {k: _each(change, v) for k, v in value.items()}
    is_list = type(value) in (list, tuple)
    return type(value)(_each(change, v) for v in value) if is_list else value


def _turned(tensor):
    """The same elements, with the dimensions in memory the other way round."""
    return tensor.detach().mT.contiguous().mT if tensor.dim() > 1 else tensor


def _channels_last(tensor):
    """The same elements, channels last where there are as many dimensions."""
    chosen = {4: channels_last, 5: channels_last_3d}.get(tensor.dim())
    return tensor.detach().contiguous(memory_format=chosen) if chosen else tensor


def _on_meta(value):
    def moved(tensor):
        return without_values(tensor) if isinstance(tensor, Tensor) else tensor.to("meta")

    return _each(moved, value)


def _may_refuse(op, args, kwargs, error):
    """Whether an error on the meta device is right: that of an op without a shape rule, or of a
    composite which PyTorch refuses too."""
    if op.kind != "composite":
        lacks = isinstance(error, NotImplementedError) and "meta" not in op.options
        return lacks and op.kind == "op" and op.name in str(error)
    function = torch and torch_function(op, torch)
    if function:
        with contextlib.suppress(NotImplementedError, RuntimeError):
            function(*_on_meta(to_torch(args, torch)), **_on_meta(to_torch(kwargs, torch)))
            return False
    return "meta" in str(error)


def check_errors(op):
    """Arguments of the wrong type are refused with the op's name; so are shapes that do not fit."""
    if not getattr(op, "variadic", False):
        with pytest.raises(TypeError, match=op.label):
            op.function()
    with pytest.raises(TypeError):
        op.function(*["text"] * sum(k == "Tensor" for k in op.kinds), unknown_keyword=1)
    if op.kind == "elementwise" and op.kinds[:2] == ("Tensor", "Tensor"):
        kind = rushlight.int64 if op.options.get("domain") == "integers" else None
        a, b = rushlight.ones(3, dtype=kind), rushlight.ones(4, dtype=kind)
        if op.options.get("aside"):
            return
        rest = [rushlight.ones(3) for k in op.kinds[2:] if k == "Tensor"]
        with pytest.raises(RuntimeError, match=rf"{op.name}: The size of tensor .*\(3\)"):
            op.function(a, b, *rest)


def check_documented(op):
    """A docstring whose first line says what the op does."""
    text = op.body.__doc__
    expect(text and text.strip(), f"{op.name} has no docstring")
    expect(len(text.strip().splitlines()[0]) <= 100, f"{op.name}: the first line is too long")


def generate(namespace):
    """Put the generated tests into a test module's namespace."""
    needs_torch = pytest.mark.skipif(torch is None, reason="PyTorch, the oracle, is not installed")
    families = {
        "gradient": (check_gradient, _alike("slope", _differentiable()), ()),
        "complex_gradient": (check_complex_gradient, _complex_too(), ()),
        "variants": (check_variants, _sampled(), ()),
        "saved": (check_saved, [op for op in _differentiable() if op.kind != "composite"], ()),
        "meta": (check_meta, _sampled(), ()),
        "errors": (check_errors, _table(), ()),
        "documented": (check_documented, _table(), ()),
        "forward": (check_forward, _oracled(), (needs_torch,)),
        "noncontiguous": (check_noncontiguous, _oracled_composites(), (needs_torch,)),
        "out": (check_out, _oracled_composites(), (needs_torch,)),
        "autocast": (check_autocast, _alike("autocast", _oracled()), (needs_torch,)),
        "gradient_oracle": (
            check_gradient_oracle,
            _alike("gradient", [op for op in _differentiable() if op in _oracled()]),
            (needs_torch,),
        ),
    }
    for name, (check, table, marks) in families.items():
        namespace["test_" + name] = _test(check, table, marks)

    def test_dtype(op, dtype):
        check_dtype(op, dtype)

    pairs = [
        (op, d)
        for op in filter(_holds_tensors, _oracled())
        for d in _SWEEP
        if d.name not in op.options.get("differs", ())
        and {d.category, d.name} & set(op.options.get("sweep", range(4)))
    ]
    ids = [f"{op.name}-{d.name}" for op, d in pairs]
    mark = pytest.mark.parametrize(("op", "dtype"), pairs, ids=ids)
    namespace["test_dtype"] = needs_torch(mark(test_dtype))


def _test(check, table, marks):
    def test(op):
        check(op)

    test.__doc__ = check.__doc__
    test = pytest.mark.parametrize("op", table, ids=_ids)(test)
    for mark in marks:
        test = mark(test)
    return test

"""The tests every op of the table gets, whatever it is called.

A pytest module collects them with one call::

    from rushlight.testing.ops import generate
    generate(globals())
"""

from __future__ import annotations

import os

import pytest

import rushlight
from rushlight import dtypes
from rushlight.autograd.gradcheck import gradcheck, gradgradcheck
from rushlight.ops import _deferred
from rushlight.ops._op import TABLE
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
_LACKS = ("not implemented for", "not supported", "does not support")
_SWEEP = [d for d in dtypes.ALL if d.category < 3]
# ``RUSHLIGHT_OPS_TIER=full`` takes every sample where the quick tier takes one.
_FULL = os.environ.get("RUSHLIGHT_OPS_TIER", "quick") == "full"


def _table():
    return [op for op in TABLE.values() if op.kind != "composite" or "samples" in op.options]


def _sampled():
    return [op for op in _table() if samples_of(op)]


def _differentiable():
    return [op for op in _sampled() if op.formulas or op.joint]


def _oracled():
    return [op for op in _sampled() if torch and torch_function(op, torch) is not None]


def _ids(op):
    return op.name


def check_forward(op):
    """Every sample agrees with PyTorch in float64."""
    for args, kwargs in samples_of(op):
        theirs = torch_function(op, torch)(*to_torch(args, torch), **to_torch(kwargs, torch))
        assert_same(op.function(*args, **kwargs), theirs, op.options.get("rtol"))


def _typical(samples):
    """The samples of a check that makes do with one in the quick tier."""
    return samples if _FULL else [samples[min(2, len(samples) - 1)]]


def check_dtype(op, dtype):
    """A sample in each dtype: the result PyTorch gives, or an error where PyTorch has one."""
    for args, kwargs in _typical(samples_of(op, dtype)):
        tensors = [t for t in flat(args) if isinstance(t, Tensor)]
        if _FULL and dtype.itemsize == 2 and any(not t.numel() for t in tensors):
            continue  # PyTorch often has the kernel for no elements only
        if dtype.code >= dtypes.FIRST_LIMITED and any(t.numel() < 2 for t in tensors):
            continue  # PyTorch answers before it looks for a kernel
        _check_dtype(op, args, kwargs)


def _check_dtype(op, args, kwargs):
    try:
        theirs = torch_function(op, torch)(*to_torch(args, torch), **to_torch(kwargs, torch))
    except (RuntimeError, NotImplementedError, TypeError, ValueError) as error:
        if any(words in str(error) for words in _LACKS):
            return  # PyTorch lacks the kernel; having it is no fault
        with pytest.raises((RuntimeError, NotImplementedError, TypeError, ValueError)):
            op.function(*args, **kwargs)
        return
    assert_same(op.function(*args, **kwargs), theirs, op.options.get("rtol"))


def check_gradient(op):
    """First and second derivatives against finite differences, on every sample."""
    checked = 0
    for args, kwargs in samples_of(op, requires_grad=True):
        leaves = [t for t in flat(args) if isinstance(t, Tensor) and t.requires_grad]
        if not leaves or any(not t.numel() for t in leaves):
            continue

        def call(*tensors, args=args, kwargs=kwargs):
            fresh = iter(tensors)
            return op.function(*_replace(args, fresh), **kwargs)

        gradcheck(call, leaves, fast_mode=True)
        gradgradcheck(call, leaves, fast_mode=True)
        checked += 1
    expect(checked, f"{op.name}: no sample takes part in the gradient check")


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
        ours = [t for t in flat(op.function(*args, **kwargs)) if t.requires_grad]
        theirs = torch_function(op, torch)(*theirs_args, **to_torch(kwargs, torch))
        theirs = [t for t in flat(theirs) if t.requires_grad]
        sum((t * t).sum() for t in ours).backward()
        sum((t * t).sum() for t in theirs).backward()
        for a, b in zip(leaves, theirs_leaves, strict=True):
            if not a.is_leaf:
                continue
            if a.grad is None or b.grad is None:  # none is zero
                other = b.grad if a.grad is None else a.grad
                expect(other is None or not bool((other != 0).any()), "a gradient is missing")
            else:
                assert_same(a.grad, b.grad, op.options.get("rtol") or 2e-5, 2e-5)


def check_variants(op):
    """Method, ``out=`` and in-place forms give what the function gives."""
    for args, kwargs in _typical(samples_of(op)):
        if isinstance(args[0], Tensor):
            _check_variants(op, args, kwargs)


def _check_variants(op, args, kwargs):
    expected = op.function(*args, **kwargs)
    if op.method and not op.name.startswith("_"):
        assert_equal(getattr(args[0], op.name)(*args[1:], **kwargs), expected)
    if op.outputs == 1 and op.kind in ("elementwise", "op") and isinstance(expected, Tensor):
        out = rushlight.empty(tuple(expected.shape), dtype=expected.dtype)
        expect(op.function(*args, out=out, **kwargs) is out, "out= is not what comes back")
        assert_equal(out, expected)
    fits = isinstance(expected, Tensor) and expected.shape == args[0].shape
    if op.inplace is not None and fits:
        target = args[0].clone()
        version = target._version
        try:
            found = op.inplace(target, *args[1:], **kwargs)
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
    """On the meta device: the shape and dtype of the real result, or a clear refusal."""
    for args, kwargs in _typical(samples_of(op)):
        if all(isinstance(a, Tensor) for a in args[:1]):
            _check_meta(op, args, kwargs)


def _check_meta(op, args, kwargs):
    moved = [a.to("meta") if isinstance(a, Tensor) else a for a in args]
    expected = op.function(*args, **kwargs)
    try:
        found = op.function(*moved, **kwargs)
    except NotImplementedError as error:
        named = op.kind == "op" and "meta" not in op.options and op.name in str(error)
        expect(named, f"{op.name} has a shape rule and refuses: {error}")
        return
    for a, b in zip(flat(found), flat(expected), strict=True):
        alike = a.shape == b.shape and a.dtype is b.dtype
        expect(a.device.type == "meta" and alike, f"meta gives {a.shape}, {a.dtype}")


def check_errors(op):
    """Arguments of the wrong type are refused with the op's name; so are shapes that do not fit."""
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
        "gradient": (check_gradient, _differentiable(), ()),
        "variants": (check_variants, _sampled(), ()),
        "saved": (check_saved, _differentiable(), ()),
        "meta": (check_meta, _sampled(), ()),
        "errors": (check_errors, _table(), ()),
        "documented": (check_documented, _table(), ()),
        "forward": (check_forward, _oracled(), (needs_torch,)),
        "gradient_oracle": (
            check_gradient_oracle,
            [op for op in _oracled() if op in _differentiable()],
            (needs_torch,),
        ),
    }
    for name, (check, table, marks) in families.items():
        namespace["test_" + name] = _test(check, table, marks)

    def test_dtype(op, dtype):
        check_dtype(op, dtype)

    pairs = [
        (op, d)
        for op in _oracled()
        for d in _SWEEP
        if d.category in op.options.get("sweep", range(4))
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

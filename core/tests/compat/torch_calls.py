"""Calls of PyTorch's functions by name: arguments that it takes, the same call here, its result."""

import functools
import warnings

import numpy as np
import torch

import rushlight

from torch_arguments import bound, generated, sampled, tensors  # isort: skip - beside this file

UNINITIALISED = (
    "empty", "empty_like", "empty_strided", "empty_permuted", "new", "new_empty", "resize_",
    "new_empty_strided", "resize", "resize_as_",
)  # fmt: skip


def named(library, name):
    """What a dotted name stands for."""
    return functools.reduce(getattr, name.split("."), library)


def known(name):
    """Whether a name of PyTorch's is there and not refused."""
    try:
        return not isinstance(named(rushlight, name), rushlight.refusals.Refused)
    except (AttributeError, NotImplementedError):
        return False


@functools.cache
def _table():
    from torch.testing._internal.common_methods_invocations import op_db

    entries = {}
    for info in op_db:
        entries.setdefault(info.name, info)
    return entries


@functools.cache
def _samples(name):
    try:
        return list(sampled(_table()[name]))
    except Exception:  # noqa: BLE001 - an entry without samples for the CPU
        return []


def ours(value):
    """PyTorch's values, in any containers, as ours."""
    if isinstance(value, torch.Tensor):
        wide = value.detach().resolve_conj()
        narrow = wide.dtype == torch.bfloat16 or wide.is_floating_point() and wide.itemsize == 1
        made = rushlight.tensor((wide.float() if narrow else wide).numpy())  # NumPy has none
        made = made.to(getattr(rushlight, str(wide.dtype).split(".")[1])) if narrow else made
        return made.requires_grad_(value.requires_grad)
    if isinstance(value, torch.Size):
        return rushlight.Size(value)
    if isinstance(value, list | tuple):
        return type(value)(map(ours, value))
    if isinstance(value, dict):
        return {key: ours(v) for key, v in value.items()}
    if isinstance(value, torch.dtype | torch.memory_format | torch.layout):
        return getattr(rushlight, str(value).split(".")[1])
    return rushlight.device(str(value)) if isinstance(value, torch.device) else value


def mapped(change, value):
    """`change` of all tensors of a value, in any containers."""
    if isinstance(value, torch.Tensor):
        return change(value)
    if isinstance(value, list | tuple):
        return type(value)(mapped(change, v) for v in value)
    return {k: mapped(change, v) for k, v in value.items()} if isinstance(value, dict) else value


def copied(value):
    """The same values, their tensors copied: a call may write into them."""
    return mapped(lambda tensor: tensor.detach().clone(), value)


def assert_equal(found, expected, name, rounding=1e-4):
    """Results of both sides are the same: shapes, dtypes, values."""
    if isinstance(expected, torch.Tensor):
        assert tuple(found.shape) == tuple(expected.shape)
        assert str(found.dtype)[10:] == str(expected.dtype)[6:]
        if name.rpartition(".")[2] in UNINITIALISED:
            return
        dense = [t.detach().to_dense() if t.layout != "strided" else t for t in (found,)]
        found, expected = dense[0].detach(), expected.detach()
        expected = expected.to_dense() if expected.layout != torch.strided else expected
        for narrow, wide in (("bfloat16", "float"), ("complex32", "cfloat")):
            if str(expected.dtype) == f"torch.{narrow}":
                found, expected = getattr(found, wide)(), getattr(expected, wide)()
        a, b = found.resolve_conj().numpy(), expected.resolve_conj().resolve_neg().numpy()
        largest = np.abs(b[np.isfinite(b)]).max(initial=0.0) if b.dtype.kind in "fc" else 0
        np.testing.assert_allclose(a, b, rtol=rounding, atol=1e-5 + 1e-6 * float(largest))
    elif isinstance(expected, list | tuple):
        assert len(found) == len(expected)
        for pair in zip(found, expected, strict=True):
            assert_equal(*pair, name, rounding)
    elif isinstance(expected, torch.dtype):
        assert str(found)[10:] == str(expected)[6:]
    elif isinstance(expected, np.ndarray | float):
        np.testing.assert_allclose(found, expected, rtol=1e-5)
    elif isinstance(expected, int | str | bool | None):
        assert found == expected


def calls(name, signature, taken):
    """(first arguments to try, calls to try) of a signature; a method's tensor is the first."""
    method, plain = name.startswith("Tensor."), name.removeprefix("Tensor.")
    for entry in {plain, plain.rstrip("_")} & _table().keys():
        for args, kwargs in _samples(entry):
            pairs = bound(signature, args[1:] if method else args, kwargs)
            if pairs is not None:
                yield [args[:1] if method else ()], [pairs]
    if name.startswith("nn.functional.") and _samples(name):
        return  # functions in Python take what means nothing to them
    for alternatives in generated(signature, taken):
        yield [(t,) for t in tensors().values()] if method else [()], alternatives


def theirs(name, args, kwargs):
    """PyTorch's result of a call, its numbers drawn from one seed."""
    torch.default_generator.manual_seed(3)  # quicker than the function, which walks the stack
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return named(torch, name)(*copied(args), **copied(kwargs))

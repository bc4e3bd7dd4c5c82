"""Every public function by every documented spelling: each first argument by position, the others
by keyword. Names and signatures are PyTorch's own, from its stubs and its override table; arguments
come from its table of ops and by type; what it takes is taken here, with the same result."""

import functools
import itertools
import sys
import warnings
from pathlib import Path

import numpy as np
import pytest

import rushlight

torch = pytest.importorskip("torch")
sys.path.insert(0, str(Path(__file__).parent))
from torch_arguments import bound, generated, sampled, spellings, tensors, told  # noqa: E402
from torch_signatures import signatures  # noqa: E402

SIGNATURES = signatures()
NAMES = [n for n in SIGNATURES if not n.startswith("functional.")]
GROUPS = sorted({n.rpartition(".")[0] + "." + n.rpartition(".")[2][0] for n in NAMES})

# Calls that are not compared, with the reason.
LEFT_OUT = {
    "compile": "starts a compiler", "save": "writes a file", "load": "reads one",
    "seed": "another number each time", "initial_seed": "set by the test itself",
    "get_num_threads": "of the process", "get_num_interop_threads": "of the process",
    "set_flush_denormal": "answers False: no processor mode is changed",
    "Tensor.data_ptr": "an address", "Tensor.storage": "an object of its own",
    "Tensor.untyped_storage": "an object of its own", "Tensor.type": "names the package",
    "slice_inverse": "PyTorch does not check shapes, reads what is outside",
    "Tensor.addbmm_": "PyTorch gives the tensor another shape, which is refused here",
    "linalg.eig": "vectors up to a factor", "linalg.eigh": "vectors up to a sign",
}  # fmt: skip
UNINITIALISED = (
    "empty", "empty_like", "empty_strided", "empty_permuted", "new", "new_empty", "resize_",
    "new_empty_strided", "resize", "resize_as_",
)  # fmt: skip


def _found(library, name):
    return functools.reduce(getattr, name.split("."), library)


def _known(name):
    try:
        return not isinstance(_found(rushlight, name), rushlight.refusals.Refused)
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


def _ours(value):
    if isinstance(value, torch.Tensor):
        made = rushlight.tensor(value.detach().resolve_conj().numpy())
        return made.requires_grad_(value.requires_grad)
    if isinstance(value, torch.Size):
        return rushlight.Size(value)
    if isinstance(value, list | tuple):
        return type(value)(map(_ours, value))
    if isinstance(value, dict):
        return {key: _ours(v) for key, v in value.items()}
    if isinstance(value, torch.dtype | torch.memory_format | torch.layout):
        return getattr(rushlight, str(value).split(".")[1])
    return rushlight.device(str(value)) if isinstance(value, torch.device) else value


def _copied(value):
    if isinstance(value, torch.Tensor):
        return value.detach().clone()
    if isinstance(value, list | tuple):
        return type(value)(map(_copied, value))
    return {k: _copied(v) for k, v in value.items()} if isinstance(value, dict) else value


def _equal(found, expected, name):
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
        np.testing.assert_allclose(a, b, rtol=1e-4, atol=1e-5 + 1e-6 * float(largest))
    elif isinstance(expected, list | tuple):
        assert len(found) == len(expected)
        for pair in zip(found, expected, strict=True):
            _equal(*pair, name)
    elif isinstance(expected, torch.dtype):
        assert str(found)[10:] == str(expected)[6:]
    elif isinstance(expected, np.ndarray | float):
        np.testing.assert_allclose(found, expected, rtol=1e-5)
    elif isinstance(expected, int | str | bool | None):
        assert found == expected


def _calls(name, signature, taken):
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


def _theirs(name, args, kwargs):
    torch.default_generator.manual_seed(3)  # quicker than the function, which walks the stack
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return _found(torch, name)(*_copied(args), **_copied(kwargs))


def _taken(name, signature, first, pairs, seen, wrong):
    """Whether PyTorch takes a call; then each of its spellings is compared."""
    for i, (args, kwargs) in enumerate(spellings(signature, pairs)):
        args = (*first, *args)
        text = told(args, kwargs)
        if text in seen:
            return True
        try:
            expected = _theirs(name, args, kwargs)
        except Exception:  # noqa: BLE001 - it refuses this spelling
            if not i:
                return False
            continue
        seen.add(text)
        rushlight.default_generator.manual_seed(3)
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                found = _found(rushlight, name)(*_ours(_copied(args)), **_ours(_copied(kwargs)))
            _equal(found, expected, name)
        except Exception as error:  # noqa: BLE001 - all that differs is listed
            if not getattr(_found(rushlight, name), "refuses", False):
                message = " ".join(str(error).split())[:160]
                wrong.append(f"{name}({text}): {type(error).__name__}: {message}")
    return True


def differences(names):
    """How many spellings were compared, and what differs."""
    wrong, count = [], 0
    for name in names:
        seen = set()
        for signature in SIGNATURES[name]:
            taken = []
            for firsts, alternatives in _calls(name, signature, taken):
                for pairs, first in itertools.product(alternatives, firsts):
                    if _taken(name, signature, first, pairs, seen, wrong):
                        taken.append(pairs)
                        break
        count += len(seen)
    return count, wrong


@pytest.mark.parametrize("group", GROUPS)
def test_spellings(group):
    home, _, letter = group.rpartition(".")
    names = [
        name
        for name in NAMES
        if name.rpartition(".")[0] == home
        and name.rpartition(".")[2][0] == letter
        and name not in LEFT_OUT
        and _known(name)
    ]
    _, wrong = differences(names)
    assert not wrong, "\n".join(wrong)


def test_the_search_finds_what_programs_write():
    """The generator itself: these calls must be among those compared."""
    names = ["empty", "randn", "randint", "arange", "abs_", "add", "bitwise_and"]
    count, wrong = differences(names)
    assert count > 100
    assert not wrong


def test_sizes_are_asked_for():
    for function in (rushlight.empty, rushlight.zeros, rushlight.ones, rushlight.randn):
        with pytest.raises(TypeError, match="size"):
            function()
        with pytest.raises(TypeError, match="size"):
            function(2, size=(2,))
    for call in (rushlight.arange, rushlight.randint):
        with pytest.raises(TypeError):
            call()


def test_former_orders_warn():
    x = rushlight.ones(2)
    with pytest.warns(UserWarning, match="deprecated: write add"):
        assert rushlight.add(x, 2, x).tolist() == [3.0, 3.0]

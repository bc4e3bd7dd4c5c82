"""No warning of NumPy's reaches a user: every op of PyTorch's table with infinities, NaN and
numbers whose squares are infinite, forward and backward."""

import sys
import warnings
from pathlib import Path

import pytest

import rushlight

torch = pytest.importorskip("torch")
sys.path.insert(0, str(Path(__file__).parent))
from torch_arguments import sampled  # noqa: E402
from torch_calls import known, mapped, named, ours  # noqa: E402

VALUES = [float("inf"), float("nan"), -float("inf"), 0.0, 1e38]
ORDERS = VALUES, VALUES[::-1]


def entries():
    from torch.testing._internal.common_methods_invocations import op_db

    found = {}
    for info in op_db:
        if known(info.name):
            found.setdefault(info.name, info)
    return found


ENTRIES = entries()
LETTERS = sorted({name.rpartition(".")[2][0] for name in ENTRIES})


def spoilt(value, numbers):
    """A sample's argument whose first elements are `numbers`."""
    if not isinstance(value, torch.Tensor) or not value.is_floating_point() or not value.numel():
        return value
    value = value.detach().clone().contiguous()
    flat = value.view(-1)
    count = min(len(numbers), flat.numel())
    flat[:count] = torch.tensor(numbers[:count], dtype=value.dtype)
    return value


def run(name, args, kwargs):
    """The call and its gradient; what refuses such numbers has warned of nothing all the same."""
    try:
        out = named(rushlight, name)(*args, **kwargs)
        outs = out if isinstance(out, tuple | list) else (out,)
        parts = [o.sum() for o in outs if isinstance(o, rushlight.Tensor) and o.requires_grad]
        if parts:
            sum(parts).backward()
    except Exception:  # noqa: BLE001 - the samples of some entries are not arguments
        return


def arguments(name, numbers):
    try:
        samples = list(sampled(ENTRIES[name]))
    except Exception:  # noqa: BLE001 - an entry without samples for the CPU
        return
    for args, kwargs in samples:
        if any(isinstance(v, torch.Tensor) and v.layout is not torch.strided for v in args):
            continue
        args, kwargs = (
            ours(mapped(lambda v: spoilt(v, numbers), each)) for each in (list(args), kwargs)
        )
        for value in args:
            if isinstance(value, rushlight.Tensor) and value.is_floating_point():
                value.requires_grad_()
        yield args, kwargs


@pytest.mark.parametrize("letter", LETTERS)
def test_no_warning_comes_through(letter):
    told = {}
    for name in ENTRIES:
        if name.rpartition(".")[2][0] != letter:
            continue
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            for numbers in ORDERS:
                for args, kwargs in arguments(name, numbers):
                    run(name, args, kwargs)
        found = {str(w.message) for w in caught if issubclass(w.category, RuntimeWarning)}
        if found:
            told[name] = found
    assert not told

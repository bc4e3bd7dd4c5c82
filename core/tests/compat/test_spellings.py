"""Every public function by every documented spelling: each first argument by position, the others
by keyword. Names and signatures are PyTorch's own, from its stubs and its override table; arguments
come from its table of ops and by type; what it takes is taken here, with the same result."""

import itertools
import sys
import warnings
from pathlib import Path

import pytest

import rushlight

torch = pytest.importorskip("torch")
sys.path.insert(0, str(Path(__file__).parent))
from torch_arguments import spellings, told  # noqa: E402
from torch_calls import assert_equal, calls, copied, known, named, ours, theirs  # noqa: E402
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


def _taken(name, signature, first, pairs, seen, wrong):
    """Whether PyTorch takes a call; then each of its spellings is compared."""
    for i, (args, kwargs) in enumerate(spellings(signature, pairs)):
        args = (*first, *args)
        text = told(args, kwargs)
        if text in seen:
            return True
        try:
            expected = theirs(name, args, kwargs)
        except Exception:  # noqa: BLE001 - it refuses this spelling
            if not i:
                return False
            continue
        seen.add(text)
        rushlight.default_generator.manual_seed(3)
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                found = named(rushlight, name)(*ours(copied(args)), **ours(copied(kwargs)))
            assert_equal(found, expected, name)
        except Exception as error:  # noqa: BLE001 - all that differs is listed
            if not getattr(named(rushlight, name), "refuses", False):
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
            for firsts, alternatives in calls(name, signature, taken):
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
        and known(name)
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

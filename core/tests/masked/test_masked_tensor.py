"""Creation, parts, text and copies of masked tensors, as PyTorch has them."""

import copy
import pickle
import subprocess
import sys
from pathlib import Path

import pytest

import rushlight

torch = pytest.importorskip("torch")
sys.path.insert(0, str(Path(__file__).parent))

from carrying import DATA, MASK, both, carrying, same_error, same_text  # noqa: E402

SHOWN = {
    "matrix": (DATA, MASK),
    "wide": ([[12345.678, 1.0], [2.0, -0.00004]], [[True, False], [True, True]]),
    "whole": ([1, 22, 333], [True, False, True]),
    "truth": ([True, False], [False, True]),
    "three": ([[[1.0, 2.0]], [[3.0, 4.0]]], [[[True, False]], [[False, True]]]),
    "number": (1.5, True),
    "hidden": (1.5, False),
    "int": (3, True),
}


@pytest.mark.parametrize("name", SHOWN)
def test_text(name):
    same_text(lambda lib: carrying(lib, *SHOWN[name]))


def test_text_of_float64_and_of_nothing():
    same_text(lambda lib: carrying(lib, dtype=lib.float64))
    nothing = rushlight.masked.masked_tensor(rushlight.zeros(0), rushlight.zeros(0).bool())
    assert repr(nothing) == "MaskedTensor(\n  []\n)"


def test_parts():
    both(lambda lib: carrying(lib).get_data())
    both(lambda lib: carrying(lib).get_mask())
    both(lambda lib: carrying(lib).to_tensor(7))
    both(lambda lib: carrying(lib, [1, 2], [True, False]).to_tensor(-1))


def test_what_it_is():
    x = carrying(rushlight, requires_grad=True)
    assert isinstance(x, rushlight.masked.MaskedTensor)
    assert isinstance(x, rushlight.Tensor)
    assert rushlight.masked.is_masked_tensor(x)
    assert not rushlight.masked.is_masked_tensor(x.get_data())
    assert not rushlight.masked.is_masked_tensor(None)
    assert (tuple(x.shape), x.dtype, x.layout) == ((2, 3), rushlight.float32, rushlight.strided)
    assert (x.is_sparse, x.is_sparse_coo(), x.is_sparse_csr()) == (False, False, False)
    assert (x.requires_grad, x.is_leaf, x.numel(), x.dim(), len(x)) == (True, True, 6, 2, 2)
    assert x.is_contiguous()
    assert not x.t().is_contiguous()


def test_paths_of_pytorch():
    from rushlight.masked.maskedtensor import MaskedTensor
    from rushlight.masked.maskedtensor.core import is_masked_tensor
    from rushlight.masked.maskedtensor.creation import as_masked_tensor, masked_tensor

    found = rushlight.masked
    assert MaskedTensor is found.MaskedTensor
    assert is_masked_tensor is found.is_masked_tensor
    assert (as_masked_tensor, masked_tensor) == (found.as_masked_tensor, found.masked_tensor)
    assert set(torch.masked.__all__) == set(found.__all__)


def test_data_and_mask_are_copied():
    def program(lib):
        data, mask = lib.tensor(DATA), lib.tensor(MASK)
        found = lib.masked.masked_tensor(data, mask)
        data.zero_()
        mask.zero_()
        return found

    both(program)


ERRORS = {
    "list": (lambda lib, m: m([1.0], lib.tensor([True])), "data must be a Tensor"),
    "mask list": (lambda lib, m: m(lib.tensor([1.0]), [True]), "mask must be a Tensor"),
    "masked data": (lambda lib, m: m(carrying(lib), lib.tensor(MASK)), "data must be a Tensor"),
    "masked mask": (lambda lib, m: m(lib.tensor(DATA), carrying(lib)), "mask must be a Tensor"),
    "float mask": (lambda lib, m: m(lib.ones(2), lib.ones(2)), "mask must have dtype bool."),
    "size": (
        lambda lib, m: m(lib.ones(2), lib.tensor([True])), "data.size() must equal mask.size()"
    ),
    "dim": (
        lambda lib, m: m(lib.ones(1), lib.tensor([[True]])), "data.dim() must equal mask.dim()"
    ),
    "bfloat16": (
        lambda lib, m: m(lib.ones(1, dtype=lib.bfloat16), lib.tensor([True])),
        "torch.bfloat16 is not supported in MaskedTensor.",
    ),
    "complex": (
        lambda lib, m: m(lib.ones(1, dtype=lib.complex64), lib.tensor([True])),
        "torch.complex64 is not supported in MaskedTensor.",
    ),
    "uint8": (
        lambda lib, m: m(lib.ones(1, dtype=lib.uint8), lib.tensor([True])),
        "torch.uint8 is not supported in MaskedTensor.",
    ),
    "columns": (
        lambda lib, m: m(lib.ones(2, 2).to_sparse_csc(), lib.ones(2, 2).bool().to_sparse_csc()),
        "data layout of torch.sparse_csc is not supported.",
    ),
    "layouts": (
        lambda lib, m: m(lib.ones(2).to_sparse(), lib.ones(2).bool()),
        "data and mask must have the same layout.",
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", ERRORS)
def test_creation_errors(name):
    program, text = ERRORS[name]
    same_error(lambda lib: program(lib, lib.masked.masked_tensor), text)


def test_data_that_requires_grad():
    x = rushlight.ones(2, requires_grad=True)
    with pytest.warns(UserWarning, match="requires grad"):
        found = rushlight.masked.masked_tensor(x, x > 0)
    assert (found.requires_grad, found.is_leaf) == (False, True)


def test_copies():
    both(lambda lib: carrying(lib).clone())
    both(lambda lib: carrying(lib, requires_grad=True).detach())
    both(lambda lib: copy.deepcopy(carrying(lib, requires_grad=True)))
    both(lambda lib: carrying(lib).to(lib.float64))
    both(lambda lib: carrying(lib).int())
    both(lambda lib: carrying(lib).half())
    both(lambda lib: lib.ones_like(carrying(lib)))
    both(lambda lib: lib.nn.Parameter(carrying(lib)))
    again = pickle.loads(pickle.dumps(carrying(rushlight, requires_grad=True)))
    assert repr(again) == repr(carrying(rushlight))
    assert again.requires_grad
    same_error(lambda lib: carrying(lib).to(lib.bfloat16), "bfloat16 is not supported")


def test_saved_and_loaded(tmp_path):
    rushlight.save(carrying(rushlight), tmp_path / "masked.pt")
    again = rushlight.load(tmp_path / "masked.pt", weights_only=False)
    assert repr(again) == repr(carrying(rushlight))


def test_one_element():
    assert carrying(rushlight)[0, 0].item() == 0.5
    assert float(carrying(rushlight, requires_grad=True)[1, 2]) == -6.0
    assert carrying(rushlight, requires_grad=True).sum().item() == -2.75
    with pytest.raises(ValueError, match="masked out"):
        carrying(rushlight)[0, 1].item()
    with pytest.raises(RuntimeError, match="one element"):
        carrying(rushlight).item()
    same_error(lambda lib: carrying(lib).numpy(), ".numpy() is not supported for tensor subclasses")
    same_error(lambda lib: carrying(lib).tolist(), ".tolist() is not supported for tensor subcl")


def test_function_without_meaning_for_masks():
    with pytest.warns(UserWarning, match="mm is not implemented"):
        with pytest.raises(TypeError, match="Multiple dispatch failed for 'aten.mm"):
            carrying(rushlight).mm(rushlight.ones(3, 2))


def test_tensors_like_one():
    for make in (rushlight.zeros_like, rushlight.empty_like):
        found = make(carrying(rushlight), dtype=rushlight.float64)
        assert found.dtype is rushlight.float64
        assert found.get_mask().tolist() == MASK
    assert rushlight.zeros_like(carrying(rushlight)).to_tensor(1).sum() == 2


PROGRAM = """
import rushlight
from rushlight.tensor.dispatch import STATE
x = rushlight.ones(3)
found = [STATE.dispatching]
rushlight.masked.sum(x, mask=x > 0)
found.append(STATE.dispatching)
rushlight.masked.masked_tensor(x, x > 0)
print(*found, STATE.dispatching)
"""


def test_the_class_is_made_at_first_use():
    """One with __torch_dispatch__ costs the calls of other tensors time."""
    done = subprocess.run(
        [sys.executable, "-c", PROGRAM], capture_output=True, text=True, check=True
    )
    assert done.stdout.split() == ["False", "False", "True"]
    assert "MaskedTensor" in dir(rushlight.masked)
    with pytest.raises(AttributeError, match="no attribute 'masked_tensors'"):
        rushlight.masked.masked_tensors  # noqa: B018


def test_unary_classmethod():
    def program(lib):
        data, mask = lib.tensor(DATA), lib.tensor(MASK)
        return lib.masked.MaskedTensor.unary(lib.exp, data, mask)

    both(program)

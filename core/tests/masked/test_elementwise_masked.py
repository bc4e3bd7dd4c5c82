"""Elementwise functions of masked tensors: those that PyTorch lists, and in place."""

import sys
from pathlib import Path

import pytest

import rushlight

torch = pytest.importorskip("torch")
sys.path.insert(0, str(Path(__file__).parent))

from carrying import DATA, MASK, both, carrying, same_error  # noqa: E402
from torch.masked.maskedtensor.binary import BINARY_NAMES, INPLACE_BINARY_NAMES  # noqa: E402
from torch.masked.maskedtensor.unary import INPLACE_UNARY_NAMES, UNARY_NAMES  # noqa: E402

FRACTIONS = [[0.25, 0.5, 0.75], [0.9, 0.125, 0.375]]  # where every function is defined
ABOVE_ONE = {"acosh", "arccosh", "acosh_", "arccosh_"}
GIVEN = {"clamp": (0.3, 0.8), "clip": (0.3, 0.8), "pow": (2,)}


def _operand(lib, name):
    name = name.removesuffix("_")
    if name.startswith("bitwise"):
        return carrying(lib, [[1, 2, 3], [4, 5, 6]])
    more = 1.0 if name in ABOVE_ONE else 0.0
    return carrying(lib, [[v + more for v in row] for row in FRACTIONS])


def _applied(lib, name, *operands):
    given = GIVEN.get(name.removesuffix("_"), ())
    if hasattr(operands[0], name):
        return getattr(operands[0], name)(*operands[1:], *given)
    return getattr(lib, name)(*operands, *given)


@pytest.mark.parametrize("name", sorted(UNARY_NAMES))
def test_unary(name):
    both(lambda lib: _applied(lib, name, _operand(lib, name)))


@pytest.mark.parametrize("name", sorted(INPLACE_UNARY_NAMES))
def test_unary_in_place(name):
    if not hasattr(torch.Tensor, name):
        assert not hasattr(rushlight.Tensor, name)
        return

    def program(lib):
        x = _operand(lib, name)
        assert _applied(lib, name, x) is x
        return x

    both(program)


@pytest.mark.parametrize("name", sorted(BINARY_NAMES))
def test_binary(name):
    def program(lib):
        x = _operand(lib, name)
        return _applied(lib, name, x, x.sub(1) if x.dtype.is_floating_point else x)

    both(program)


@pytest.mark.parametrize("name", sorted(BINARY_NAMES))
def test_binary_with_a_tensor_without_mask(name):
    both(lambda lib: _applied(lib, name, _operand(lib, name), _operand(lib, name).get_data()))
    both(lambda lib: _applied(lib, name, _operand(lib, name).get_data(), _operand(lib, name)))


@pytest.mark.parametrize("name", sorted(INPLACE_BINARY_NAMES))
def test_binary_in_place(name):
    def program(lib):
        x = _operand(lib, name)
        assert _applied(lib, name, x, x.clone()) is x
        return x

    if not hasattr(torch.Tensor, name):
        assert not hasattr(rushlight.Tensor, name)
        return
    both(program)


def test_operators_and_numbers():
    both(lambda lib: carrying(lib) + 1)
    both(lambda lib: 1 / carrying(lib))
    both(lambda lib: -carrying(lib) * 2 // 3)
    both(lambda lib: carrying(lib) ** 2 % 2)
    both(lambda lib: carrying(lib) < 1)
    both(lambda lib: carrying(lib) >= carrying(lib))
    both(lambda lib: ~carrying(lib, MASK, MASK) | carrying(lib, MASK, MASK))
    both(lambda lib: carrying(lib) + carrying(lib, dtype=lib.float64))


def test_operators_that_pytorch_refuses():
    x = carrying(rushlight)
    assert repr(1 - x) == repr(-(x - 1))
    assert repr(rushlight.add(x, x, alpha=2)) == repr(x * 3)
    assert repr(rushlight.relu(x)) == repr(x.clamp(min=0))
    assert repr(x.masked_fill(rushlight.tensor(DATA) > 0, 9.0)[1]) == repr(
        carrying(rushlight, [9.0, 9.0, -6.0], MASK[1])
    )


def test_in_place_by_operators():
    def program(lib):
        x = carrying(lib)
        x += 1
        x *= carrying(lib)
        return x

    both(program)


def test_masks_that_differ():
    other = [[not m for m in row] for row in MASK]
    text = "Input masks must match"
    same_error(lambda lib: carrying(lib) + carrying(lib, DATA, other), text)
    same_error(lambda lib: carrying(lib).mul_(carrying(lib, DATA, other)), text)


def test_masks_broadcast():
    row = [[True, False, True]]

    def program(lib):
        return carrying(lib, DATA, row * 2) + carrying(lib, [[1.0, 2.0, 3.0]], row)

    both(program)
    both(lambda lib: carrying(lib) * lib.tensor(2.0))
    both(lambda lib: carrying(lib, DATA[0], MASK[0]) - lib.tensor(DATA))


def test_writing_keeps_the_mask():
    x = carrying(rushlight)
    x[0, 0] = 7.0
    x[1].fill_(3.0)
    assert x.to_tensor(0).tolist() == [[7.0, 0.0, 2.0], [0.0, 3.0, 3.0]]
    both(lambda lib: carrying(lib).copy_(carrying(lib) * 2))
    with pytest.raises(ValueError, match="masks"):
        x.copy_(carrying(rushlight, DATA, [[True] * 3] * 2))

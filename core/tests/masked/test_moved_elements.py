"""Functions that move elements move the mask alike; ``where`` chooses among both."""

import sys
from pathlib import Path

import pytest

import rushlight
from rushlight.testing.oracle import assert_same

torch = pytest.importorskip("torch")
sys.path.insert(0, str(Path(__file__).parent))

from carrying import DATA, MASK, both, carrying  # noqa: E402

MOVED = {
    "row": lambda lib, x: x[0],
    "element": lambda lib, x: x[0, 1],
    "slices": lambda lib, x: x[:, 1:],
    "ellipsis": lambda lib, x: x[..., 0],
    "new dimension": lambda lib, x: x[None],
    "positions": lambda lib, x: x[lib.tensor([1, 0])],
    "chosen": lambda lib, x: x[lib.tensor(MASK)],
    "view": lambda lib, x: x.view(3, 2),
    "reshape": lambda lib, x: x.reshape(-1),
    "flatten": lambda lib, x: x.flatten(),
    "t": lambda lib, x: x.t(),
    "transpose": lambda lib, x: lib.transpose(x, 0, 1),
    "contiguous": lambda lib, x: x.t().contiguous(),
    "expand": lambda lib, x: x.expand(2, 2, 3),
    "expand_as": lambda lib, x: x[0].expand_as(x),
    "unsqueeze": lambda lib, x: x.unsqueeze(1),
    "select": lambda lib, x: x.select(1, 2),
    "narrow": lambda lib, x: x.narrow(1, 0, 2),
    "unfold": lambda lib, x: x.unfold(1, 2, 1),
    "cat": lambda lib, x: lib.cat([x, x * 2], 1),
    "stack": lambda lib, x: lib.stack([x, -x]),
    "hstack": lambda lib, x: lib.hstack([x, x]),
    "vstack": lambda lib, x: lib.vstack([x, x]),
    "split": lambda lib, x: x.split(1),
    "chunk": lambda lib, x: x.chunk(2, 1),
    "columns": lambda lib, x: lib.nn.functional.unfold(x.reshape(1, 1, 2, 3), 2),
}


@pytest.mark.parametrize("name", MOVED)
def test_like_pytorch(name):
    both(lambda lib: MOVED[name](lib, carrying(lib)))


MORE = {
    "T": lambda lib, x: x.T,
    "reshaped copy": lambda lib, x: x.t().reshape(-1),
    "permute": lambda lib, x: x.permute(1, 0),
    "squeeze": lambda lib, x: x.unsqueeze(0).squeeze(0),
    "sizes": lambda lib, x: x.split([1, 2], 1),
    "unbind": lambda lib, x: x.unbind(),
    "rows": lambda lib, x: list(x),
    "flip": lambda lib, x: x.flip(1),
    "roll": lambda lib, x: x.roll(1, 0),
    "repeat": lambda lib, x: x.repeat(2, 1),
    "index_select": lambda lib, x: x.index_select(1, lib.tensor([2, 0])),
    "gather": lambda lib, x: x.gather(1, lib.tensor([[0, 0], [2, 1]])),
    "movedim": lambda lib, x: x.movedim(0, 1),
    "unflatten": lambda lib, x: x.unflatten(1, (3, 1)),
}


@pytest.mark.parametrize("name", MORE)
def test_of_data_and_mask(name):
    """PyTorch refuses these of a masked tensor; its results for both parts are the measure."""
    found = MORE[name](rushlight, carrying(rushlight))
    data = MORE[name](torch, torch.tensor(DATA))
    mask = MORE[name](torch, torch.tensor(MASK))
    if not isinstance(data, tuple | list):
        found, data, mask = [found], [data], [mask]
    for part, expected, kept in zip(found, data, mask, strict=True):
        assert_same(part.get_data(), expected)
        assert_same(part.get_mask(), kept)


def test_a_tensor_without_mask_is_not_joined():
    with pytest.raises(TypeError, match="mask must have dtype bool"):
        rushlight.cat([carrying(rushlight), rushlight.tensor(DATA)])


def test_where():
    def program(lib):
        x, other = carrying(lib), carrying(lib, [[9.0] * 3] * 2, [[True, True, False]] * 2)
        chosen = lib.tensor(DATA) > 0
        return [
            lib.where(chosen, x, other),
            lib.where(chosen, x, lib.tensor(DATA)),
            lib.where(chosen, lib.tensor(DATA), x),
            lib.where(chosen, x, 0),
            lib.where(chosen[0], x, other),
        ]

    both(program)


def test_where_as_a_method_and_with_a_masked_condition():
    x = carrying(rushlight)
    zeros = rushlight.zeros(2, 3)
    expected = [[0.5, 0.0, 2.0], [0.0, 0.75, 0.0]]
    assert x.where(rushlight.tensor(DATA) > 0, zeros).to_tensor(0).tolist() == expected
    found = rushlight.where(x > 0, x, zeros)
    assert found.to_tensor(0).tolist() == expected
    assert found.get_mask().tolist() == MASK

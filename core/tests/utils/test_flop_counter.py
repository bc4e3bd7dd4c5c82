"""Counts of floating-point operations, against PyTorch's."""

import pytest

import rushlight
from rushlight import nn
from rushlight.utils.flop_counter import FlopCounterMode


def of_one(library, name, place, *shapes):
    """Gradients of one of the arguments, of which all require them."""
    tensors = [library.ones(shape, requires_grad=True) for shape in shapes]
    out = getattr(library.nn.functional, name)(*tensors)
    library.autograd.grad(out.sum(), tensors[place])


CASES = {
    "mm": lambda library: library.ones(3, 4) @ library.ones(4, 5),
    "bmm": lambda library: library.ones(2, 3, 4) @ library.ones(2, 4, 5),
    "addmm": lambda library: library.addmm(library.ones(5), library.ones(3, 4), library.ones(4, 5)),
    "einsum": lambda library: library.einsum(
        "bij,bjk->bik", library.ones(2, 3, 4), library.ones(2, 4, 5)
    ),
    "weights only": lambda library: library.nn.Linear(4, 5)(library.ones(3, 4)).sum().backward(),
    "both gradients": lambda library: (
        library.nn.Linear(4, 5)(library.ones(3, 4, requires_grad=True)).sum().backward()
    ),
    "products": lambda library: (
        (library.ones(3, 4, requires_grad=True) @ library.ones(4, 5, requires_grad=True))
        .sum()
        .backward()
    ),
    "convolutions": lambda library: (
        library.nn.Sequential(
            library.nn.Conv2d(2, 4, 3), library.nn.ReLU(), library.nn.Conv2d(4, 4, 3, stride=2)
        )(library.ones(2, 2, 8, 8))
        .sum()
        .backward()
    ),
    "input alone": lambda library: of_one(library, "conv2d", 0, (2, 2, 8, 8), (4, 2, 3, 3)),
    "weight alone": lambda library: of_one(library, "conv2d", 1, (2, 2, 8, 8), (4, 2, 3, 3)),
    "rows alone": lambda library: of_one(library, "linear", 0, (3, 4), (5, 4)),
    "transposed": lambda library: (
        library.nn.ConvTranspose2d(2, 4, 3)(library.ones(2, 2, 8, 8, requires_grad=True))
        .sum()
        .backward()
    ),
}


@pytest.mark.parametrize("name", CASES)
def test_counts_are_pytorchs(name):
    pytest.importorskip("torch")
    import torch
    from torch.utils.flop_counter import FlopCounterMode as Theirs

    ours, theirs = FlopCounterMode(display=False), Theirs(display=False)
    with ours:
        CASES[name](rushlight)
    with theirs:
        CASES[name](torch)
    assert ours.get_total_flops() == theirs.get_total_flops() > 0


def test_rows_of_modules(capsys):
    model = nn.Sequential(nn.Linear(4, 3), nn.Sequential(nn.Linear(3, 2)))
    with FlopCounterMode(model, depth=1) as counter:
        model(rushlight.ones(2, 4)).sum().backward()
    counts = counter.get_flop_counts()
    assert counts["Sequential.1.0"] == {"aten.linear": 24, "aten.linear_backward": 48}
    assert counts["Sequential"]["aten.linear"] == 48 + 24
    text = capsys.readouterr().out
    assert "Sequential" in text and "Sequential.1" not in text
    assert "Sequential.1" in counter.get_table(2)


def test_attention_recurrence_and_formulas_of_ones_own():
    query, key = rushlight.ones(1, 2, 4, 8), rushlight.ones(1, 2, 6, 8)
    with FlopCounterMode(display=False) as counter:
        nn.functional.scaled_dot_product_attention(query, key, key)
    assert counter.get_total_flops() == 2 * 2 * (4 * 6 * 8) * 2
    mapping = {rushlight.exp: lambda x, out_val: 10 * out_val.numel()}
    with FlopCounterMode(display=False, custom_mapping=mapping) as counter:
        rushlight.ones(3).exp()
    assert counter.get_flop_counts()["Global"] == {"aten.exp": 30}
    with pytest.raises(TypeError, match="'mods' to be a module or modules, got int"):
        FlopCounterMode(3)

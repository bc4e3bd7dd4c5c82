"""Functions whose arguments say how many results there are, scripted and in archives."""

# ruff: noqa: UP006, UP035 - annotations that TorchScript has had from its start
import io
from typing import Tuple

import pytest

import rushlight as torch
import rushlight.nn.functional as F
from rushlight import Tensor, nn
from rushlight.jit import script
from rushlight.jit.source import CompileError


def pooled(x: Tensor):
    y = F.adaptive_max_pool2d(x, 2).flatten(1) + F.adaptive_max_pool2d(
        x, 2, return_indices=False
    ).flatten(1)
    z = F.adaptive_max_pool1d(x[0], 4).flatten() + F.max_pool2d(x, 4).flatten()[:6].sum()
    return y, z, F.adaptive_max_pool3d(x, (1, 2, 2)).flatten(1)


def with_indices(x: Tensor) -> Tuple[Tensor, Tensor]:
    values, places = F.adaptive_max_pool2d(x, 2, return_indices=True)
    again, same = F.adaptive_max_pool2d_with_indices(x, 2)
    line, where = F.adaptive_max_pool1d(x[0], 2, True)
    return values.flatten(1) + again.flatten(1) + line.sum() + where.sum(), places + same


def windows(x: Tensor) -> Tuple[Tensor, Tensor]:
    return F.max_pool2d(x, 2, return_indices=True)


def operator_itself(x: Tensor) -> Tuple[Tensor, Tensor]:
    return torch.adaptive_max_pool1d(x[0], 2)


def fractions(x: Tensor):
    samples = torch.full([2, 3, 2], 0.4)
    y = F.fractional_max_pool2d(x, 2, output_size=3, _random_samples=samples).flatten(1)
    z, at = F.fractional_max_pool2d(
        x, 2, output_size=3, _random_samples=samples, return_indices=True
    )
    return y, z.flatten(1), at


def distinct(x: Tensor):
    y = x.round().flatten()
    values = torch.unique(y) + 1
    twice, inverse = torch.unique(y, return_inverse=True)
    rows, counts = torch.unique(y.reshape(-1, 2), dim=0, return_counts=True)
    return values, twice, inverse, rows, counts, torch.unique(y, True, True, True)


def runs(x: Tensor):
    y = x.round().flatten()
    values = torch.unique_consecutive(y) + 1
    twice, inverse = torch.unique_consecutive(y, return_inverse=True)
    rows, counts = torch.unique_consecutive(y.reshape(-1, 2), return_counts=True, dim=0)
    return values, twice, inverse, rows, counts, torch.unique_consecutive(y, True, True)


def factors(x: Tensor):
    lu, pivots = torch.lu(x)
    both, again, infos = torch.lu(x, get_infos=True)
    return lu + 1, pivots, both, again, infos


def bags(x: Tensor):
    return F.embedding_bag(torch.tensor([[1, 2], [0, 3]]), x[0, 0]) + 1


def attended(x: Tensor) -> Tensor:
    found, weights = F.multi_head_attention_forward(
        x[0], x[0], x[0], 8, 2, torch.ones(24, 8), torch.zeros(24), None, None, False, 0.0,
        torch.ones(8, 8), torch.zeros(8), False,
    )  # fmt: skip
    assert weights is not None
    return found.sum() + weights


pytestmark = pytest.mark.filterwarnings("ignore:`torch.jit:DeprecationWarning")
FUNCTIONS = [pooled, with_indices, windows, operator_itself, fractions, distinct, runs, factors,
             bags, attended]  # fmt: skip
LAYERS = [
    lambda: nn.AdaptiveMaxPool1d(2), lambda: nn.AdaptiveMaxPool2d((2, 3)),
    lambda: nn.AdaptiveMaxPool3d(2),
    lambda: nn.AdaptiveMaxPool1d(2, return_indices=True),
    lambda: nn.AdaptiveMaxPool2d(2, return_indices=True),
    lambda: nn.AdaptiveMaxPool3d(2, return_indices=True),
    lambda: nn.MaxPool1d(2, return_indices=True),
    lambda: nn.MaxPool2d(2, stride=3, return_indices=True),
    lambda: nn.MaxPool3d((1, 2, 2), return_indices=True),
]  # fmt: skip


def signal():
    return torch.randn(2, 3, 8, 8, generator=torch.Generator().manual_seed(0)) * 2


def flat(values):
    """Tensors as lists, in order."""
    if isinstance(values, tuple | list):
        return [leaf for value in values for leaf in flat(value)]
    return [(tuple(values.shape), values.tolist())]


@pytest.mark.parametrize("function", FUNCTIONS, ids=lambda f: f.__name__)
def test_scripts_give_what_is_asked_for(function):
    assert flat(script(function)(signal())) == flat(function(signal()))


@pytest.mark.parametrize("function", FUNCTIONS[:4] + FUNCTIONS[5:7], ids=lambda f: f.__name__)
def test_archives_of_functions_are_pytorchs(function):
    theirs = pytest.importorskip("torch")
    file = io.BytesIO()
    torch.jit.save(script(function), file)
    file.seek(0)
    assert flat(torch.jit.load(file)(signal())) == flat(function(signal()))
    file.seek(0)
    given = theirs.tensor(signal().tolist())
    assert flat(theirs.jit.load(file)(given)) == flat(function(signal()))


@pytest.mark.filterwarnings("ignore:torch.lu is deprecated")
def test_archives_of_factorizations_are_pytorchs():
    theirs = pytest.importorskip("torch")
    file = io.BytesIO()
    torch.jit.save(script(factors), file)
    x = torch.tensor([[2.0, 1, 0], [4, 1, 3], [1, 5, 2]])
    wanted = factors(x)
    file.seek(0)
    torch.testing.assert_close(torch.jit.load(file)(x), wanted)
    file.seek(0)
    found = [torch.tensor(v.tolist()) for v in theirs.jit.load(file)(theirs.tensor(x.tolist()))]
    torch.testing.assert_close(found, list(wanted), check_dtype=False)
    with pytest.raises(RuntimeError, match="zero"):
        torch.jit.load(io.BytesIO(file.getvalue()))(torch.zeros(2, 2))


@pytest.mark.parametrize("place", range(len(LAYERS)))
def test_archives_of_layers_are_pytorchs(place):
    theirs = pytest.importorskip("torch")
    model = nn.Sequential(nn.Identity(), LAYERS[place]())
    x = signal()[0] if "1d" in str(model) else signal()
    file = io.BytesIO()
    torch.jit.save(script(model), file)
    file.seek(0)
    assert flat(torch.jit.load(file)(x)) == flat(model(x))
    file.seek(0)
    assert flat(theirs.jit.load(file)(theirs.tensor(x.tolist()))) == flat(model(x))


def test_methods_are_the_operators():
    def ran(x: Tensor) -> Tuple[Tensor, Tensor, Tensor]:
        return x.unique_consecutive(return_counts=True)

    theirs = pytest.importorskip("torch")
    values = [1.0, 1.0, 3.0]
    expected = theirs.jit.script(_their_runs)(theirs.tensor(values))
    assert flat(script(ran)(torch.tensor(values))) == flat(expected)


def _their_runs(x):
    return x.unique_consecutive(return_counts=True)


def test_two_results_are_no_tensor():
    def wrong(x: Tensor) -> Tensor:
        return F.adaptive_max_pool2d(x, 2, return_indices=True).flatten(1)

    with pytest.raises(CompileError, match="no attribute or method 'flatten'"):
        script(wrong)

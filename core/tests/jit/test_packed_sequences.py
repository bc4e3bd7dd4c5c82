"""Traces of recurrent layers over packed sequences, beside PyTorch's."""

import io

import numpy as np
import packed_models
import pytest
from packed_models import CASES

import rushlight

torch = pytest.importorskip("torch")
pytestmark = [
    pytest.mark.filterwarnings("ignore::DeprecationWarning"),
    pytest.mark.filterwarnings("ignore::torch.jit.TracerWarning"),
]
SHAPES = ((3, 6), (5, 9), (1, 2))


def pair(make):
    """The same model in both libraries."""
    ours, theirs = make(rushlight), make(torch)
    values = {n: torch.tensor(v.numpy()) for n, v in ours.state_dict().items()}
    theirs.load_state_dict(values)
    return ours, theirs


def agree(found, expected):
    for ours, theirs in zip(found, expected, strict=True):
        assert tuple(ours.shape) == tuple(theirs.shape)
        np.testing.assert_allclose(
            ours.detach().numpy(), theirs.detach().numpy(), rtol=1e-5, atol=1e-6
        )


def in_torch(values):
    return [torch.tensor(v.numpy()) for v in values]


@pytest.mark.parametrize("name", CASES)
def test_traces_take_other_batches_and_lengths(name):
    case = CASES[name]
    ours, theirs = pair(lambda library: packed_models.encoder(library, **case))
    given = [packed_models.tokens(rushlight, case, *shape, i) for i, shape in enumerate(SHAPES)]
    traced = rushlight.jit.trace(ours, given[0])
    for values in given:
        agree(traced(*values), theirs(*in_torch(values)))


@pytest.mark.parametrize("name", CASES)
def test_saved_traces_are_read_by_pytorch_and_the_other_way(name):
    case = CASES[name]
    ours, theirs = pair(lambda library: packed_models.encoder(library, **case))
    given = [packed_models.tokens(rushlight, case, *shape, i) for i, shape in enumerate(SHAPES)]
    file = io.BytesIO()
    rushlight.jit.save(rushlight.jit.trace(ours, given[0]), file)
    file.seek(0)
    read = torch.jit.load(file)
    other = io.BytesIO()
    torch.jit.save(torch.jit.trace(theirs, in_torch(given[0])), other)
    other.seek(0)
    back = rushlight.jit.load(other)
    for values in given:
        expected = theirs(*in_torch(values))
        agree(read(*in_torch(values)), expected)
        agree(back(*values), expected)


def test_states_that_are_given_are_sorted_with_the_batch():
    ours, theirs = pair(packed_models.decoder)
    lengths = (rushlight.tensor([2, 5, 3]), rushlight.tensor([1, 3, 2, 4, 1]))
    given = [(rushlight.randn(len(n), 5, 4), n, rushlight.randn(len(n), 3)) for n in lengths]
    traced = rushlight.jit.trace(ours, given[0])
    for values in given:
        agree(traced(*values), theirs(*in_torch(values)))


@pytest.mark.parametrize("kind", ["lstm", "gru", "rnn_tanh", "rnn_relu"])
def test_functions_of_packed_data(kind):
    data = rushlight.randn(6, 4)
    sizes = rushlight.tensor([3, 2, 1])
    gates = {"lstm": 4, "gru": 3}.get(kind, 1)
    params = [rushlight.randn(gates * 5, n) for n in (4, 5)] + [rushlight.randn(gates * 5)] * 2
    states = [rushlight.randn(1, 3, 5) for _ in range(2)]
    hx = states if kind == "lstm" else states[0]
    found = getattr(rushlight, kind)(data, sizes, hx, params, True, 1, 0.0, False, False)
    hx = in_torch(states) if kind == "lstm" else torch.tensor(states[0].numpy())
    values = (*in_torch([data, sizes]), hx, in_torch(params))
    agree(found, getattr(torch, kind)(*values, True, 1, 0.0, False, False))

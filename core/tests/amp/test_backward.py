"""The backward pass inside of an autocast region, and recurrent layers there, against PyTorch."""

import contextlib

import numpy as np
import pytest

import rushlight

torch = pytest.importorskip("torch")
STATE = np.random.default_rng(0)
WEIGHTS = [STATE.standard_normal(shape).astype("f") for shape in ((8, 5), (8,), (3, 8), (3,))]
INPUT = STATE.standard_normal((6, 5)).astype("f")
TARGET = STATE.standard_normal((6, 3)).astype("f")


def gradients(library, inside, loss):
    """Gradients of two layers, by a backward pass inside or behind the region."""
    weights = [library.tensor(w).requires_grad_() for w in WEIGHTS]
    linear = library.nn.functional.linear
    with library.autocast("cpu", dtype=library.bfloat16):
        hidden = linear(library.tensor(INPUT), *weights[:2]).tanh()
        found = linear(hidden, *weights[2:])
        if loss == "mse":
            value = library.nn.functional.mse_loss(found, library.tensor(TARGET))
        else:
            value = library.nn.functional.cross_entropy(found, library.arange(6) % 3)
        if inside:
            value.backward()
    if not inside:
        value.backward()
    assert all(w.grad.dtype == library.float32 for w in weights)
    return [w.grad.numpy() for w in weights]


@pytest.mark.parametrize("loss", ("mse", "cross_entropy"))
@pytest.mark.parametrize("inside", (False, True))
def test_gradients_are_pytorchs_to_the_bit(inside, loss):
    for ours, theirs in zip(
        gradients(rushlight, inside, loss), gradients(torch, inside, loss), strict=True
    ):
        np.testing.assert_array_equal(ours, theirs)


@pytest.mark.parametrize("create", (False, True))
def test_formulas_run_as_recorded(create):
    """What was recorded before the region gets the gradient it gets without one."""
    found = []
    for inside in (False, True):
        weight = rushlight.tensor(WEIGHTS[0]).requires_grad_()
        loss = ((rushlight.tensor(INPUT) @ weight.t()).tanh() ** 2).sum()
        with rushlight.autocast("cpu", enabled=inside):
            (grad,) = rushlight.autograd.grad(loss, weight, create_graph=create)
        found.append(grad.detach().numpy())
    np.testing.assert_array_equal(*found)


class Seen(rushlight.autograd.Function):
    """Notes what its backward runs under."""

    @staticmethod
    def forward(ctx, x):
        return x * 2

    @staticmethod
    def backward(ctx, grad):
        Seen.found = rushlight.is_autocast_enabled("cpu"), (grad @ grad.t()).dtype
        return grad @ grad.t() @ grad


def test_functions_and_hooks_of_users_see_the_region():
    x = rushlight.ones(2, 2, requires_grad=True)
    seen = []
    y = Seen.apply(x)
    y.register_hook(lambda grad: seen.append((grad @ grad).dtype))
    with rushlight.autocast("cpu"):
        y.sum().backward()
    assert Seen.found == (True, rushlight.bfloat16) and seen == [rushlight.bfloat16]
    assert x.grad.dtype is rushlight.float32


def test_sums_of_bfloat16_rows_are_rounded_once():
    """The bias of a layer in bfloat16 over 4096 rows: adding one by one would stop at 256."""
    x, weight = rushlight.ones(4096, 2).bfloat16(), rushlight.ones(3, 2).bfloat16()
    bias = rushlight.zeros(3).bfloat16().requires_grad_()
    rushlight.nn.functional.linear(x, weight, bias).sum().backward()
    assert bias.grad.tolist() == [4096.0] * 3


KINDS = ("LSTM", "GRU", "RNN")


@contextlib.contextmanager
def known_to_onednn():
    """Skips a test where PyTorch's library has no such layer for the processor: LSTMs of bfloat16
    need AVX-512."""
    try:
        yield
    except RuntimeError as error:
        if "could not create a primitive descriptor" not in str(error):
            raise
        pytest.skip("PyTorch cannot run this layer on this processor")


def recurrent(library, kind, what):
    """Dtypes of a layer's results in the region."""
    layer = getattr(library.nn, kind)(5, 7, num_layers=2, bidirectional=True)
    x = library.ones(2, 3, 5)
    state = None
    if what == "states":
        start = library.zeros(4, 3, 7, dtype=library.bfloat16)
        state = (start, start) if kind == "LSTM" else start
    elif what == "input":
        x = x.bfloat16()
    elif what == "whole":
        layer, x = layer.bfloat16(), x.bfloat16()
    elif what in ("packed", "ragged"):
        x = library.nn.utils.rnn.pack_sequence([x[0], x[1, : 3 if what == "packed" else 2]])
    elif what == "projected":
        layer = library.nn.LSTM(5, 7, proj_size=3)
    with library.autocast("cpu", dtype=library.bfloat16):
        out, last = layer(x, state)
    if what in ("packed", "ragged"):
        out = out.data
    every = (out, *last) if kind == "LSTM" or what == "projected" else (out, last)
    return [str(t.dtype).split(".")[1] for t in every]


@pytest.mark.parametrize(
    "what", ("plain", "states", "input", "whole", "packed", "ragged", "projected")
)
@pytest.mark.filterwarnings("ignore:LSTM with projections is not supported with oneDNN")
@pytest.mark.parametrize("kind", KINDS)
def test_dtypes_of_recurrent_layers(kind, what):
    with known_to_onednn():
        theirs = recurrent(torch, kind, what)
    assert recurrent(rushlight, kind, what) == theirs


@pytest.mark.parametrize("kind", KINDS)
def test_recurrent_layers_agree_in_value(kind):
    """Forward and gradients in the region, within bfloat16's rounding."""
    found = []
    start = getattr(rushlight.nn, kind)(5, 7).state_dict()
    x = STATE.standard_normal((6, 3, 5)).astype("f")
    for library in (rushlight, torch):
        layer = getattr(library.nn, kind)(5, 7)
        layer.load_state_dict({k: library.tensor(v.numpy()) for k, v in start.items()})
        with known_to_onednn(), library.autocast("cpu", dtype=library.bfloat16):
            out = layer(library.tensor(x))[0]
        out.float().square().sum().backward()
        found.append([out.detach().float().numpy(), *(p.grad.numpy() for p in layer.parameters())])
    for ours, theirs in zip(*found, strict=True):
        assert np.abs(ours - theirs).max() <= 0.03 * np.abs(theirs).max()


@pytest.mark.parametrize("kind", KINDS)
def test_a_profiler_sees_one_recurrence(kind):
    """Watching a layer does not change how it runs."""
    layer, x = getattr(rushlight.nn, kind)(5, 7), rushlight.ones(9, 3, 5)
    plain = layer(x)[0]
    with rushlight.profiler.profile() as watched:
        seen = layer(x)[0]
    names = [event.key for event in watched.key_averages()]
    assert any("recurrence" in name for name in names), names
    counts = {event.key: event.count for event in watched.key_averages()}
    assert max(counts.values()) < 9
    assert seen.equal(plain)

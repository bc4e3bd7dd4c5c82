"""Modules that are built of modules, with batches and sequences of no elements: outputs and all
gradients in training and in evaluation, against PyTorch, from the same parameters."""

import itertools
import sys
import warnings
from pathlib import Path

import pytest

import rushlight

pytest.importorskip("torch")
sys.path.insert(0, str(Path(__file__).parent))
from test_empty_batches import _assert_close, _ours, _run, torch  # noqa: E402

REFUSALS = (RuntimeError, ValueError, IndexError, AssertionError)
WIDTH = {"d_model": 8, "nhead": 2, "dim_feedforward": 16, "dropout": 0.0}


def _layers(kind, batch_first):
    def make(nn):
        layer = getattr(nn, f"Transformer{kind}Layer")(**WIDTH, batch_first=batch_first)
        return getattr(nn, f"Transformer{kind}")(layer, 2)

    return make


def _sequence(length, n, features, batch_first):
    shape = (n, length, features) if batch_first else (length, n, features)
    return torch.linspace(-1, 1, length * n * features).reshape(shape)


# Name -> (module of a library's nn and batch_first, inputs of n, s, t and batch_first).
BUILT = {
    "Transformer": (
        lambda nn, first: nn.Transformer(
            **WIDTH, num_encoder_layers=1, num_decoder_layers=1, batch_first=first
        ),
        lambda n, s, t, first: [_sequence(s, n, 8, first), _sequence(t, n, 8, first)],
    ),
    "MultiheadAttention": (
        lambda nn, first: nn.MultiheadAttention(8, 2, batch_first=first),
        lambda n, s, t, first: [_sequence(t, n, 8, first), *[_sequence(s, n, 8, first)] * 2],
    ),
    "AdaptiveLogSoftmaxWithLoss": (
        lambda nn, first: nn.AdaptiveLogSoftmaxWithLoss(8, 20, [5, 10]),
        lambda n, s, t, first: [_sequence(n, 1, 8, first).reshape(n, 8), torch.arange(n) * 9],
    ),
    "Bilinear": (
        lambda nn, first: nn.Bilinear(3, 4, 5),
        lambda n, s, t, first: [torch.ones(n, s, 3), torch.ones(n, s, 4)],
    ),
}  # fmt: skip
for _kind in ("Encoder", "Decoder"):
    _count = 1 if _kind == "Encoder" else 2
    BUILT[f"Transformer{_kind}Layer"] = (
        lambda nn, first, kind=_kind: getattr(nn, f"Transformer{kind}Layer")(
            **WIDTH, batch_first=first
        ),
        lambda n, s, t, first, count=_count: [_sequence(x, n, 8, first) for x in (s, t)[:count]],
    )
    BUILT[f"Transformer{_kind}"] = (
        lambda nn, first, kind=_kind: _layers(kind, first)(nn),
        BUILT[f"Transformer{_kind}Layer"][1],
    )
for _kind, _options in itertools.product(
    ("RNN", "LSTM", "GRU"),
    ({}, {"bidirectional": True, "num_layers": 2}, {"bias": False}, {"proj_size": 2}),
):
    if "proj_size" in _options and _kind != "LSTM":
        continue
    BUILT[" ".join((_kind, *_options))] = (
        lambda nn, first, kind=_kind, options=_options: getattr(nn, kind)(
            3, 4, batch_first=first, **options
        ),
        lambda n, s, t, first: [_sequence(s, n, 3, first)],
    )
    BUILT[f"{_kind}Cell"] = (
        lambda nn, first, kind=_kind: getattr(nn, f"{kind}Cell")(3, 4),
        lambda n, s, t, first: [torch.ones(n, 3)],
    )


def _made(name, first, training):
    """The module of both libraries, with the same parameters."""
    theirs = BUILT[name][0](torch.nn, first).train(training)
    module = BUILT[name][0](rushlight.nn, first).train(training)
    module.load_state_dict({k: _ours(v) for k, v in theirs.state_dict().items()})
    return theirs, module


def _compare(name, sizes, first, training):
    """Whether PyTorch takes such sizes; then the outputs and the gradients are the same here."""
    theirs, module = _made(name, first, training)
    given = BUILT[name][1](*sizes, first)
    own = _ours(given)
    try:
        expected = _run(torch, theirs, given, {})
    except REFUSALS:
        with pytest.raises(REFUSALS):
            _run(rushlight, module, own, {})
        return False
    _assert_close(_run(rushlight, module, own, {}), expected)
    return True


SIZES = [sizes for sizes in itertools.product((0, 2), repeat=3) if 0 in sizes]


@pytest.mark.parametrize("training", [True, False])
@pytest.mark.parametrize("name", BUILT)
def test_module(name, training):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        taken = [
            _compare(name, sizes, first, training) for sizes in SIZES for first in (False, True)
        ]
    assert any(taken)

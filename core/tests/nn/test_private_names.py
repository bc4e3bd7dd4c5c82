"""Helpers of layers that subclasses of PyTorch's layers import, against PyTorch's."""

from __future__ import annotations

import importlib

import numpy as np
import pytest

import rushlight

torch = pytest.importorskip("torch")
LIBRARIES = (rushlight, torch)
IMPORTS = {
    "functional": "_canonical_mask _get_softmax_dim _in_projection _in_projection_packed "
    "_list_with_default _mha_shape_check _none_or_dtype _pair _single _triple _verify_batch_size "
    "_verify_spatial_size GRID_SAMPLE_INTERPOLATION_MODES GRID_SAMPLE_PADDING_MODES",
    "modules.conv": "_ConvNd _ConvTransposeNd _pair _single _triple _reverse_repeat_tuple",
    "modules.padding": "_ConstantPadNd _ReflectionPadNd _pair _quadruple _ntuple",
    "modules.pooling": "_MaxPoolNd _AvgPoolNd _pair _single _triple",
    "modules.batchnorm": "_BatchNorm _NormBase",
    "modules.dropout": "_DropoutNd",
    "modules.instancenorm": "_InstanceNorm",
    "modules.rnn": "RNNBase apply_permutation _apply_permutation",
    "modules.transformer": "_get_clones _get_activation_fn _get_seq_len _detect_is_causal_mask "
    "_generate_square_subsequent_mask",
    "modules.activation": "_canonical_mask MultiheadAttention",
    "modules.utils": "_ntuple _pair _reverse_repeat_tuple _list_with_default",
}


@pytest.mark.parametrize("path", IMPORTS)
def test_names_can_be_imported(path):
    for lib in LIBRARIES:
        module = importlib.import_module(f"{lib.__name__}.nn.{path}")
        for name in IMPORTS[path].split():
            if lib is rushlight or name != "_canonical_mask":  # which PyTorch has in functional
                assert getattr(module, name) is not None


def _rows(lib, *shape, seed=0):
    return lib.from_numpy(np.random.default_rng(seed).normal(size=shape).astype("f"))


def _packed(lib, f):
    x, other, third = _rows(lib, 3, 2, 4), _rows(lib, 2, 2, 4), _rows(lib, 3, 2, 4, seed=6)
    weight, bias = _rows(lib, 12, 4, seed=4), _rows(lib, 12, seed=5)
    triples = (x, x, x), (other, x, x), (other, x, third)
    return [f._in_projection_packed(*given, w, b) for given in triples
            for w, b in ((weight, bias), (weight, None))]  # fmt: skip


def _separate(lib, f):
    inputs = [_rows(lib, 3, 2, n, seed=n) for n in (4, 5, 6)]
    weights = [_rows(lib, 4, n, seed=n) for n in (4, 5, 6)]
    return f._in_projection(*inputs, *weights, _rows(lib, 4), b_v=_rows(lib, 4, seed=8))


def _canonical(lib, f):
    return [
        f._canonical_mask(lib.tensor([True, False]), "mask", None, "", lib.float32),
        f._canonical_mask(_rows(lib, 2), "mask", lib.float32, "other", lib.float32),
        f._canonical_mask(None, "mask", None, "", lib.float32),
    ]


def _shapes(lib, f):
    rows = _rows(lib, 3, 2, 4), _rows(lib, 3, 4)
    return [f._mha_shape_check(x, x, x, None, None, 2) for x in rows]


def _merged(lib, f):
    attention = lib.nn.MultiheadAttention(4, 2)
    query, padding = _rows(lib, 2, 3, 4), _rows(lib, 2, 3, seed=1)
    two, three = _rows(lib, 3, 3, seed=2), _rows(lib, 4, 3, 3, seed=3)
    pairs = ((None, None), (two, None), (None, padding > 0), (two, padding), (three, padding))
    return [attention.merge_masks(mask, pad, query) for mask, pad in pairs]


def _causal(lib, f):
    transformer = importlib.import_module(f"{lib.__name__}.nn.modules.transformer")
    square = transformer._generate_square_subsequent_mask(3)
    found = [(square, None), (lib.zeros(3, 3), None), (None, None), (None, True)]
    return [square, *(transformer._detect_is_causal_mask(*given) for given in found)]


def _lengths(lib, f):
    transformer = importlib.import_module(f"{lib.__name__}.nn.modules.transformer")
    inputs = lib.ones(5, 4), lib.ones(5, 3, 4)
    return [transformer._get_seq_len(x, first) for x in inputs for first in (False, True)]


def _permuted(lib, f):
    rnn = importlib.import_module(f"{lib.__name__}.nn.modules.rnn")
    return rnn._apply_permutation(_rows(lib, 2, 3), lib.tensor([2, 0, 1]))


CALLS = {
    "softmax": lambda lib, f: [f._get_softmax_dim("softmax", n, 3) for n in range(5)],
    "packed": _packed,
    "separate": _separate,
    "mask": _canonical,
    "shapes": _shapes,
    "dtypes": lambda lib, f: [f._none_or_dtype(None), str(f._none_or_dtype(_rows(lib, 2)))[-7:]],
    "sizes": lambda lib, f: [f._pair(3), f._single((1,)), f._triple(2)],
    "defaults": lambda lib, f: f._list_with_default([None, 3], [4, 5, 6]),
    "modes": lambda lib, f: [f.GRID_SAMPLE_INTERPOLATION_MODES, f.GRID_SAMPLE_PADDING_MODES],
    "channels": lambda lib, f: [f._verify_batch_size([2, 3]), f._verify_spatial_size([1, 3, 2])],
    "merged": _merged,
    "permuted": _permuted,
    "lengths": _lengths,
    "causal": _causal,
}


def _assert_equal(ours, theirs):
    if isinstance(theirs, torch.Tensor):
        assert str(ours.dtype).split(".")[1] == str(theirs.dtype).split(".")[1]
        np.testing.assert_allclose(ours.numpy(), theirs.numpy(), 1e-5, 1e-5)
    elif isinstance(theirs, (list, tuple)):
        assert len(ours) == len(theirs)
        for a, b in zip(ours, theirs, strict=True):
            _assert_equal(a, b)
    else:
        assert ours == theirs


@pytest.mark.filterwarnings("ignore:Implicit dimension choice")
@pytest.mark.parametrize("call", CALLS.values(), ids=CALLS)
def test_values_are_pytorchs(call):
    _assert_equal(*(call(lib, lib.nn.functional) for lib in LIBRARIES))


ERRORS = {
    "batch": (lambda lib, f: f._verify_batch_size([1, 3, 1]), ValueError),
    "spatial": (lambda lib, f: f._verify_spatial_size([2, 3, 1]), ValueError),
    "mask": (
        lambda lib, f: f._canonical_mask(lib.tensor([1]), "m", None, "", lib.float32),
        AssertionError,
    ),
    "projection": (
        lambda lib, f: f._in_projection(*[lib.ones(2, 4)] * 3, *[lib.ones(4, 3)] * 3),
        AssertionError,
    ),
    "dtype": (lambda lib, f: f._none_or_dtype(3), RuntimeError),
}


@pytest.mark.parametrize("call, error", ERRORS.values(), ids=ERRORS)
def test_errors_are_pytorchs(call, error):
    messages = []
    for lib in LIBRARIES:
        with pytest.raises(error) as caught:
            call(lib, lib.nn.functional)
        messages.append(str(caught.value)[:24])
    assert messages[0] == messages[1]


def test_modules_are_called_by_pytorchs_names():
    for lib in LIBRARIES:
        layer, seen = lib.nn.Linear(2, 3), []
        layer.register_forward_hook(lambda *given, seen=seen: seen.append(len(given)))
        x = lib.ones(1, 2)
        for call in (layer._call_impl, layer._wrapped_call_impl, layer):
            assert (call(x) == layer.forward(x)).all()
        assert seen == [3, 3, 3]

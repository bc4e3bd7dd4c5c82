"""Every op of the table: `vmap` gives what a loop gives, forward mode what reverse mode gives."""

from __future__ import annotations

import warnings

import numpy as np
import pytest

import rushlight
from rushlight.func import fallback_counts, jvp, vjp, vmap
from rushlight.ops._table import deferred as _deferred
from rushlight.ops._table.op import TABLE
from rushlight.tensor.tensor import Tensor
from rushlight.testing.ops import _ours, is_differentiable
from rushlight.testing.samples import samples_of
from rushlight.utils._pytree import tree_flatten, tree_unflatten

_deferred.load_all()
# Results whose shape depends on the values.
DYNAMIC = {"_nonzero", "masked_select", "nonzero_static", "unique_consecutive", "argwhere"}
# No batching rule: one call for each example.
LOOPING = {
    "_ctc_alignment", "_ctc_loss", "_embedding_bag", "_embedding_bag_backward",
    "_embedding_bag_weights_backward", "_lobpcg",
    "_max_unpool", "_recursive_filter", "_transducer_loss", "_varying_feedback", "bincount",
    "histc", "index_reduce",
}  # fmt: skip
# Read values to choose what to do, as PyTorch's do under vmap.
# Wrapped tensors never come to these: they have no storage, and recurrent layers run step by step.
PLAIN = {"_as_strided", "_recurrence"}
# Nor to these: inside of transforms, the functions that call them compute by other ops.
PLAIN |= {"_block_diag", "_multi_margin", "_multilabel_margin", "_segments"}
# Numbers of their own for each example.
RANDOM = {"binomial", "pca_lowrank", "poisson", "svd_lowrank"}
# Write to their arguments, which have to be batched, as PyTorch says too.
WRITING = {"_batch_norm_with_update"}
READING = {"histogram", "histogramdd", "isin", "allclose", "equal", "lobpcg"}


def _sampled():
    return [op for op in TABLE.values() if samples_of(op)]


def _parts(args, kwargs):
    leaves, spec = tree_flatten((tuple(args), dict(kwargs)))
    places = [i for i, v in enumerate(leaves) if isinstance(v, Tensor)]
    return leaves, spec, places


def _call(op, leaves, spec, places):
    def call(*tensors):
        given = list(leaves)
        for place, tensor in zip(places, tensors, strict=True):
            given[place] = tensor
        args, kwargs = tree_unflatten(given, spec)
        found = tree_flatten(_ours(op)(*args, **kwargs))[0]
        return tuple(value for value in found if isinstance(value, Tensor))

    return call


def _close(found, expected):
    np.testing.assert_allclose(found.numpy(), expected.numpy(), rtol=1e-7, atol=1e-9)


def _examples(tensor):
    """Two examples: the sample, and one whose elements lie a little apart, or in another order."""
    if tensor.is_floating_point():
        return rushlight.stack([tensor, tensor * 0.97])
    return rushlight.stack([tensor, tensor])


@pytest.mark.parametrize(
    "op",
    [o for o in _sampled() if o.name not in DYNAMIC | RANDOM | READING | WRITING | PLAIN],
    ids=lambda o: o.name,
)
def test_vmap_gives_what_a_loop_gives(op):
    """All tensors batched, and each alone; no op loops that has no leave to."""
    fallback_counts(reset=True)
    for args, kwargs in samples_of(op):
        leaves, spec, places = _parts(args, kwargs)
        if not places or not _call(op, leaves, spec, places)(*[leaves[p] for p in places]):
            continue
        groups = {tuple(places), *((p,) for p in places)}
        for group in sorted(groups):
            call = _call(op, leaves, spec, group)
            batch = [_examples(leaves[p]) for p in group]
            with warnings.catch_warnings():
                warnings.filterwarnings("ignore", "There is a performance drop")
                found = vmap(call)(*batch)
            rows = [call(*[b[i].clone() for b in batch]) for i in range(2)]
            for result, *expected in zip(found, *rows, strict=True):
                _close(result, rushlight.stack(expected))
    looped = set(fallback_counts())
    assert looped <= LOOPING, f"{looped - LOOPING} ran once for each example"


def _differentiable():
    return [op for op in _sampled() if is_differentiable(op)]


def _floats(values):
    return tuple(v for v in values if v.is_floating_point() or v.is_complex())


def _random_like(tensor, seed):
    draws = np.random.default_rng(seed)
    values = draws.standard_normal(tuple(tensor.shape))
    if tensor.is_complex():
        values = values + 1j * draws.standard_normal(tuple(tensor.shape))
    return rushlight.tensor(values).to(tensor.dtype)


def _inner(a, b):
    return float(np.real(np.vdot(a.detach().numpy(), b.detach().numpy())))


# The derivative of the derivative is not available (nor in PyTorch).
ONCE = {"_embedding_bag", "_lobpcg", "lobpcg"} | RANDOM


@pytest.mark.parametrize(
    "op", [o for o in _differentiable() if o.name not in ONCE | PLAIN], ids=lambda o: o.name
)
def test_forward_mode_agrees_with_reverse_mode(op):
    """``<v, J t> = <J^T v, t>`` for random directions."""
    for number, (args, kwargs) in enumerate(samples_of(op)):
        leaves, spec, places = _parts(args, kwargs)
        places = [p for p in places if leaves[p].is_floating_point() or leaves[p].is_complex()]
        if not places or any(not leaves[p].numel() for p in places):
            continue
        call = _call(op, leaves, spec, places)
        primals = [leaves[p].clone() for p in places]
        out, pull = vjp(lambda *t, call=call: _floats(call(*t)), *primals)
        if not out:
            continue
        cotangents = tuple(_random_like(o, number) for o in out)
        moves = tuple(_random_like(p, 100 + k) for k, p in enumerate(primals))
        try:
            gradients = pull(cotangents)
        except (NotImplementedError, RuntimeError) as error:
            assert "derivative" in str(error) or "not differentiable" in str(error)
            continue  # reverse mode has none either
        values, tangents = jvp(lambda *t, call=call: _floats(call(*t)), tuple(primals), moves)
        for value, expected in zip(values, out, strict=True):
            _close(value, expected)
        left = sum(_inner(v, t) for v, t in zip(cotangents, tangents, strict=True))
        right = sum(_inner(g, t) for g, t in zip(gradients, moves, strict=True))
        scale = max(1.0, abs(left), *(float(g.abs().sum()) for g in gradients))
        assert abs(left - right) <= 1e-7 * scale, f"sample {number}: {left} and {right}"

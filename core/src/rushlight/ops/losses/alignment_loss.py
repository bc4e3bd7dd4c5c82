"""Connectionist temporal classification. (Graves et al., 2006.)"""

from __future__ import annotations

from rushlight.autograd.mode import mode
from rushlight.dtypes import FLOAT
from rushlight.errors import shape_text
from rushlight.kernels.losses import alignment as kernels
from rushlight.machine import np
from rushlight.machine.arrays import cast
from rushlight.ops._calls.direct import tensor_of, unrecorded
from rushlight.ops._table.op import op
from rushlight.ops.creation.tensors import beside
from rushlight.ops.elementwise.comparison import where
from rushlight.ops.losses.alignment_gradients import derivative
from rushlight.tensor.overriding import overridable
from rushlight.tensor.tensor import Tensor


@op(
    method=False,
    tested_by="tests/nn/test_functions_agree.py",
    samples=lambda make: [],
    node="CtcLoss",
    autocast="float32",
)
def _ctc_loss(log_probs: Tensor, labels, input_lengths, target_lengths, blank):
    """Losses (N,) of (T, N, C), and their derivative (T, N, C) as PyTorch defines it: that of the
    scores whose log-softmax `log_probs` is. `labels` (N, S) or all of them one after the other."""
    wide = log_probs.astype(np.float64)
    labels = _padded_labels(labels, target_lengths, blank, log_probs.shape[2])
    losses, derivative = kernels.ctc(wide, labels, input_lengths, target_lengths, blank)
    return losses.astype(log_probs.dtype), derivative.astype(log_probs.dtype)


def _ctc_gradient(
    grad, log_probs, labels, input_lengths, target_lengths, blank, out1
):  # fmt: skip
    out1 = out1.detach()
    # an impossible alignment has no derivative: a gradient of zero (zero_infinity) ignores it
    grad = grad.reshape(1, -1, 1)
    if not mode.recording or not out1.numel():
        return where(grad == 0, 0.0, grad * out1)
    labels = _padded_labels(labels, target_lengths, blank, log_probs.shape[2])
    found, possible = derivative(log_probs, labels, input_lengths, target_lengths, blank)
    constant = where(grad == 0, 0.0, grad.detach() * out1)
    return where(possible, grad * found.to(grad._dtype), constant)


_reference = _ctc_loss.op.cpu_kernel


def _ctc_kernel(log_probs, *labelled):
    found = kernels.ctc_compiled(log_probs, *labelled, True)
    return _reference(log_probs, *labelled) if found is None else found


_ctc_loss.cpu(_ctc_kernel)
_ctc_loss.gradient(log_probs=_ctc_gradient)


def _lengths(name, value, count, most):
    """Lengths as an array of one int64 a sample, with the host, which plans by them."""
    found = value.cpu()._array if isinstance(value, Tensor) else np.asarray(value)
    if found.dtype.kind not in "iu":
        raise RuntimeError(f"ctc_loss: {name} must be integral, got {found.dtype}")
    found = np.ascontiguousarray(found.reshape(-1), np.int64)
    if len(found) != count:
        raise RuntimeError(
            f"ctc_loss: expected {name} to have {count} values, one per sample, got {len(found)}"
        )
    values = found.tolist()
    if values and (min(values) < 0 or max(values) > most):
        raise RuntimeError(
            f"ctc_loss: Expected {name} to have values from 0 to {most}, got {values}"
        )
    return found


def _padded_labels(array, lengths, blank, classes):
    """Labels (N, S), blanks past their lengths; concatenated ones are split by these."""
    out = np.full((len(lengths), int(lengths.max(initial=0))), blank, np.int64)
    at = 0
    for n, length in enumerate(lengths.tolist()):
        out[n, :length] = array[n, :length] if array.ndim == 2 else array[at : at + length]
        at += length
    if out.size and not 0 <= out.min() <= out.max() < classes:
        raise RuntimeError(f"ctc_loss: targets must be class numbers from 0 to {classes - 1}")
    return out


def _losses(log_probs, *labelled):
    """Losses alone where no derivative will be asked for, else those of the op."""
    if unrecorded(log_probs):
        found = kernels.ctc_compiled(log_probs._array, *labelled, False)
        if found is not None:
            return tensor_of(found)
    return _ctc_loss(log_probs, *labelled)[0]


@overridable
def ctc_loss(
    log_probs,
    targets,
    input_lengths,
    target_lengths,
    blank=0,
    reduction="mean",
    zero_infinity=False,
):
    """Minus the log-probability of label sequences, summed over all alignments.

    `log_probs` is (T, N, C) or (T, C), after log_softmax; `targets` (N, S), or all labels of the
    batch one after the other; lengths are given per sample. The mean divides each loss by its
    target length first. `zero_infinity` replaces the infinite losses of targets that are too long.
    """
    if reduction not in ("none", "mean", "sum"):
        raise ValueError(f"{reduction} is not a valid value for reduction")
    if log_probs._dtype.category != FLOAT:
        raise RuntimeError(f'"ctc_loss" not implemented for {log_probs._dtype}')
    if targets._dtype.category > 1:
        raise RuntimeError(f"ctc_loss: expected integral targets, got {targets._dtype}")
    if log_probs.dim() not in (2, 3):
        raise RuntimeError(
            "ctc_loss: expected log_probs (T, N, C) or (T, C), got shape "
            f"{shape_text(log_probs.shape)}"
        )
    single = log_probs.dim() == 2
    if single:
        log_probs = log_probs.unsqueeze(1)
        targets = targets.unsqueeze(0) if targets.dim() == 1 else targets
    steps, batch, classes = log_probs.shape
    if not 0 <= blank < classes:
        raise RuntimeError(f"ctc_loss: blank must be in label range (0 to {classes - 1})")
    most = targets.shape[1] if targets.dim() == 2 else targets.numel()
    inputs = _lengths("input_lengths", input_lengths, batch, steps)
    lengths = _lengths("target_lengths", target_lengths, batch, most)
    if targets.dim() == 2 and targets.shape[0] != batch:
        raise RuntimeError(
            f"ctc_loss: expected targets (N, S) with N = {batch}, got {shape_text(targets.shape)}"
        )
    if targets.dim() == 1 and int(lengths.sum()) > most:
        raise RuntimeError(
            f"ctc_loss: target_lengths sum to {int(lengths.sum())}, but targets has {most} labels"
        )
    losses = _losses(log_probs, targets.cpu()._array, inputs, lengths, blank)
    if zero_infinity:
        losses = where(losses == float("inf"), 0.0, losses)
    if reduction == "mean":
        divisors = beside(losses, cast(np.maximum(lengths, 1), losses._dtype.code))
        return (losses / divisors).mean()
    if reduction == "sum":
        return losses.sum()
    return losses.squeeze(0) if single else losses

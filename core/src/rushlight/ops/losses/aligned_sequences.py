"""Losses and best paths of sequences that are aligned with labels, beside ``ctc_loss``:
:mod:`rushlight.signal` exports them."""

from __future__ import annotations

from rushlight import dtypes
from rushlight.dtypes import FLOAT
from rushlight.kernels.losses.transducer import transducer_compiled
from rushlight.machine import np
from rushlight.ops._calls.direct import tensor_of, unrecorded
from rushlight.ops.losses.transducer_loss import (
    REDUCTIONS,
    _ctc_alignment,
    _transducer_loss,
)
from rushlight.tensor.tensor import Tensor

__all__ = ["ctc_alignment", "transducer_loss"]


def _whole_numbers(name, op_name, value, shape, most):
    """Labels or lengths as int64 with the host; RuntimeError unless they fit."""
    if value.dtype not in (dtypes.int32, dtypes.int64):
        raise RuntimeError(f"{op_name}: {name} must be int32 or int64 type, got {value.dtype}")
    if tuple(value.shape) != shape:
        raise RuntimeError(
            f"{op_name}: expected {name} of shape {list(shape)}, got {list(value.shape)}"
        )
    found = np.ascontiguousarray(value.detach().cpu()._array, np.int64)
    if found.size and not 0 <= found.min() <= found.max() <= most:
        raise RuntimeError(
            f"{op_name}: {name} must be from 0 to {most}, got {found.min()} to {found.max()}"
        )
    return found


def _costs(logits, labelled, options):
    """Costs alone where no derivative will be asked for, else those of the op."""
    if unrecorded(logits):
        found = transducer_compiled(logits._array, *labelled, *options, False)
        if found is not None:
            return tensor_of(found.astype(logits._array.dtype, copy=False))
    return _transducer_loss(logits, *labelled, options)[0]


def transducer_loss(
    logits: Tensor,
    targets: Tensor,
    logit_lengths: Tensor,
    target_lengths: Tensor,
    blank=-1,
    clamp=-1.0,
    reduction="mean",
    fused_log_softmax=True,
):
    """Minus the log-probability of label sequences by a transducer, over all alignments.

    Args:
        logits: (N, T, U + 1, C), scores of the classes after t steps and u labels; their
            log-softmax is taken here, unless `fused_log_softmax` is False.
        targets: (N, U) labels, int32 or int64.
        logit_lengths: (N,) steps of each sample.
        target_lengths: (N,) labels of each sample.
        blank: class of the blank; negative ones count from the end.
        clamp: bound of the derivative of a sample's cost; none where it is not positive.
        reduction: ``"none"``, ``"mean"`` or ``"sum"``.

    Returns:
        the costs (N,), their mean or their sum.
    """
    if reduction not in REDUCTIONS:
        raise ValueError(
            f"transducer_loss: reduction must be one of {tuple(REDUCTIONS)}, got {reduction!r}"
        )
    if logits._dtype.category != FLOAT or logits.dim() != 4:
        raise RuntimeError(
            "transducer_loss: expected floating-point logits (N, T, U + 1, C), got "
            f"{logits.dtype} of shape {list(logits.shape)}"
        )
    samples, steps, nodes, classes = logits.shape
    if not -classes <= blank < classes:
        raise RuntimeError(
            f"transducer_loss: blank must be within [0, num classes), got {blank} of {classes}"
        )
    name = "transducer_loss"
    labels = _whole_numbers("targets", name, targets, (samples, nodes - 1), classes - 1)
    inputs = _whole_numbers("logit_lengths", name, logit_lengths, (samples,), steps)
    lengths = _whole_numbers("target_lengths", name, target_lengths, (samples,), nodes - 1)
    if (inputs < 1).any():
        raise RuntimeError("transducer_loss: logit_lengths must be at least 1")
    options = blank % classes, float(clamp), bool(fused_log_softmax)
    return REDUCTIONS[reduction](_costs(logits, (labels, inputs, lengths), options))


def ctc_alignment(
    log_probs: Tensor, targets: Tensor, input_lengths: Tensor, target_lengths: Tensor, blank=0
):
    """The most probable alignment of labels with steps, under the rules of CTC.

    `log_probs` is (N, T, C), `targets` (N, S), the lengths (N,). Returns the class that each step
    emits, int64 (N, T), blanks past the length of a sample.
    """
    name = "ctc_alignment"
    if log_probs._dtype.category != FLOAT or log_probs.dim() != 3:
        raise RuntimeError(
            f"{name}: expected floating-point log_probs (N, T, C), got {log_probs.dtype} of shape "
            f"{list(log_probs.shape)}"
        )
    samples, steps, classes = log_probs.shape
    if not 0 <= blank < classes:
        raise RuntimeError(f"{name}: blank must be within [0, num classes), got {blank}")
    shape = (samples, targets.shape[-1])
    labels = _whole_numbers("targets", name, targets, shape, classes - 1)
    inputs = _whole_numbers("input_lengths", name, input_lengths, (samples,), steps)
    lengths = _whole_numbers("target_lengths", name, target_lengths, (samples,), shape[1])
    for n, (most, count) in enumerate(zip(inputs.tolist(), lengths.tolist(), strict=True)):
        repeats = int((labels[n, 1:count] == labels[n, : max(count - 1, 0)]).sum())
        if count + repeats > most:
            raise RuntimeError(
                f"{name}: targets length is too long for CTC. Found log_probs length: {most}, "
                f"targets length: {count}, and number of repeats: {repeats}"
            )
    return _ctc_alignment(log_probs, labels, inputs, lengths, blank)

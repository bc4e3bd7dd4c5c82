"""The loss of transducers (Graves, 2012), and the best alignment of labels with steps."""

from __future__ import annotations

import importlib

from rushlight import dtypes
from rushlight.autograd.mode import mode
from rushlight.kernels.losses import best_alignment as alignment
from rushlight.kernels.losses import transducer as kernels
from rushlight.ops._table.op import op
from rushlight.ops.losses.transducer_gradients import derivative
from rushlight.tensor.tensor import Tensor

REDUCTIONS = {"none": lambda costs: costs, "mean": Tensor.mean, "sum": Tensor.sum}


@op(
    method=False,
    tested_by="tests/signal/test_alignment.py",
    samples=lambda make: [],
    autocast="float32",
)
def _transducer_loss(logits: Tensor, labels, input_lengths, target_lengths, options):
    """Costs (N,) of logits (N, T, U + 1, C), and their derivative of that shape; options are the
    blank, the bound of the derivative, and whether a log-softmax is to be taken."""
    found = kernels.transducer(logits, labels, input_lengths, target_lengths, *options)
    return tuple([each.astype(logits.dtype) for each in found])


_reference = _transducer_loss.op.body


def _kernel(logits, labels, input_lengths, target_lengths, options):
    labelled = labels, input_lengths, target_lengths
    found = kernels.transducer_compiled(logits, *labelled, *options, True)
    if found is None:
        return _reference(logits, *labelled, options)
    return tuple([each.astype(logits.dtype, copy=False) for each in found])


def _on_gpu():
    return importlib.import_module("rushlight.kernels.losses.cuda_alignment")


def _gradient(grad, logits, labels, input_lengths, target_lengths, options, out1):
    if mode.recording:
        labelled = labels, input_lengths, target_lengths
        out1 = derivative(logits, *labelled, *options).to(grad._dtype)
    return grad.reshape(-1, 1, 1, 1) * out1


_transducer_loss.cpu(_kernel)
_transducer_loss.cuda(lambda *labelled: _on_gpu().transducer(*labelled[:-1], *labelled[-1]))
_transducer_loss.gradient(logits=_gradient)


@op(
    method=False,
    tested_by="tests/signal/test_alignment.py",
    samples=lambda make: [],
    differentiable=False,
    meta=lambda scores, *labelled: (scores.shape[:2], dtypes.int64),
)
def _ctc_alignment(scores: Tensor, labels, input_lengths, target_lengths, blank):
    """The class of each step (N, T) on the best path of scores (N, T, C)."""
    return alignment.best_paths_reference(scores, labels, input_lengths, target_lengths, blank)


_ctc_alignment.cpu(alignment.best_paths)
_ctc_alignment.cuda(lambda *labelled: _on_gpu().best_paths(*labelled))

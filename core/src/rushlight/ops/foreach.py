"""Optimizer steps over lists of tensors, in place, one kernel launch for all of them."""

from __future__ import annotations

from rushlight.kernels import foreach as kernels
from rushlight.tensor.storage import storage_of


def _arrays(tensors):
    return None if tensors is None else [t._array for t in tensors]


def _written(*lists):
    for tensors in lists:
        for tensor in tensors or ():
            storage = tensor._storage
            if storage is None:
                storage = storage_of(tensor)
            storage.version += 1


def sgd_(
    params, grads, buffers, *, lr, momentum, dampening, weight_decay, nesterov, maximize, first_step
):
    """One step of stochastic gradient descent on lists of parameters; see ``optim.SGD``."""
    kernels.sgd(
        _arrays(params),
        _arrays(grads),
        _arrays(buffers),
        lr,
        momentum,
        dampening,
        weight_decay,
        nesterov,
        maximize,
        first_step,
    )
    _written(params, buffers)


def adam_(
    params,
    grads,
    averages,
    squares,
    largest,
    steps,
    *,
    lr,
    betas,
    eps,
    weight_decay,
    maximize,
    decoupled,
):
    """One step of Adam or AdamW on lists of parameters; see ``optim.Adam``."""
    kernels.adam(
        _arrays(params),
        _arrays(grads),
        _arrays(averages),
        _arrays(squares),
        _arrays(largest),
        steps,
        lr,
        betas[0],
        betas[1],
        eps,
        weight_decay,
        maximize,
        decoupled,
    )
    _written(params, averages, squares, largest)

"""Optimizer steps over lists of tensors, in place, one kernel launch for all of them."""

from __future__ import annotations

import functools
import importlib

from rushlight.dtypes import COMPLEX, FLOAT, float32
from rushlight.kernels.optimizers import foreach as kernels
from rushlight.machine import np
from rushlight.machine.arrays import BY_ARRAY_DTYPE
from rushlight.machine.meta_array import MetaArray
from rushlight.tensor import construction as make
from rushlight.tensor.dispatch import is_dispatching
from rushlight.tensor.storage import storage_of
from rushlight.tensor.tensor import EXACT, make_tensor


def _arrays(tensors):
    """The arrays of tensors; complex ones as arrays of pairs of reals."""
    if tensors is None:
        return None
    if tensors and tensors[0]._dtype.category != COMPLEX:
        found = make.arrays(tensors)
        if found is not NotImplemented:
            return found
    return [t._array if t._dtype.category != COMPLEX else _paired(t._array) for t in tensors]


def _paired(array):
    return array[..., None].view(array.real.dtype)


class _WithoutMemory:
    """The kernels of the meta device: what they would write to has no elements."""

    def __getattr__(self, name):
        return self._nothing

    @staticmethod
    def _nothing(*_lists, **_settings):
        return None


_on_meta = _WithoutMemory()


def _kernels_for(params):
    """The kernels for the arrays of tensors: the CPU's, or those of the device that they are on."""
    if not params or type(params[0]._array) is np.ndarray:
        return kernels
    return _elsewhere(params, "rushlight.kernels.optimizers.foreach")


def _elsewhere(params, name):
    """The kernels of a module for tensors of another device than the CPU."""
    return _on_meta if type(params[0]._array) is MetaArray else _on_device(name)


@functools.cache
def _on_device(name):
    return importlib.import_module("rushlight.ops._table.cuda").Kernels(
        importlib.import_module(name)
    )


def _written(*lists):
    if make.written(*lists) is None:
        return
    for tensors in lists:
        if tensors is not None:
            for tensor in tensors:
                storage = tensor._storage
                if storage is None:
                    storage = storage_of(tensor)
                storage.version += 1


def on_one_gpu(tensors) -> bool:
    """Whether these are plain floating-point tensors of one GPU, whose kernels take lists."""
    return all(
        type(t) in EXACT
        and t._device.type == "cuda"
        and t._device is tensors[0]._device
        and t._dtype.category == FLOAT
        for t in tensors
    )


def total_norm(tensors, norm_type):
    """The norm of all elements of tensors of one GPU, a scalar there: two launches."""
    found = _on_device("rushlight.kernels.optimizers.foreach").total_norm(
        _arrays(tensors), norm_type
    )
    return make_tensor(found, BY_ARRAY_DTYPE[found.dtype])


def clip_(tensors, norm, limit):
    """Scale tensors of one GPU in place by ``limit / (norm + 1e-6)`` where that is below 1."""
    importlib.import_module("rushlight.kernels.optimizers.cuda_foreach").clip_(
        _arrays(tensors), norm._array, limit
    )
    _written(tensors)


def count_steps(states):
    """Add one to the ``step`` of every state; the new numbers as floats."""
    steps = make.counted(states, "step", float32)
    if steps is not NotImplemented:
        return steps
    steps, counted = [], []
    for state in states:
        count = state["step"]._array
        if type(count) is not np.ndarray:  # on the GPU, where a captured step counts too
            if is_dispatching(state["step"]):
                count = state["step"].add_(1).item()
            elif state["step"].is_cuda:
                counted.append(state["step"])
            else:
                state["step"].add_(1)
            steps.append(count)
            continue
        count[()] += 1
        steps.append(float(count))
    if counted:
        _numbers_on_device().count([step._array for step in counted])
        _written(counted)
    return steps


def _numbers_on_device():
    return importlib.import_module("rushlight.kernels.optimizers.cuda_step_numbers")


def are_counted_there(states):
    """Whether the ``step`` of every state is on a GPU."""
    return all(state["step"].is_cuda for state in states)


def count_and_number(name, states, scalars, settings):
    """Add one to steps that are on a GPU and evaluate there what depends on them, one launch.

    `scalars` names the entries of a state that the optimizer `name` keeps for that.
    """
    steps = [state["step"] for state in states]
    held = [[state[entry] for state in states] for entry in scalars]
    arrays = [_arrays(tensors) for tensors in held]
    found = _numbers_on_device().numbers_of(name, _arrays(steps), arrays, settings)
    _written(steps, *held)
    return found


def sgd_(
    params, grads, buffers, *, lr, momentum, dampening, weight_decay, nesterov, maximize,
    first_step, **scaling,
):  # fmt: skip
    """One step of stochastic gradient descent on lists of parameters; see ``optim.SGD``. On a GPU,
    `scaling` may hold ``grad_scale`` and ``found_inf``, scalars there."""
    _kernels_for(params).sgd(
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
        **scaling,
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
    **scaling,
):
    """One step of Adam or AdamW on lists of parameters; see ``optim.Adam``."""
    _kernels_for(params).adam(
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
        **scaling,
    )
    _written(params, averages, squares, largest)


def scalars_of(states, name):
    """The arrays of a state entry that is one number for a parameter; writing into them is fine."""
    return [state[name]._array for state in states]


def _adaptive(params):
    if params and type(params[0]._array) is not np.ndarray:
        return _elsewhere(params, "rushlight.kernels.optimizers.adaptive_steps")
    # loaded at the first step of one of these optimizers
    from rushlight.kernels.optimizers import adaptive_steps

    return adaptive_steps


def rmsprop_(
    params, grads, squares, means, momenta, *, lr, alpha, eps, weight_decay, momentum, maximize
):
    """One step of RMSprop on lists of parameters; see ``optim.RMSprop``."""
    lists = map(_arrays, (params, grads, squares, means, momenta))
    _adaptive(params).rmsprop(*lists, lr, alpha, eps, weight_decay, momentum, maximize)
    _written(params, squares, means, momenta)


def adagrad_(params, grads, sums, *, rates, eps, weight_decay, maximize):
    """One step of Adagrad on lists of parameters; see ``optim.Adagrad``."""
    lists = map(_arrays, (params, grads, sums))
    _adaptive(params).adagrad(*lists, rates, eps, weight_decay, maximize)
    _written(params, sums)


def adadelta_(params, grads, squares, deltas, *, lr, rho, eps, weight_decay, maximize):
    """One step of Adadelta on lists of parameters; see ``optim.Adadelta``."""
    lists = map(_arrays, (params, grads, squares, deltas))
    _adaptive(params).adadelta(*lists, lr, rho, eps, weight_decay, maximize)
    _written(params, squares, deltas)


def adamax_(params, grads, means, largest, *, rates, betas, eps, weight_decay, maximize):
    """One step of Adamax on lists of parameters; see ``optim.Adamax``."""
    lists = map(_arrays, (params, grads, means, largest))
    _adaptive(params).adamax(*lists, rates, *betas, eps, weight_decay, maximize)
    _written(params, means, largest)


def nadam_(
    params, grads, means, squares, *, numbers, lr, betas, eps, weight_decay, maximize, decoupled
):
    """One step of NAdam on lists of parameters; see ``optim.NAdam``."""
    lists = map(_arrays, (params, grads, means, squares))
    _adaptive(params).nadam(*lists, numbers, lr, *betas, eps, weight_decay, maximize, decoupled)
    _written(params, means, squares)


def radam_(
    params, grads, means, squares, *, numbers, lr, betas, eps, weight_decay, maximize, decoupled
):
    """One step of RAdam on lists of parameters; see ``optim.RAdam``."""
    lists = map(_arrays, (params, grads, means, squares))
    _adaptive(params).radam(*lists, numbers, lr, *betas, eps, weight_decay, maximize, decoupled)
    _written(params, means, squares)


def rprop_(params, grads, before, sizes, *, etas, step_sizes, maximize):
    """One step of resilient backpropagation on lists of parameters; see ``optim.Rprop``."""
    lists = map(_arrays, (params, grads, before, sizes))
    _adaptive(params).rprop(*lists, etas, step_sizes, maximize)
    _written(params, before, sizes)


def asgd_(params, grads, averages, *, numbers, weight_decay, maximize):
    """One step of averaged descent on lists of parameters; see ``optim.ASGD``."""
    lists = map(_arrays, (params, grads, averages))
    _adaptive(params).asgd(*lists, numbers, weight_decay, maximize)
    _written(params, averages)

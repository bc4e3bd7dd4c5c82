"""Steps of a graph that have turned out to be one run of one kernel, or a view.

Guards fix the layouts of everything that a graph computes with, so that a step does the same from
its second call on. What a step ran at the first call is recorded; where that was one kernel, which
read the step's tensors and what the step holds, and wrote the result, the step becomes a call of
machine code from arrays to a new array (:mod:`rushlight.kernels.launch.placed`), without the checks
that need not be made again. The same run on the same arrays has to give the same bits before it is
believed. Elementwise steps become calls of their kernels, and views of what the graph has computed
are made from that array at once, whatever steps led to them.
"""

from __future__ import annotations

from typing import NamedTuple

from rushlight.capture.fusion import Chain, elementwise_op
from rushlight.capture.layers import Convolution, FrozenLinear, Linear
from rushlight.dtypes import float32
from rushlight.kernels.launch.placed import placed
from rushlight.machine import np, threads
from rushlight.machine.native_functions import is_available
from rushlight.nn import functional as F
from rushlight.ops._calls.direct import tensor_of
from rushlight.ops._table.elementwise import Call
from rushlight.tensor.tensor import EXACT
from rushlight.utils import _pytree as pytree

# Steps that do nothing behind their kernel that depends on what it computed, and draw nothing.
_LAYERS = (Convolution, FrozenLinear, Linear)
_FUNCTIONS = frozenset([
    F.linear, F.max_pool1d, F.max_pool2d, F.max_pool3d, F.avg_pool1d, F.avg_pool2d, F.avg_pool3d,
    F.adaptive_avg_pool1d, F.adaptive_avg_pool2d, F.adaptive_avg_pool3d, F.layer_norm,
])  # fmt: skip


class Settled:
    """``call(*arrays)`` gives the step's result as an array, or NotImplemented; `slow` always does.
    `inputs` are the nodes whose arrays are passed, `kept` what has to live as long."""

    def __init__(self, call, kept, node, args, kwargs):
        self.call, self.kept, self.step = call, kept, node.target
        values, self.spec = pytree.tree_flatten((args, kwargs))
        nodes = pytree.tree_leaves((tuple(node.args), dict(node.kwargs)))
        self.values = [None if type(v) in EXACT else v for v in values]
        self.tensors = [i for i, v in enumerate(values) if type(v) in EXACT]
        self.inputs = [nodes[i] for i in self.tensors]

    def slow(self, *arrays):
        """The step itself."""
        values = list(self.values)
        for i, array in zip(self.tensors, arrays, strict=True):
            values[i] = tensor_of(array)
        args, kwargs = pytree.tree_unflatten(values, self.spec)
        return self.step(*args, **kwargs)._array


class View(NamedTuple):
    """A view of the array of the node `root`, row-major float32."""

    root: object
    shape: tuple
    offset: int
    strides: tuple

    @property
    def inputs(self):
        """The nodes whose arrays are read."""
        return [self.root]


class Memory(NamedTuple):
    """Where the array of the node `root` is, which every result of some step is a view of."""

    root: object
    address: int
    size: int


class Settling:
    """What is found out about the steps of a graph while they run for the first time.

    `found`: node -> :class:`Settled` or :class:`View`; `views`: nodes whose results are all views.
    """

    def __init__(self):
        self.found, self.views, self.memory = {}, set(), {}

    def do(self, node, *args, **kwargs):
        """Do a step, and note what it turns out to be."""
        result = node.target(*args, **kwargs)
        step = self._view(node, (args, kwargs), result) or settled(node, args, kwargs, result)
        if step is not None:
            self.found[node] = step
        return result

    def _view(self, node, given, result):
        """Note whose memory a result is; a :class:`View` where it is a part of another step's."""
        tensors = _tensors(result)
        if not tensors or not all(map(_is_plain, tensors)):
            return None
        for each in node.all_input_nodes:
            memory = self.memory.get(each)
            if memory is not None and all(_is_in(tensor._array, memory) for tensor in tensors):
                self.memory[node] = memory
                self.views.add(node)
                return self._of_memory(node, result, memory)
        array = tensors[0]._array
        if result is tensors[0] and _is_dense(array) and array.size:
            if not any(_meets(tensor._array, array) for tensor in _tensors(given)):
                self.memory[node] = Memory(node, array.ctypes.data, array.nbytes)
        return None

    @staticmethod
    def _of_memory(node, result, memory):
        if type(result) not in EXACT or any(user.op == "output" for user in node.users):
            return None  # what the graph gives is a view as the program made it
        array = result._array
        return View(memory.root, array.shape, array.ctypes.data - memory.address, array.strides)


def _tensors(values):
    return [leaf for leaf in pytree.tree_leaves(values) if type(leaf) in EXACT]


def _meets(given, array):
    """Whether what a step was given and an array may have bytes in common."""
    return type(given) is not np.ndarray or np.may_share_memory(given, array)


def _is_in(array, memory):
    """Whether an array is a part of some memory: then it is a view, since that is in use."""
    first = array.ctypes.data - memory.address
    return 0 <= first < memory.size and array.size > 0 and min(array.strides, default=0) >= 0


def settled(node, args, kwargs, result):
    """A :class:`Settled` for a step that was called with these values before, or None."""
    tensors = _tensors((args, kwargs))
    if not is_available() or type(result) not in EXACT or not tensors:
        return None
    if not all(map(_is_plain, (result, *tensors))) or not _is_dense(result._array):
        return None
    arrays = [tensor._array for tensor in tensors]
    found = _elementwise(node, args, kwargs, arrays) or _placed(node.target, args, kwargs, arrays)
    if found is None or not _gives(found[0], arrays, result._array):
        return None
    return Settled(*found, node, args, kwargs)


def _elementwise(node, args, kwargs, arrays):
    """The kernel of an elementwise step of tensors alone, or None."""
    op = node.target.op if type(node.target) is Chain else elementwise_op(node)
    if op is None or type(node.target) is Chain and node.target.over is not None:
        return None
    call = Call(op, op.bind(args, dict(kwargs)))
    given = [None if tensor is None else tensor._array for tensor in call.tensors]
    if len(given) != len(arrays) or any(a is not b for a, b in zip(given, arrays, strict=True)):
        return None
    kernel, numbers = call.kernel()
    if numbers or kernel.short is None:
        return None
    return kernel.short, kernel


def _is_plain(tensor):
    return tensor._dtype is float32 and type(tensor._array) is np.ndarray


def _placed(step, args, kwargs, arrays):
    """The one run of a kernel that a step is, with the arrays of its tensors in it, and what has to
    be kept; or None."""
    if not (isinstance(step, _LAYERS) or step in _FUNCTIONS):
        return None
    with threads.recorded_runs() as runs:
        result = step(*args, **kwargs)
    if runs is None or len(runs) != 1:
        return None
    ((plan, arguments),) = runs
    output, known = result._array, arrays_of_step(step)
    named = [_named(value, output, arrays, known) for value in arguments]
    if any(name is None for name in named):
        return None
    epilogue = getattr(step, "epilogue", None)
    if epilogue is not None and any(value is epilogue.table for value in arguments):
        epilogue = None  # the kernel runs it
    by_elements = plan[1] == output.size  # as products of one row do
    values = [value for (value,) in named]
    found = placed(plan, values, arrays, output, epilogue if by_elements else None)
    if found is None or epilogue is None or by_elements:
        return found
    return _then(found.call, epilogue), found.kept


def _then(call, epilogue):
    """A call, then an epilogue on what it gave."""

    def both(*arrays):
        out = call(*arrays)
        if out is not NotImplemented:
            epilogue.run(out)
        return out

    return both


def _is_dense(array):
    """Whether an array is laid out as new ones are."""
    return array.strides == np.empty(array.shape, array.dtype).strides


def _named(value, output, arrays, known):
    """An argument of a run, in a tuple: the very array among the step's whose memory it is; None
    for memory of which nothing is known."""
    if not isinstance(value, np.ndarray):
        return (value,)
    for array in (output, *arrays, *known):
        if value.ctypes.data == array.ctypes.data and value.nbytes == array.nbytes:
            return (array,)
    return None


def arrays_of_step(step):
    """What a step of weights holds: these, and what it has computed from them."""
    found = []
    for tensor in (getattr(step, "weight", None), getattr(step, "bias", None)):
        if tensor is not None:
            found.append(tensor._array)
    packed = getattr(step, "packed", None)
    if packed and packed.layer.packed is not None:
        found.append(packed.layer.packed)
    if getattr(step, "epilogue", None) is not None:
        found.append(step.epilogue.table)
    return found


def _gives(call, arrays, expected):
    """Whether a call gives an array to the bit."""
    found = call(*arrays)
    return found is not NotImplemented and found.tobytes() == expected.tobytes()

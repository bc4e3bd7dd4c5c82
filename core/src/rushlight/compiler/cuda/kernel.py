"""Kernels of traced programs on a GPU, called with device arrays as the CPU's are with NumPy's.

A kernel is compiled at its first call, per form (`cuda_text`); texts are shared by all programs
that are equal. Zero-dimensional arrays of the host are passed as numbers.
"""

from __future__ import annotations

import math

from rushlight.compiler.cuda.device_array import DeviceArray
from rushlight.compiler.cuda.text import FORMS, MAX_DIMS, OPTIONS, THREADS, Printer, source
from rushlight.compiler.graph import Program, cast, load, param, substitute, topological
from rushlight.compiler.layout import ordered_strides, output_order
from rushlight.compiler.storage import COMPUTE, NUMPY, is_float
from rushlight.machine import np
from rushlight.machine.cuda import runtime
from rushlight.machine.cuda.strides import broadcast_strides, contiguous_strides

_new = object.__new__
counts = {"generated": 0}
_loaded: dict = {}  # (runtime's name, device, kernel's name) -> what the runtime launches
_PARAM = {"i64": np.int64, "f64": np.float64}
LAYOUTS = 512


class DeviceKernel:
    """One program for GPUs: ``kernel(*arrays, *numbers)`` and ``kernel.into(outs, ...)``."""

    fast = fast_into = short = short_into = None

    def __init__(self, program: Program):
        self.program = program
        self.inputs = tuple(NUMPY[d] for _, d in program.inputs)
        self.outputs = tuple(NUMPY[d] for _, d in program.outputs)
        self.kinds = tuple(kind for _, kind in program.params)
        self.printer = Printer(program)
        self._packs = tuple(_PARAM[k] for k in self.kinds)
        self._count = len(self.inputs)
        self._codes: dict = {}
        width = self.printer.width()
        self._sizes = [width * d.itemsize for d in (*self.outputs, *self.inputs)]
        self._plans: dict = {}
        self._numbered: dict = {}

    # ---- code
    def code(self, form, device):
        """The compiled kernel of a form."""
        current = runtime.current()
        key = current.name, device, f"{self.printer.name}_{form}"
        found = _loaded.get(key)
        if found is None:
            load_texts([self.printer], device, FORMS if current.name == "emu" else (form,))
            found = _loaded[key]
        return found

    # ---- calls
    def __call__(self, *args):
        """New outputs for device arrays, then numbers; a tuple when the program has several."""
        count = self._count
        arrays = args[:count]
        for x in arrays:
            if type(x) is not DeviceArray:
                return self._with_numbers(arrays, args[count:])
        if count == 2:
            x, y = arrays
            key = x.shape, x.strides, y.shape, y.strides
        else:
            key = tuple([(x.shape, x.strides) for x in arrays])
        plan = self._plans.get(key)
        if plan is None:
            plan = self._plan(key, arrays)
        device = arrays[0].block.device
        current = runtime.current()
        stream = current.streams.current(device)
        outs, shape, size = [], plan.shape, plan.size
        for dtype, strides in plan.outs:
            out = _new(DeviceArray)
            out.block = block = current.allocate(size * dtype.itemsize, device, stream)
            out.shape, out.strides, out.dtype, out.size = shape, strides, dtype, size
            out.address, out.base, out._writeable = block.address, None, True
            outs.append(out)
        if size:
            self._launch(plan, outs, arrays, args[count:], current, device, stream)
        return outs[0] if len(outs) == 1 else tuple(outs)

    def into(self, outs, *args):
        """Write the outputs into given device arrays of any strides."""
        count = self._count
        arrays, numbers = args[:count], args[count:]
        if any([type(x) is not DeviceArray for x in arrays]):
            kernel, arrays, numbers = self._numbered_call(arrays, numbers)
            kernel.into(outs, *arrays, *numbers)
            return
        if any([out.block is x.block and _overlaps(out, x) for out in outs for x in arrays]):
            made = self(*args)
            for out, result in zip(outs, made if type(made) is tuple else (made,), strict=True):
                out[...] = result
            return
        key = tuple([(x.shape, x.strides) for x in (*outs, *arrays)]), len(outs)
        plan = self._plans.get(key)
        if plan is None:
            plan = self._plan_into(key, outs, arrays)
        if plan.size:
            device = outs[0].block.device
            current = runtime.current()
            stream = current.streams.current(device)
            self._launch(plan, outs, arrays, numbers, current, device, stream)

    def _plan_into(self, key, outs, arrays):
        shape = outs[0].shape
        for x in arrays:
            if np.broadcast_shapes(x.shape, shape) != shape:
                raise ValueError(f"shape {x.shape} does not broadcast to the output's {shape}")
        plan = Plan(shape, (), *_layout(shape, outs, arrays), self.printer.width())
        return self._remember(key, plan)

    def _remember(self, key, plan):
        if len(self._plans) >= LAYOUTS:
            self._plans.clear()
        self._plans[key] = plan
        return plan

    def _plan(self, key, arrays):
        shape = np.broadcast_shapes(*[x.shape for x in arrays])
        order = output_order(shape, [_Flagged(x) for x in arrays])
        outs = [_like_new(shape, dtype, order) for dtype in self.outputs]
        form, words = _layout(shape, outs, arrays)
        found = [(dtype, out.strides) for dtype, out in zip(self.outputs, outs, strict=True)]
        return self._remember(key, Plan(shape, found, form, words, self.printer.width()))

    def _launch(self, plan, outs, arrays, numbers, current, device, stream):
        form = plan.form
        addresses = [x.address for x in outs]
        addresses += [x.address for x in arrays]
        if form == "flat" and plan.width > 1:
            for place, size in zip(addresses, self._sizes, strict=True):
                if place % size:
                    plan, form = self._by_elements(plan), "strided"
                    break
        if numbers:
            addresses += [kind(n) for kind, n in zip(self._packs, numbers, strict=True)]
        code = self._codes.get((form, device, current))
        if code is None:
            code = self._codes[form, device, current] = self.code(form, device)
        first = plan.size if form == "flat" else plan.words
        current.launch(code, plan.grid, plan.block, 0, stream, (first, *addresses))
        counts["generated"] += 1

    def _by_elements(self, plan):
        """The plan for arrays that are laid out alike but not on multiples of 16 bytes."""
        steps = [(d.itemsize,) for d in (*self.outputs, *self.inputs)]
        return Plan(plan.shape, plan.outs, "strided", _words((plan.size,), steps), 1)

    # ---- numbers of the host among the arrays
    def _with_numbers(self, arrays, numbers):
        kernel, arrays, numbers = self._numbered_call(arrays, numbers)
        return kernel(*arrays, *numbers)

    def _numbered_call(self, arrays, numbers):
        """The kernel that takes some of the arrays as numbers, with its arguments."""
        places = tuple(i for i, x in enumerate(arrays) if type(x) is not DeviceArray)
        for i in places:
            if arrays[i].size != 1:
                name = self.program.inputs[i][0]
                raise TypeError(
                    f"argument {name!r} is a host array of shape {arrays[i].shape}; only arrays of "
                    "one element may stand beside device arrays"
                )
        kernel = self._numbered.get(places)
        if kernel is None:
            kernel = self._numbered[places] = DeviceKernel(with_numbers(self.program, places))
        extra = [arrays[i].item() for i in places]
        return kernel, [x for x in arrays if type(x) is DeviceArray], [*numbers, *extra]


def with_numbers(program, places):
    """The program with some inputs replaced by run-time numbers, which follow its own."""
    roots = [e for e, _ in program.outputs]
    params, mapping = list(program.params), {}
    moved = {
        old: new for new, old in enumerate(i for i in range(len(program.inputs)) if i not in places)
    }
    for e in topological(roots):
        if e.op != "load":
            continue
        index, storage = e.value
        if index in moved:
            mapping[e] = load(moved[index], storage)
        else:
            kind = "f64" if is_float(COMPUTE[storage]) else "i64"
            mapping[e] = cast(param(len(program.params) + places.index(index), kind), e.dtype)
    params += [
        (program.inputs[i][0], "f64" if is_float(COMPUTE[program.inputs[i][1]]) else "i64")
        for i in places
    ]
    changed = substitute(roots, mapping)
    inputs = tuple(x for i, x in enumerate(program.inputs) if i not in places)
    outputs = tuple((e, d) for e, (_, d) in zip(changed, program.outputs, strict=True))
    return Program(inputs, tuple(params), outputs)


def load_texts(printers, device=0, forms=FORMS):
    """Compile kernels of several programs as one source."""
    current = runtime.current()
    text = source([p.text(forms) for p in printers])
    module = current.load(text, OPTIONS)
    for printer in printers:
        for form in forms:
            name = f"{printer.name}_{form}"
            _loaded[current.name, device, name] = module.kernel(name)


def is_loaded(printer, device=0):
    """Whether a program's kernels are compiled."""
    return (runtime.current().name, device, printer.name + "_flat") in _loaded


# ---------------------------------------------------------------------------------------- layouts
class _Flagged:
    """What `output_order` asks of an array."""

    __slots__ = ("flags", "ndim", "shape", "strides")

    def __init__(self, array):
        self.shape, self.strides, self.ndim = array.shape, array.strides, len(array.shape)
        self.flags = array.flags


class _New:
    """Shape and strides of an output to come."""

    __slots__ = ("dtype", "shape", "strides")

    def __init__(self, shape, strides, dtype):
        self.shape, self.strides, self.dtype = shape, strides, dtype


def _like_new(shape, dtype, order):
    strides = (
        contiguous_strides(shape, dtype.itemsize)
        if order is None
        else ordered_strides(shape, order, dtype.itemsize)
    )
    return _New(shape, strides, dtype)


class Plan:
    """How calls with arrays of certain shapes and strides are launched."""

    __slots__ = ("block", "form", "grid", "outs", "shape", "size", "width", "words")

    def __init__(self, shape, outs, form, words, width):
        self.shape, self.outs, self.form, self.words = shape, outs, form, words
        self.size, self.width = math.prod(shape), width
        items = -(-self.size // width) if form == "flat" else self.size
        blocks = -(-items // THREADS)
        self.grid = blocks, 1, 1
        self.block = (THREADS if blocks > 1 else max(32, -(-items // 32) * 32)), 1, 1


def _layout(shape, outs, arrays):
    """The form for a call and, unless it is flat, its struct of counts and steps."""
    operands = [
        (x.strides if x.shape == shape else broadcast_strides(x.shape, x.strides, shape))
        for x in (*outs, *arrays)
    ]
    sizes = [x.dtype.itemsize for x in (*outs, *arrays)]
    shape, operands = merged(shape, operands, outs)
    if (
        len(shape) == 0
        or len(shape) == 1
        and all(step == (size,) for step, size in zip(operands, sizes, strict=True))
    ):
        return "flat", None
    words = _words(shape, operands)
    return "strided", words


def _words(shape, operands):
    """The struct ``Layout`` of `cuda_text`."""
    words = np.zeros((), _LAYOUT)
    count = 1
    for n in shape:
        count *= n
    words["count"], words["dims"] = count, len(shape)
    if len(shape) > MAX_DIMS or len(shape) * len(operands) > 96:
        raise NotImplementedError(
            f"an elementwise kernel of {len(operands)} arrays in {len(shape)} dimensions that do "
            f"not merge; at most {min(MAX_DIMS, 96 // len(operands))}"
        )
    words["size"][: len(shape)] = shape
    words["step"][: len(shape) * len(operands)] = np.array(operands, np.int64).T.reshape(-1)
    return words


_LAYOUT = np.dtype(
    [("count", "i8"), ("dims", "i8"), ("size", "i8", (MAX_DIMS,)), ("step", "i8", (96,))]
)


def merged(shape, operands, outs):
    """Dimensions in the order of the first output's memory, neighbours that step alike as one,
    and those of extent one left out."""
    dims = [d for d in range(len(shape)) if shape[d] != 1]
    dims.sort(key=lambda d: -abs(operands[0][d]))
    found, steps = [], []
    for d in dims:
        step = [s[d] for s in operands]
        if found and all(a == b * shape[d] for a, b in zip(steps[-1], step, strict=True)):
            found[-1] *= shape[d]
            steps[-1] = step
        else:
            found.append(shape[d])
            steps.append(step)
    return tuple(found), [tuple(s[j] for s in steps) for j in range(len(operands))]


def _bounds(x):
    low = high = x.address
    for n, step in zip(x.shape, x.strides, strict=True):
        if step < 0:
            low += (n - 1) * step
        else:
            high += (n - 1) * step
    return low, high + x.dtype.itemsize


def _overlaps(out, x):
    """Whether an output shares memory with an input and is not exactly it."""
    if out.block is not x.block or not x.size:
        return False
    if out.address == x.address and out.strides == x.strides and out.shape == x.shape:
        return out.dtype.itemsize != x.dtype.itemsize
    (a, b), (c, d) = _bounds(out), _bounds(x)
    return a < d and c < b

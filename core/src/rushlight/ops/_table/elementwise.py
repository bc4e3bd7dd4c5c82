"""Running an elementwise op in general: promotion, kernel choice, meta tensors."""

from __future__ import annotations

from rushlight import devices
from rushlight.autograd.mode import mode
from rushlight.compiler import xp
from rushlight.dtypes import BOOL, COMPLEX, FIRST_LIMITED, FLOAT
from rushlight.errors import argument_error, shape_text
from rushlight.machine import np
from rushlight.machine.arrays import BY_CODE
from rushlight.ops._table import number_limits as _number_limits
from rushlight.ops._table.op import ATTRIBUTE
from rushlight.ops._table.recording import record
from rushlight.ops._table.rules import number_dtype, result_type
from rushlight.ops._table.shape_rules import laid_out
from rushlight.tensor.tensor import Tensor, make_tensor

_STATIC = (str, bool, tuple, type(None))
EXACT_INTEGERS = 1 << 53  # integers up to here are float64 numbers
WORDS = 1 << 63  # integers below it are int64 numbers


def run_elementwise(op, values):
    """Execute bound values; the result is recorded when something requires a gradient."""
    tensors = False
    for position in op.tensor_positions:
        value = values[position]
        if isinstance(value, Tensor):
            tensors = True
        elif xp.is_traced(value):
            at = op.positional
            return op.body(*values[:at], **dict(zip(op.names[at:], values[at:], strict=True)))
    if not tensors:
        values[0] = _first_of_numbers(op, values[0])
    call = Call(op, values)
    outs = call.allocate_and_run()
    if mode.recording and op.options.get("differentiable", True) and call.needs_gradient():
        record(op, call.given, call.attributes, outs)
    return outs[0] if op.outputs == 1 else tuple(outs)


def _first_of_numbers(op, value):
    """The first operand of a call without tensors as a tensor, where the op takes numbers only."""
    if op.options.get("numbers") != "all" or number_dtype(value) is None:
        raise argument_error(op.name, op.names[0], "Tensor", value)
    from rushlight.ops.creation.tensors import tensor

    return tensor(value)


def _take_numbers_out(op, values):
    """Attributes that are tensors of no dimension, which nothing differentiates, as numbers."""
    for position, value in enumerate(values):
        if isinstance(value, Tensor) and op.kinds[position] == ATTRIBUTE:
            if value.dim() or value.requires_grad:
                raise argument_error(op.name, op.names[position], "Number", value)
            values[position] = value.item()


class Call:
    """One call, sorted: its tensors, its numbers, its dtypes and its kernel."""

    __slots__ = (
        "attributes", "device", "dtypes", "given", "kernel_dtypes", "limited", "numbers", "op",
        "operand", "tensors", "values",
    )  # fmt: skip

    def __init__(self, op, values):
        _take_numbers_out(op, values)
        _number_limits.check_words(values)
        self.op, self.values = op, values
        self.tensors, self.numbers = [], []
        self.limited = False  # whether operands are of a dtype that kernels do not have
        promoting, numbers = [], []
        for position in op.tensor_positions:
            value = values[position]
            if isinstance(value, Tensor):
                self.tensors.append(value)
                if value._dtype.code >= FIRST_LIMITED:
                    self.limited = True
                if position not in op.options.get("aside", ()):
                    promoting.append(value)
                continue
            self.tensors.append(None)
            if value is None and op.kinds[position] == "Optional":
                continue
            if number_dtype(value) is None or (value is None):
                name = op.names[position]
                raise argument_error(op.name, name, "Tensor or number", value)
            if position in op.strict:
                raise argument_error(op.name, op.names[position], "Tensor", value)
            if position not in op.options.get("aside", ()):
                numbers.append(value)
        check = op.options.get("check")
        if check is not None:
            check(*values)
        self.device = self._one_device()
        self._choose_dtypes(promoting, numbers)
        self.given = self.tensors  # what is recorded
        if self.limited or self.operand.code >= FIRST_LIMITED:
            self.limited = True
            from rushlight.ops._table.limited import with_kernel_operands

            with_kernel_operands(self)
        self.attributes = [None if isinstance(v, Tensor) else v for v in values]
        if self.operand.category == COMPLEX and self.device.type != "meta":
            self._take_complex_numbers_in()

    def _take_complex_numbers_in(self):
        """Complex numbers as operands without dimensions: one kernel serves them all."""
        self.values, self.tensors = list(self.values), list(self.tensors)
        for at, position in enumerate(self.op.tensor_positions):
            value = self.values[position]
            if isinstance(value, complex) and position not in self.op.options.get("aside", ()):
                with np.errstate(all="ignore"):  # what the dtype cannot hold is infinite
                    number = np.array(value, BY_CODE[self.operand.code])
                self.values[position] = self.tensors[at] = make_tensor(number, self.operand)

    def _one_device(self):
        """The device of the tensors; a 0-d CPU tensor may join any device."""
        for tensor in self.tensors:
            if tensor is not None and tensor._device is not devices.cpu:
                from rushlight.ops._table.arrays import common_device

                return common_device(self.op, self.tensors)
        return devices.cpu

    def _choose_dtypes(self, promoting, numbers):
        promoted = result_type(promoting, numbers + self._promoting_attributes())
        try:
            self.operand, out = self.op.rule(promoted)
        except NotImplementedError as error:
            raise NotImplementedError(f'"{self.op.name.strip("_")}" {error}') from None
        self.dtypes = self.kernel_dtypes = out if isinstance(out, tuple) else (out,)
        for name in self.op.options.get("scales", ()):
            self._check_factor(name, self.values[self.op.index[name]])
        if self.op.fits:
            _number_limits.check_call(self.op, self.operand, self.values)

    def _check_factor(self, name, value):
        """A factor such as alpha may not be of a higher category than what it multiplies."""
        kind = number_dtype(value)
        category = self.operand.category
        if value is self.op.defaults[self.op.index[name]] or kind is None:
            return
        if kind.category == BOOL and category != BOOL:
            text = "a bool is for bool results only"
        elif kind.category >= FLOAT and category < FLOAT:
            text = "integral operands take no floating-point factor"
        elif kind.category > category and kind.category == COMPLEX:
            text = "real operands take no complex factor"
        else:
            return
        raise RuntimeError(
            f"{self.op.name}: {name} is {value!r}, the operands are {self.operand}: {text}"
        )

    def _promoting_attributes(self):
        """Attributes that take part in promotion, such as the bounds of clamp."""
        op, found = self.op, []
        for name in op.options.get("promotes", ()):
            value = self.values[op.index[name]]
            if value is op.defaults[op.index[name]] or isinstance(value, Tensor):
                continue
            found.append(value)
        return found

    def needs_gradient(self):
        """Whether an input is part of a recorded graph."""
        return any(t is not None and t._node is not None for t in self.given)

    # ------------------------------------------------------------------ running
    def allocate_and_run(self):
        """The results as new tensors."""
        arrays = [t._array for t in self.tensors if t is not None]
        if self.device.type == "meta":
            results = self._without_memory(arrays)
        else:
            kernel, scalars = self.kernel()
            try:
                if self.device is devices.cpu:
                    results = kernel(*arrays, *scalars)
                else:
                    from rushlight.ops._table.cuda import run_elementwise

                    results = run_elementwise(self.op, kernel, arrays, scalars, self.device)
            except ValueError:
                self.broadcast_shape()
                raise
            results = results if isinstance(results, tuple) else (results,)
        if self.limited:
            results = self.restored(results)
        return [
            make_tensor(array, dtype, self.device)
            for array, dtype in zip(results, self.dtypes, strict=True)
        ]

    def _without_memory(self, arrays):
        """Results on the meta device, laid out as a kernel lays them out."""
        shape = self.broadcast_shape()
        return [laid_out(shape, BY_CODE[d.code], arrays) for d in self.kernel_dtypes]

    def restored(self, results):
        """Results of kernels of other dtypes in the dtypes of this call."""
        from rushlight.ops._table.limited import restored

        return [restored(array, dtype) for array, dtype in zip(results, self.dtypes, strict=True)]

    def broadcast_shape(self):
        """The common shape, or the error that spells out who does not fit."""
        shapes = [t._array.shape for t in self.tensors if t is not None]
        try:
            return np.broadcast_shapes(*shapes)
        except ValueError:
            raise mismatch(self.op, self.tensors) from None

    def kernel(self):
        """The kernel for these dtypes and attributes, and the numbers it is called with."""
        op = self.op
        key, scalars = [self.operand.code, self.kernel_dtypes[0].code], []
        for position, kind in enumerate(op.kinds):
            value = self.values[position]
            if isinstance(value, Tensor):
                key.append(value._dtype.code)
            elif self._is_scalar(position, value):
                scalars.append(self._number(value))
                key.append(type(scalars[-1]))
            else:
                key.append((kind == ATTRIBUTE, type(value), value))
        key = tuple(key)
        if self.device is not devices.cpu:
            from rushlight.ops._table.cuda import kernel_of

            return kernel_of(op, key, self._compile), scalars
        kernel = op.paths.kernels.get(key)
        if kernel is None:
            kernel = op.paths.kernels[key] = self._compile()
        if key not in op.paths.offered:  # new, or forgotten by a new default dtype
            op.paths.offered.add(key)
            self._offer_fast(kernel)
        return kernel, scalars

    def _is_scalar(self, position, value):
        """Whether a value is a run-time number rather than part of the code."""
        if isinstance(value, _STATIC):
            return False
        op = self.op
        if value is op.defaults[position] or isinstance(value, complex):
            return False
        if op.names[position] in op.options.get("static", ()):
            return False
        constants = op.options.get("constants", {}).get(op.names[position])
        return constants is None or value not in constants

    def _number(self, value):
        kind = type(value)
        if kind is int:
            size, exact = abs(value), self.operand.category == FLOAT
            if exact and size <= EXACT_INTEGERS or size >= WORDS and self.operand.category >= FLOAT:
                return float(value)  # one kernel serves both, and the short way takes it
            return value - 2 * WORDS if value >= WORDS else value  # wraps around in int64
        if kind is float:
            return value
        return value.__index__() if hasattr(value, "__index__") else float(value)

    def _compile(self, compile_kernel=None):
        if compile_kernel is None:
            from rushlight.compiler import compile_kernel

        op = self.op
        inputs, operands, scalars, static = {}, {}, {}, {}
        for position, name in enumerate(op.names):
            value = self.values[position]
            if isinstance(value, Tensor):
                inputs[name] = value._dtype.short
                aside = position in op.options.get("aside", ())
                operands[name] = (value._dtype if aside else self.operand).short
            elif self._is_scalar(position, value):
                scalars[name] = "f64" if isinstance(self._number(value), float) else "i64"
                if scalars[name] == "i64" and self.operand.itemsize < 4:
                    operands[name] = self.operand.short
            else:
                static[name] = value
        return compile_kernel(
            op.body, inputs, operands, scalars, static, tuple(d.short for d in self.kernel_dtypes)
        )

    def _offer_fast(self, kernel):
        """Open the fast path for calls that look just like this one."""
        op, paths = self.op, self.op.paths
        if kernel.fast is None or paths.same is None or op.outputs != 1:
            return
        if self.operand.category < FLOAT and "check" in op.options:
            return  # it looks at the integers, such as divisors, and must do so every time
        code, positions = self.tensors[0]._dtype.code if self.tensors[0] is not None else -1, []
        for position in range(len(op.names)):
            value = self.values[position]
            if isinstance(value, Tensor):
                if value._dtype.code != code:
                    return
                positions.append(position)
            elif value is not op.defaults[position] and position not in op.tensor_positions[1:2]:
                return
        entry = (kernel.short, self.kernel_dtypes[0])
        writes = paths.into is not None and self.kernel_dtypes[0].code == code
        if len(positions) == len(op.tensor_positions):
            paths.same[code] = entry
            if writes:
                paths.into[code] = kernel.short_into
        elif positions == [0] and paths.mixed is not None and self._mixed_is_general(code):
            paths.mixed[code] = entry
            if writes:
                paths.into_mixed[code] = kernel.short_into

    def _mixed_is_general(self, code):
        """A kernel compiled for a float scalar serves every float and int that follows."""
        value = self.values[1]
        if not self._is_scalar(1, value) or "constants" in self.op.options:
            return False
        return type(self._number(value)) is (float if code > 5 else int) and (
            self.kernel_dtypes[0].code in (code, 0)
        )


def mismatch(op, tensors):
    """The broadcasting error, naming the first two arguments that do not fit."""
    named = [
        (op.names[p], t._array.shape)
        for p, t in zip(op.tensor_positions, tensors, strict=True)
        if t is not None
    ]
    for i, (first, a) in enumerate(named):
        for second, b in named[i + 1 :]:
            for offset in range(1, min(len(a), len(b)) + 1):
                if a[-offset] != b[-offset] and 1 not in (a[-offset], b[-offset]):
                    dim = max(len(a), len(b)) - offset
                    return RuntimeError(
                        f"{op.name}: The size of tensor {first} ({a[-offset]}) must match the size "
                        f"of tensor {second} ({b[-offset]}) at non-singleton dimension {dim}: "
                        f"{first} has shape {shape_text(a)}, {second} has shape {shape_text(b)}"
                    )
    return RuntimeError(f"{op.name}: shapes {[shape_text(s) for _, s in named]} do not broadcast")

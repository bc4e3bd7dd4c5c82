"""Kernels: compiled or reference executors of one program, called with arrays."""

from __future__ import annotations

import ctypes
import struct

from rushlight.compiler import layout
from rushlight.compiler.cost import inline_limit
from rushlight.compiler.evaluation import evaluate_nodes, numpy_function
from rushlight.compiler.graph import Program, topological
from rushlight.compiler.storage import NUMPY, SIZE, decode, encode
from rushlight.machine import np
from rushlight.machine.forking import lazy
from rushlight.machine.processors import streams_from
from rushlight.machine.quiet import quietly

LAYOUTS = 256  # layouts remembered by a kernel
_RANGE = ctypes.CFUNCTYPE(None, *[ctypes.c_int64] * 4)


class _Executor:
    """What both kinds of kernel share: argument checks and broadcasting."""

    def __init__(self, program: Program):
        self.program = program
        self.inputs = tuple(NUMPY[d] for _, d in program.inputs)
        self.outputs = tuple(NUMPY[d] for _, d in program.outputs)
        self.kinds = tuple(kind for _, kind in program.params)

    def __repr__(self):
        names = ", ".join(f"{n}: {d}" for n, d in (*self.program.inputs, *self.program.params))
        results = ", ".join(d for _, d in self.program.outputs)
        return f"<{type(self).__name__} ({names}) -> {results}>"

    def split(self, args):
        """Arrays and run-time scalars of a call, checked."""
        count = len(self.inputs)
        if len(args) != count + len(self.kinds):
            raise TypeError(
                f"{self!r} takes {count} arrays and {len(self.kinds)} numbers, got {len(args)} "
                "arguments"
            )
        arrays = []
        for (name, _), dtype, x in zip(self.program.inputs, self.inputs, args, strict=False):
            if not isinstance(x, np.ndarray):
                raise TypeError(f"{self!r}: argument {name!r} must be an array, not {type(x)!r}")
            if x.dtype != dtype:
                raise TypeError(f"{self!r}: argument {name!r} must be {dtype}, got {x.dtype}")
            arrays.append(x if x.flags.aligned else x.copy())
        return arrays, args[count:]

    def check_outputs(self, outs, shape):
        """The arrays given to write into."""
        if len(outs) != len(self.outputs):
            raise TypeError(
                f"{self!r}: expected {len(self.outputs)} output arrays, got {len(outs)}"
            )
        for j, (out, dtype) in enumerate(zip(outs, self.outputs, strict=True)):
            if not isinstance(out, np.ndarray) or out.dtype != dtype:
                raise TypeError(f"{self!r}: output {j} must be an array of {dtype}")
            if out.shape != shape:
                raise ValueError(f"{self!r}: output {j} must have shape {shape}, got {out.shape}")
            if not out.flags.writeable:
                raise ValueError(f"{self!r}: output {j} is read-only")


def number_words(values, kinds):
    """Scalars as table words: doubles by their bits, integers as they are."""
    return [
        struct.unpack("<q", struct.pack("<d", value))[0] if kind == "f64" else int(value)
        for value, kind in zip(values, kinds, strict=True)
    ]


class ReferenceKernel(_Executor):
    """A program evaluated by NumPy, node by node; same interface as :class:`Kernel`."""

    def __init__(self, program: Program):
        super().__init__(program)
        self._roots, self._stored = zip(*program.outputs, strict=True)
        self._nodes = topological(self._roots)
        self._layouts: dict = {}

    @lazy
    def _direct(self):
        """``f(args, out)`` by the one function of NumPy that the program is; None for programs of
        several nodes and for those without complex numbers, which have kernels."""
        root, stored = self._roots[0], self._stored[0]
        operands = [self._operand(e) for e in root.args]
        function = numpy_function(root)
        is_complex = any(d in ("c64", "c128") for d in self.program.dtypes)
        if len(self._roots) > 1 or not is_complex or None in operands or root.dtype != stored:
            return None
        if not isinstance(function, np.ufunc):
            return None

        def call(args, out):
            with np.errstate(all="ignore"):
                return function(*[value(args) for value in operands], out=out)

        return call

    @lazy
    def short(self):
        """``f(*arrays, *scalars)`` where :attr:`_direct` serves the program, else None."""
        direct, count = self._direct, len(self.inputs)
        if direct is None:
            return None

        def call(*args):
            for x in args[:count]:
                if type(x) is not np.ndarray:
                    return NotImplemented
            shape, order, _ = self._layout(args[:count])
            return direct(args, layout.empty(shape, self.outputs[0], order))

        return call

    @lazy
    def short_into(self):
        """Like :attr:`short`, with the array to write as one more, last argument."""
        direct, count = self._direct, len(self.inputs)
        if direct is None:
            return None

        def call(*args):
            out = args[-1]
            for x in (*args[:count], out):
                if type(x) is not np.ndarray:
                    return NotImplemented
            if out.shape != self._layout(args[:count])[0] or out.dtype != self.outputs[0]:
                return NotImplemented
            return direct(args, out)

        return call

    fast = property(lambda self: self.short)
    fast_into = property(lambda self: self.short_into)

    def _operand(self, e):
        """How an operand of the only node is had from the arguments of a call; None where it takes
        a node of its own."""
        if e.op == "load":
            position = e.value[0]
            return lambda args: args[position]
        if e.op == "const":
            value = np.asarray(e.value, NUMPY[e.dtype])
            return lambda args: value
        if e.op == "cast" and e.args[0].op == "param":
            position, kind = len(self.inputs) + e.args[0].value, NUMPY[e.dtype].type
            return lambda args: kind(args[position])
        return None

    def _values(self, arrays, values):
        """The outputs, of which some may be inputs or views of them."""
        stored = zip(arrays, self.program.inputs, strict=True)
        loaded = [decode(x, dtype) for x, (_, dtype) in stored]
        found = evaluate_nodes(self._nodes, self._roots, loaded, values)
        return [encode(x, dtype) for x, dtype in zip(found, self._stored, strict=True)]

    def _layout(self, arrays):
        """Shape and order of new outputs, and the strides of each."""
        key = tuple([(x.shape, x.strides) for x in arrays])
        found = self._layouts.get(key)
        if found is None:
            shape = np.broadcast_shapes(*[x.shape for x in arrays])
            order = layout.output_order(shape, arrays)
            along = range(len(shape)) if order is None else order
            strides = [layout.ordered_strides(shape, along, d.itemsize) for d in self.outputs]
            if len(self._layouts) >= LAYOUTS:
                self._layouts.clear()
            found = self._layouts[key] = shape, order, strides
        return found

    def __call__(self, *args):
        """New outputs for arrays, then scalars; a tuple when the program has several."""
        arrays, values = self.split(args)
        shape, order, strides = self._layout(arrays)
        outs: list = []
        for result, dtype, own in zip(
            quietly(self._values, arrays, values), self.outputs, strides, strict=True
        ):
            out = result
            is_laid = result.shape == shape and result.strides == own
            is_held = result.base is not None or any(result is x for x in (*arrays, *outs))
            if is_held or not is_laid:
                out = layout.empty(shape, dtype, order)
                out[...] = result
            outs.append(out)
        return outs[0] if len(outs) == 1 else tuple(outs)

    def into(self, outs, *args):
        """Write the outputs into given arrays."""
        arrays, values = self.split(args)
        shape = outs[0].shape if not self.inputs else self._layout(arrays)[0]
        self.check_outputs(outs, shape)
        for out, result in zip(outs, quietly(self._values, arrays, values), strict=True):
            out[...] = result


class Kernel(_Executor):
    """A program compiled for this CPU.

    ``kernel(*arrays, *scalars)`` broadcasts, takes any strides and gives a new array (a tuple of
    arrays for several outputs). Machine code is made at the first call. Kernels may be called from
    several threads at once.
    """

    def __init__(self, program: Program):
        super().__init__(program)
        self.limit = inline_limit(program)
        self._count = len(self.inputs)
        self._codes: dict = {}
        self._doors: dict = {}
        self._doors_into: dict = {}

    # ---- machine code
    def code(self, scalars=frozenset(), streaming=False, narrow=False):
        """Descriptor (int64 array) of the compiled blocks for a pattern of one-element inputs."""
        key = scalars, streaming, narrow
        found = self._codes.get(key)
        if found is None:
            from rushlight.compiler.cpu.programs import descriptor

            found = self._codes[key] = descriptor(self.program, scalars, streaming, narrow)
        return found

    @lazy
    def fast(self):
        """Built-in ``f(*arrays, *scalars)`` for same-shape, C-contiguous, aligned arrays.

        It gives NotImplemented for everything else and for more elements than one thread should
        do. None when the program has several outputs or no inputs, or native calls are off.
        """
        return self._fast(0, False)

    @lazy
    def fast_into(self):
        """Like :attr:`fast`, with the array to write as one more, last argument."""
        return self._fast(1, False)

    @lazy
    def short(self):
        """Like :attr:`fast`, but layouts that were seen a short while ago are taken too: operands
        that broadcast, strided ones, large ones."""
        return self._fast(0, True)

    @lazy
    def short_into(self):
        """Like :attr:`fast_into`, with recent layouts."""
        return self._fast(1, True)

    def _fast(self, given, recent):
        from rushlight.machine import native_functions as door

        if len(self.outputs) != 1 or not self.inputs or not door.is_available():
            return None
        if 2 + len(self.inputs) + len(self.kinds) > door.TABLE_WORDS:
            return None
        from rushlight.compiler.cpu.programs import driver

        doors = door.doors()
        words = [
            driver("flat"),
            len(self.inputs),
            len(self.kinds),
            id(self.outputs[0]),
            doors.type,
            self._kind_bits(),
            given,
            self.limit,
            self.code().ctypes.data,
            self._recent[given].address if recent else 0,
            *map(id, self.inputs),
            *(SIZE[d] for d in self.program.dtypes),
        ]
        return doors.fast(words)

    @lazy
    def _recent(self):
        """The layouts that the two fast paths pass on by themselves."""
        from rushlight.machine.native_functions import Recent

        return [Recent(len(self.inputs) + given) for given in (0, 1)]

    def _kind_bits(self):
        return sum(1 << j for j, kind in enumerate(self.kinds) if kind == "i64")

    # ---- calls
    def __call__(self, *args):
        """New outputs for arrays, then scalars; a tuple when the program has several."""
        short = self.short
        if short is not None:
            result = short(*args)
            if result is not NotImplemented:
                return result
        try:
            key = self._key(args)
        except (AttributeError, IndexError):
            self.split(args)
            raise
        call = self._doors.get(key)
        if call is not None:
            result = call(*args)
            if result is not NotImplemented:
                return result
        return self._general(args, key)

    def _key(self, args):
        """Shapes and strides of the arrays in a call; written out for the usual numbers of them."""
        count = self._count
        if count == 2:
            x, y = args[0], args[1]
            return x.shape, x.strides, y.shape, y.strides
        if count == 1:
            x = args[0]
            return x.shape, x.strides
        return tuple([(x.shape, x.strides) for x in args[:count]])

    def into(self, outs, *args):
        """Write the outputs into given arrays of any strides.

        An output may be exactly an input (in place); any other overlap is handled by copying.
        """
        try:
            key = self._key(args), *[(x.shape, x.strides) for x in outs]
        except (AttributeError, IndexError):
            self.split(args)
            raise
        call = self._doors_into.get(key)
        if call is not None and call(*args, *outs) is not NotImplemented:
            return
        arrays, values = self.split(args)
        shape = outs[0].shape
        if arrays:
            shape = np.broadcast_shapes(*[x.shape for x in arrays])
        self.check_outputs(outs, shape)
        copied = [x.copy() if any(layout.overlaps(x, o) for o in outs) else x for x in arrays]
        targets = [out if out.flags.aligned else out.copy() for out in outs]
        in_place = any(_alike(out, copied) for out in targets)
        found = self._layout(shape, targets, copied, in_place)
        self._execute(found, targets, copied, values)
        for out, target in zip(outs, targets, strict=True):
            if target is not out:
                out[...] = target
        if all(a is b for a, b in zip(copied, arrays, strict=True)):
            call = self._layout_door(found, targets, copied, len(outs))
            self._remember(self._doors_into, key, call)
            if call is not None and self.short_into is not None:
                self._recent[1].note(call, [*arrays, *outs])

    def _general(self, args, key):
        """The first call of a layout, and every call without native calls."""
        arrays, values = self.split(args)
        if not arrays:
            raise TypeError(f"{self!r}: without input arrays only `into` knows the shape")
        shape = np.broadcast_shapes(*[x.shape for x in arrays])
        order = layout.output_order(shape, arrays)
        outs = [layout.empty(shape, dtype, order) for dtype in self.outputs]
        found = self._layout(shape, outs, arrays)
        self._execute(found, outs, arrays, values, fresh=True)
        if len(outs) == 1 and outs[0].nbytes < layout.HUGE_FROM:
            call = self._layout_door(found, outs, arrays, 0)
            if call is not None and self.short is not None:
                self._recent[0].note(call, arrays)
        else:
            call = self._layout_door(found, outs, arrays, len(outs), fresh=True)
            call = call and self._allocating(call, outs, order)
        self._remember(self._doors, key, call)
        return outs[0] if len(outs) == 1 else tuple(outs)

    def _layout(self, shape, outs, arrays, in_place=False):
        strides = [x.strides for x in outs]
        strides += [layout.broadcast_strides(x, shape) for x in arrays]
        sizes = [SIZE[d] for d in self.program.dtypes]
        return layout.plan(shape, strides, sizes, len(outs), self.limit, in_place)

    def _streams(self, found, outs, fresh):
        """Stores past the caches: new, large, aligned outputs."""
        return (
            fresh
            and found.driver == "flat"
            and all(out.nbytes >= streams_from() and out.ctypes.data % 64 == 0 for out in outs)
        )

    def _execute(self, found, outs, arrays, values, fresh=False):
        """Run by the argument table, made here for this call."""
        if found.n == 0:
            return
        from rushlight.compiler.cpu.programs import driver

        code = self.code(found.scalars, self._streams(found, outs, fresh), found.narrow)
        addresses = [x.ctypes.data for x in (*outs, *arrays)]
        words = [code.ctypes.data, *addresses, *number_words(values, self.kinds), *found.words]
        table = np.array(words, np.int64)
        function = driver(found.driver)
        if found.is_shared:
            from rushlight.machine.threads import launch

            launch(function, table.ctypes.data, found.n, found.grain)
        else:
            _RANGE(function)(table.ctypes.data, 0, found.n, 0)

    # ---- layouts seen before
    @staticmethod
    def _remember(doors, key, call):
        """Keep a function for a layout."""
        if call is not None:
            if len(doors) >= LAYOUTS:
                doors.clear()
            doors[key] = call

    def _allocating(self, call, outs, order):
        """A native call that is given its outputs, behind their allocation (several, or large
        ones)."""
        shape, dtypes, single = outs[0].shape, self.outputs, len(outs) == 1

        def allocate(*args):
            made = [layout.empty(shape, dtype, order) for dtype in dtypes]
            result = call(*args, *made)
            if result is NotImplemented or single:
                return result
            return tuple(made)

        return allocate

    def _layout_door(self, found, outs, arrays, given, fresh=False):
        """A built-in function for one layout, or None where these are off or it is too large.

        `given`: how many outputs are passed in, after the scalars.
        """
        from rushlight.compiler.cpu.programs import driver
        from rushlight.machine import native_functions as door

        size = 1 + len(outs) + len(arrays) + len(self.kinds) + len(found.words)
        if not door.is_available() or outs[0].ndim > layout.MAX_DIMS or size > door.TABLE_WORDS:
            return None
        if len(arrays) > 62:  # bits of a mask
            return None
        code = self.code(found.scalars, self._streams(found, outs, fresh), found.narrow)
        words = [0] * door.LAYOUT_DTYPES
        doors = door.doors()
        words[door.DRIVER] = driver(found.driver)
        words[door.INPUTS], words[door.PARAMS] = len(arrays), len(self.kinds)
        words[door.OUT], words[door.TYPE] = id(self.outputs[0]), doors.type
        words[door.KINDS], words[door.GIVEN] = self._kind_bits(), given
        words[door.DESCRIPTOR], words[door.N] = code.ctypes.data, found.n
        words[door.GRAIN] = found.grain
        if found.is_shared:
            from rushlight.machine.threads import launch_entry

            words[door.LAUNCH], words[door.POOL] = launch_entry()
        out = outs[0]
        words[door.DIMS] = out.ndim
        words[door.SHAPE : door.SHAPE + out.ndim] = out.shape
        words[door.STRIDES : door.STRIDES + out.ndim] = out.strides
        words[door.TAIL], words[door.BYTES] = len(found.words), out.nbytes
        passed = [*(outs if given else []), *arrays]
        words += map(id, (*(self.outputs if given else ()), *self.inputs))
        ends = [layout.bounds(x.shape, x.strides, x.itemsize) for x in passed]
        words += [low for low, _ in ends] + [high for _, high in ends]
        if given:
            words += [_alike(o, arrays) for o in outs]
        return doors.layout([*words, *found.words])


def _alike(out, arrays):
    """Bits of the inputs with the very layout of an output: those may be the output itself."""
    same = (
        x.shape == out.shape and x.strides == out.strides and x.itemsize == out.itemsize
        for x in arrays
    )
    return sum(1 << j for j, equal in enumerate(same) if equal)

"""Generated native calls of elementwise ops: what a call needs is worked out once a kind of call.

A native call is written for one op and one form of call, like those of `_doors`. Out of the dtypes
of the tensors, the types of the numbers and the values of the other attributes it makes a key; for
each key the general path says once which kernel, which numbers and which result dtype belong to it.
Anything that is not a plain tensor or number makes a native call answer NotImplemented."""

from __future__ import annotations

import importlib

from rushlight.autograd.mode import mode
from rushlight.devices import cpu
from rushlight.dtypes import FLOAT, SURE
from rushlight.machine import np
from rushlight.ops._calls.array_calls import built, texts_of
from rushlight.ops._table import number_limits as _number_limits
from rushlight.ops._table.elementwise import EXACT_INTEGERS, Call
from rushlight.ops._table.op import ATTRIBUTE, OPTIONAL, TENSOR
from rushlight.ops._table.recording import note
from rushlight.tensor import construction as make
from rushlight.tensor.dispatch import STATE
from rushlight.tensor.storage import storage_of
from rushlight.tensor.tensor import Parameter, Tensor

_LIMIT = 256  # keys of one native call; numbers that are part of the code could be any
_STATIC = frozenset({bool, str, type(None)})
_NUMBERS = frozenset({int, float})


def make_elementwise_door(op, form, inplace=False):
    """The native call for a form of call (or of ``x.op_()``), or None where there can be none."""
    if op.outputs != 1 or op.kind != "elementwise":
        return None
    if not inplace and type(form) is tuple and "out" in form and "out" not in op.index:
        return _written_door(op, form)
    found = texts_of(op, form)
    source = _Source(op)
    if found is None or not source.read_arguments(*found):
        return None
    text, table = source.inplace() if inplace else source.fresh(), {}
    if inplace and type(form) is int:
        source.quick = _Numbered(op)
    space = {**_SPACE, **source.values, "op": op, "table": table, "known": table.get,
             "quick": source.quick}  # fmt: skip
    return built(op, "in-place call" if inplace else "forward call", form, text, space)


def _written_door(op, form):
    """The native call for a form with ``out=``, or None."""
    count, *keywords = form
    found, source = (
        texts_of(op, (count, *(name for name in keywords if name != "out"))),
        _Source(op),
    )
    if found is None or not source.read_arguments(*found):
        return None
    text, table = source.written(), {}
    space = {**_SPACE, **source.values, "op": op, "table": table, "known": table.get,
             "quick": None}  # fmt: skip
    return built(op, "call with out=", form, text, space)


class _Entry:
    """What belongs to one key."""

    __slots__ = ("dtype", "floats", "kernel", "short", "short_into")


class _Quick:
    """What a native call does past itself: ``call(*arguments)`` gives the result where machine code
    knows calls of this kind, and they are not recorded; else NotImplemented."""

    def __init__(self, op):
        self.op, self.call, self.known, self.given = op, _refuse, None, []

    def learn(self, key, values, entry):
        """Know the kind of call that a key and an entry stand for."""
        op, call, arguments = self.op, entry.short, []
        if type(call) is not type(len) or call.__name__ != "fast":
            return
        backend = importlib.import_module("rushlight.fastpath.pointwise")
        current = importlib.import_module("rushlight.fastpath.tensors").TensorDoors.current
        if current is None or len(self.given) > backend.MOST_ARGUMENTS:
            return
        for position, k in zip(self.given, key, strict=True):
            if type(k) is int:
                if k < 0:
                    return
                arguments.append((backend.TENSOR, values[position]._array.dtype))
            elif type(k) is tuple or k is None:
                arguments.append((backend.ITSELF, values[position]))
            elif not entry.floats:
                return
            else:
                limit = _number_limits.largest(op, position, entry.dtype)
                arguments.append((backend.REAL if k is float else backend.WHOLE, limit))
        if self.known is None:
            self.known = backend.PointwiseCalls(len(self.given))
        self.known.note(arguments, call, entry.dtype)
        self.call = self.known.function

    def forget(self):
        """Know no call."""
        if self.known is not None:
            self.known.forget()


class _Numbered:
    """The way of an in-place native call past itself, for a tensor and numbers that are no part of
    the code: `ops._fast_inplace` looks into what this learns."""

    def __init__(self, op):
        self.op = op

    def learn(self, key, values, entry):
        """Know the kind of call that a key and an entry stand for."""
        op, (code, *kinds) = self.op, key
        if code < 0 or not kinds or not _NUMBERS.issuperset(kinds) or not entry.floats:
            return
        known = op.paths.into_numbers
        if known is not None and entry.dtype.code == code:
            most = SURE if op.fits else EXACT_INTEGERS
            known[key] = entry.short_into, op.options.get("check"), most


def _learn(op, table, key, values, count, quick):
    """The entry of a key, from the general path's own judgement; None where it has no kernel."""
    call = Call(op, values.copy())
    if call.device is not cpu or call.limited:
        return None
    if any(type(call.values[i]) is not type(values[i]) for i in op.fits):
        return None  # a number that was cut to a whole one
    entry = _Entry()
    entry.kernel, scalars = call.kernel()
    if len(scalars) != count:
        return None
    entry.short = getattr(entry.kernel, "short", None) or _refuse
    entry.short_into = getattr(entry.kernel, "short_into", None) or _refuse
    entry.dtype, entry.floats = call.dtypes[0], call.operand.category == FLOAT
    if entry.floats and any(type(number) is int for number in scalars):
        return None  # too large to be a float64, which the numbers of later calls become
    if len(table) >= _LIMIT:
        table.clear()
    table[key] = entry
    if quick is not None:
        quick.learn(key, values, entry)
    return entry


def _refuse(*arguments):
    """In the place of a kernel's built-in native call where there is none."""
    return NotImplemented


class _Source:
    """The text of one native call."""

    def __init__(self, op):
        self.op, self.values = op, {}
        self.head, self.lines, self.keys, self.bound = [], [], [], []
        self.tensors, self.saved = [], []
        self.texts, self.quick = {}, None

    def read_arguments(self, head, texts):
        """Bind the form's arguments to the declared ones; False where a kind is not for native
        calls."""
        op, self.head, self.texts = self.op, head, texts
        if "p0" not in head:
            return False
        for position, kind in enumerate(op.kinds):
            text = texts.get(position)
            if text is None:
                self.values[f"d{position}"] = op.defaults[position]
                self.bound.append(f"d{position}")
                self.saved.append(f"d{position}")
                if kind in (TENSOR, OPTIONAL):
                    self.tensors.append("None")
            elif kind in (TENSOR, OPTIONAL):
                self._tensor(position, text, kind)
            elif kind == ATTRIBUTE:
                self._attribute(position, text)
            else:
                return False
        return True

    def _tensor(self, position, text, kind):
        number = position not in self.op.strict and position > 0
        self.lines += [
            f"k = type({text})",
            "if k is Tensor or k is Parameter:",
            f"    a = {text}._array",
            "    if type(a) is not ndarray: return NO",
            "    arrays.append(a)",
            f"    k{position} = {text}._dtype.code if a.ndim else -1 - {text}._dtype.code",
        ]
        if number:
            self.lines += ["elif k in numbers:", *self._number(position, text)]
        if number and kind == OPTIONAL:
            self.lines.append(f"elif {text} is None: k{position} = None")
        self.lines.append("else: return NO")
        self.keys.append(f"k{position}")
        self.bound.append(text)
        self.tensors.append(
            text if not number else f"({text} if type(k{position}) is int else None)"
        )
        self.saved.append(
            "None" if not number else f"(None if type(k{position}) is int else {text})"
        )

    def _number(self, position, text):
        if not self._is_part_of_code(position):
            return [f"    k{position} = k", f"    scalars += ({text},)"]
        if f"c{position}" not in self.values:
            return [f"    k{position} = k, {text}"]
        return [
            f"    if {text} in c{position}: k{position} = k, {text}",
            "    else:",
            f"        k{position} = k",
            f"        scalars += ({text},)",
        ]

    def _is_part_of_code(self, position):
        """Whether the value of a number chooses the kernel."""
        op, name = self.op, self.op.names[position]
        constants = op.options.get("constants", {}).get(name)
        if constants is not None:
            self.values[f"c{position}"] = constants
            return True
        return name in op.options.get("static", ())

    def _attribute(self, position, text):
        self.values[f"d{position}"] = self.op.defaults[position]
        self.lines += [
            f"k = type({text})",
            f"if {text} is d{position} or k in static: k{position} = k, {text}",
            "elif k in numbers:",
            *self._number(position, text),
            "else: return NO",
        ]
        self.keys.append(f"k{position}")
        self.bound.append(text)
        self.saved.append(text)

    # ------------------------------------------------------------------ whole native calls
    def _start(self):
        op = self.op
        lines, check = [f"def door({', '.join(self.head)}):"], []
        if op.options.get("check") is not None:
            self.values["check"] = op.options["check"]
            check = [f"check({', '.join(self.bound)})"]
        if self.quick is not None:
            given = self.quick.given = sorted(self.texts)
            lines += [
                f"out = quick.call({', '.join(self.texts[position] for position in given)})",
                "if out is not NO:",
                *("    " + line for line in check),
                "    if STATE.inference and mode.inference: out._inference = True",
                "    return out",
            ]
        lines += ["arrays, scalars = [], ()", *self.lines, *check]
        lines += [
            f"key = {', '.join(self.keys)},",
            "entry = known(key)",
            "if entry is None:",
            f"    entry = learn(op, table, key, [{', '.join(self.bound)}], len(scalars), quick)",
            "    if entry is None: return NO",
            "if scalars and entry.floats:",
            "    for v in scalars:",
            "        if type(v) is int and not -EXACT <= v <= EXACT: return NO",
            *self._fitting(),
        ]
        return lines

    def _fitting(self):
        """Text that asks whether the dtype of a call holds its numbers."""
        lines = []
        for position, kind in self.op.fits.items():
            text = self.texts.get(position)
            if text is None:
                continue
            number = self.op.kinds[position] == ATTRIBUTE and self.op.defaults[position] is not None
            guard = "" if number else f"type({text}) in numbers and "
            call = f"fit(op.label, {self.op.names[position]!r}, {kind!r}, entry.dtype, {text})"
            lines.append(f"if {guard}not -SURE <= {text} <= SURE: {call}")
        return lines

    def _live(self):
        """Text that asks whether a tensor is part of a graph."""
        parts = []
        for tensor in self.tensors:
            if tensor == "None":
                continue
            test = f"{tensor}._node is not None"
            if tensor.startswith("("):
                name, key = tensor[1:].split(" ")[0], tensor.split("type(")[1].split(")")[0]
                test = f"type({key}) is int and {name}._node is not None"
            parts.append(test)
        return " or ".join(parts)

    def _native(self):
        """The native call that this call asks first; it outlives it."""
        found, form = self.op.paths.pointwise, tuple(self.head)
        if form not in found:
            found[form] = _Quick(self.op)
        return found[form]

    def fresh(self, machine=True):
        """Source for a call that gives a new tensor; `machine` code may be asked for it."""
        self.quick = self._native() if machine else None
        lines = [
            *self._start(),
            "r = entry.short(*arrays, *scalars)",
            "if r is NO:",
            "    if scalars and entry.floats: scalars = [float(v) for v in scalars]",
            "    try: r = entry.kernel(*arrays, *scalars)",
            "    except (OverflowError, ValueError): return NO",
            "out = make.made(r, entry.dtype)",
            "if STATE.inference and mode.inference: out._inference = True",
        ]
        if self.op.options.get("differentiable", True):
            lines += [
                f"if ({self._live()}) and mode.recording:",
                f"    note(op, ({', '.join(self.tensors)},), [{', '.join(self.saved)}], (out,))",
            ]
        return "\n    ".join([*lines, "return out"])

    def inplace(self):
        """Source for a call that writes into its first argument and is not recorded."""
        lines = [
            *self._start(),
            "x = arrays[0]",
            "if entry.dtype is not p0._dtype or not x.flags.writeable: return NO",
            "if p0._inference and not mode.inference: return NO",
            "shape = x.shape",
            "for a in arrays:",
            "    if a.shape != shape and a.ndim: return NO",
            f"if mode.recording and (p0._base is not None or {self._live()}): return NO",
            "if entry.short_into(*arrays, *scalars, x) is NO:",
            "    if scalars and entry.floats: scalars = [float(v) for v in scalars]",
            "    try: entry.kernel.into((x,), *arrays, *scalars)",
            "    except OverflowError: return NO",
            "storage = p0._storage",
            "if storage is None: storage = storage_of(p0)",
            "storage.version += 1",
            "return p0",
        ]
        return "\n    ".join(lines)

    def written(self):
        """Source for a call that writes into ``out=`` and is not recorded: of the very dtype and
        shape of the result, and no part of an argument unless it is that argument."""
        self.head.append("out")
        lines = [
            *self._start(),
            "if type(out) is not Tensor and type(out) is not Parameter: return NO",
            "y, base = out._array, out._base",  # arrays without a base own their memory
            "if out._dtype is not entry.dtype or type(y) is not ndarray: return NO",
            "if STATE.modes or STATE.levels or not y.flags.writeable: return NO",
            "if out._inference and not mode.inference: return NO",
            "if mode.recording:",
            "    if out._node is not None: return NO",
            "    if base is not None and base._node is not None: return NO",
            f"    if {self._live()}: return NO",
            "for a in arrays:",
            "    if a is y or a.base is y.base is None: continue",
            "    if shares(a, y): return NO",
            "if entry.short_into(*arrays, *scalars, y) is NO:",
            "    if scalars and entry.floats: scalars = [float(v) for v in scalars]",
            "    try: entry.kernel.into((y,), *arrays, *scalars)",
            "    except (OverflowError, ValueError): return NO",
            "storage_of(out).version += 1",
            "return out",
        ]
        return "\n    ".join(lines)


_SPACE = {
    "Tensor": Tensor, "Parameter": Parameter, "ndarray": np.ndarray, "NO": NotImplemented,
    "make": make, "mode": mode, "STATE": STATE, "note": note, "learn": _learn,
    "EXACT": EXACT_INTEGERS, "SURE": SURE, "fit": _number_limits.check, "numbers": _NUMBERS,
    "static": _STATIC, "storage_of": storage_of, "shares": np.may_share_memory,
}  # fmt: skip

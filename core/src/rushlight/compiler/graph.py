"""Bodies of elementwise ops turned into a small, shared expression graph.

A body is traced by *calling* it with symbolic scalars, not by walking its syntax tree. Calling
needs no source text, sees through functions, lambdas, closures and loops over constants, and
composes: fusing two ops is calling one body on the result of the other. Python control flow on a
traced value cannot be seen; `Expr.__bool__` turns it into an error that names the cure.
"""

from __future__ import annotations

import weakref
from dataclasses import dataclass

from rushlight.compiler.storage import COMPLEX, COMPUTE, DEFAULT_FLOAT, HALF, NARROW, is_inexact
from rushlight.machine import np
from rushlight.machine.forking import INTERNING, lazy

ORDER = {d: n for n, d in enumerate(("bool", "i32", "i64", "f32", "f64", "c64", "c128"))}


class Expr:
    """One scalar value of an elementwise program.

    Nodes are interned: equal nodes are one object, so common subexpressions are shared. Compare
    nodes with ``is``; ``==`` builds a comparison node. A *weak* value (a Python number or run-time
    scalar) adopts the dtype of what it meets.
    """

    __slots__ = ("__weakref__", "args", "dtype", "op", "value", "weak")

    def __bool__(self):
        raise TypeError(
            "a traced value has no truth value: write xp.where(condition, a, b), `&`, `|`, `~` "
            "in place of if/and/or/not and chained comparisons"
        )

    __hash__ = object.__hash__

    def astype(self, dtype: str) -> Expr:
        """This value converted to a dtype name."""
        return cast(self, dtype)

    def __repr__(self):
        return "\n".join(listing([self])[0])


_interned: weakref.WeakValueDictionary = weakref.WeakValueDictionary()


def node(op, args=(), dtype="f32", weak=False, value=None) -> Expr:
    """The node with these parts, made at first need."""
    tag = value.hex() if type(value) is float else value
    key = (op, tuple(map(id, args)), dtype, weak, type(value), tag)
    with INTERNING:
        found = _interned.get(key)
        if found is None:
            found = _interned[key] = Expr()
            found.op, found.args, found.dtype = op, tuple(args), dtype
            found.weak, found.value = weak, value
        return found


_KINDS = {"b": "bool", "i": "i64", "u": "i64", "f": "f64", "c": "c128"}


def constant(value, dtype=None) -> Expr:
    """A literal. Python numbers are weak: they adopt the dtype of what they meet."""
    if isinstance(value, np.generic):
        dtype, value = dtype or _KINDS[value.dtype.kind], value.item()
    if not isinstance(value, (bool, int, float, complex)):
        raise TypeError(f"a body may combine traced values with numbers, not {type(value)!r}")
    weak = dtype is None
    if weak:
        dtype = {bool: "bool", int: "i64", float: "f64", complex: "c128"}[type(value)]
    return node("const", (), dtype, weak and dtype != "bool", _as_kind(value, dtype))


def _as_kind(value, dtype):
    if dtype in COMPLEX:
        return complex(value)
    if is_inexact(dtype):
        return float(value)
    if dtype == "bool":
        return bool(value)
    bits = 32 if dtype == "i32" else 64
    return (int(value) + (1 << (bits - 1))) % (1 << bits) - (1 << (bits - 1))


def as_expr(x) -> Expr:
    """`x` itself, or a literal for a Python number."""
    return x if isinstance(x, Expr) else constant(x)


def _widest(dtypes):
    dtype = max(dtypes, key=ORDER.__getitem__)
    return "c128" if dtype == "c64" and "f64" in dtypes else dtype


def promote(args):
    """PyTorch's rule: the widest strong dtype; a weak operand counts only by its kind.

    Returns the operands in one dtype, that dtype, and whether the result is still weak.
    """
    args = [as_expr(a) for a in args]
    strong = [a.dtype for a in args if not a.weak]
    if not strong:
        dtype = _widest([a.dtype for a in args])
        return [cast(a, dtype, weak=True) for a in args], dtype, dtype != "bool"
    dtype = _widest(strong)
    for a in args:
        if not a.weak:
            continue
        if a.dtype in COMPLEX and dtype not in COMPLEX:
            dtype = "c128" if dtype == "f64" else "c64"
        elif is_inexact(a.dtype) and not is_inexact(dtype):
            dtype = DEFAULT_FLOAT
        elif a.dtype == "i64" and dtype == "bool":
            dtype = "i64"
    return [cast(a, dtype) for a in args], dtype, False


def cast(x, dtype: str, weak=False) -> Expr:
    """`x` converted to a dtype name.

    Half-width floats are rounded and stay float32; narrow integers wrap and stay 32-bit: what
    storing and loading again would do. Complex to real drops the imaginary part.
    """
    x = as_expr(x)
    if dtype in HALF:
        exact = x.op == "load" and x.value[1] == dtype or x.op == "round" and x.value == dtype
        return x if exact else node("round", (cast(x, "f32"),), "f32", value=dtype)
    if dtype in NARROW:
        exact = x.op == "load" and x.value[1] == dtype or x.op == "wrap" and x.value == dtype
        if exact or x.dtype == "bool":
            return cast(x, "i32")
        return node("wrap", (cast(x, "i32"),), "i32", value=dtype)
    if x.dtype == dtype and x.weak == weak:
        return x
    if x.op == "const" and not (x.dtype in COMPLEX and dtype not in COMPLEX):
        value = x.value
        if is_inexact(x.dtype) and not is_inexact(dtype) and not np.isfinite(value):
            value = dtype == "bool" or -(1 << 63)
        return node("const", (), dtype, weak, _as_kind(value, dtype))
    return node("cast", (x,), dtype, weak)


# ---------------------------------------------------------------------------------------- programs
@dataclass(frozen=True)
class Program:
    """What an executor runs: inputs with storage dtypes, run-time scalars, one or more outputs."""

    inputs: tuple  # ((name, storage dtype), ...)
    params: tuple  # ((name, "f64" | "i64"), ...): passed at run time
    outputs: tuple  # ((Expr, storage dtype), ...); the Expr is in the storage's compute dtype

    @lazy
    def text(self) -> str:
        """Canonical listing: the identity of the program, and what the disk cache hashes."""
        lines, names = listing([e for e, _ in self.outputs])
        head = f"in {[d for _, d in self.inputs]} params {[d for _, d in self.params]}"
        tail = "out " + ", ".join(f"{names[e]}:{d}" for e, d in self.outputs)
        return "\n".join([head, *lines, tail])

    @property
    def dtypes(self) -> list:
        """Storage dtypes of outputs, then inputs: the order of a kernel's pointers."""
        return [d for _, d in (*self.outputs, *self.inputs)]


def topological(roots):
    """Every node once, operands first, in an order that depends on the graph only."""
    order, seen, stack = [], set(), [(r, False) for r in reversed(roots)]
    while stack:
        e, ready = stack.pop()
        if ready:
            order.append(e)
        elif e not in seen:
            seen.add(e)
            stack.append((e, True))
            stack.extend((a, False) for a in reversed(e.args) if a not in seen)
    return order


def listing(roots):
    """Text lines of a graph, and the name of every node."""
    names, lines = {}, []
    for e in topological(roots):
        names[e] = f"%{len(names)}"
        value = (
            "" if e.value is None else f" {e.value.hex() if type(e.value) is float else e.value}"
        )
        operands = " ".join(names[a] for a in e.args)
        weak = "?" if e.weak else ""
        lines.append(f"{names[e]}:{e.dtype}{weak} = {e.op}{value} {operands}".rstrip())
    return lines, names


def load(index: int, dtype: str) -> Expr:
    """The element of input `index`, stored as `dtype`."""
    return node("load", (), COMPUTE[dtype], value=(index, dtype))


def param(index: int, kind: str) -> Expr:
    """Run-time scalar `index`, an ``"i64"`` or ``"f64"``, weak."""
    return node("param", (), kind, True, index)


def substitute(roots, mapping):
    """Replace nodes by others and rebuild what depends on them: this is fusion."""
    done = dict(mapping)
    for e in topological(roots):
        if e not in done:
            done[e] = rebuild(e, [done[a] for a in e.args])
    return [done[r] for r in roots]


def rebuild(e, args):
    """`e` with other operands."""
    same = all(a is b for a, b in zip(args, e.args, strict=True))
    return e if same else node(e.op, args, e.dtype, e.weak, e.value)


def trace(body, inputs, operands, scalars, static, outputs) -> Program:
    """Call `body` with symbols and return the program it describes.

    See :func:`rushlight.compiler.compile_kernel` for the arguments.
    """
    named = {
        name: cast(load(j, dtype), operands.get(name, dtype))
        for j, (name, dtype) in enumerate(inputs.items())
    }
    for j, (name, kind) in enumerate(scalars.items()):
        number = param(j, kind)
        named[name] = cast(number, operands[name]) if name in operands else number
    results = body(**named, **static)
    results = tuple(results) if isinstance(results, (tuple, list)) else (results,)
    if len(results) != len(outputs):
        raise TypeError(
            f"compile_kernel(): the body gave {len(results)} results, outputs names {len(outputs)} "
            "dtypes"
        )
    roots = [_stored(r, d) for r, d in zip(results, outputs, strict=True)]
    return Program(
        tuple(inputs.items()), tuple(scalars.items()), tuple(zip(roots, outputs, strict=True))
    )


def _stored(result, dtype):
    """`result` in the arithmetic form of a storage dtype; storing then wraps or rounds."""
    result = cast(result, COMPUTE[dtype])
    # A rounding that storing repeats anyway is dropped.
    while result.op in ("round", "wrap") and result.value == dtype:
        result = result.args[0]
    return result

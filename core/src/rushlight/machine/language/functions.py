"""The kernel language: a typed subset of Python in which the CPU kernels are written.

A kernel is an ordinary Python function that is never run by Python. At first need its source is
lowered to LLVM IR (:mod:`rushlight.machine.language.lowering`), compiled and stored on disk
(:mod:`rushlight.machine.machine_code`); nothing here imports a compiler. What may be written:

* integers are ``i64``, division and remainder round down as in Python; ``f32(x)``, ``i64(x)``
  and the like convert; a bare literal takes the type of the other operand;
* ``array(f32, address)`` views memory: ``x[i]``, ``x[i] = v``, ``x[i] += v``; addresses are i64;
* elements of ``array(f16, address)`` and ``array(bf16, address)`` are read as f32, and an f32 is
  rounded to the nearest when it is written; values of these types do not exist otherwise;
* ``for i in range(...)`` (step > 0), ``while``, ``if``, ``break``, ``continue``, ``return`` (also
  of tuples), chained comparisons, ``a if c else b`` (both sides are evaluated: it is a select);
* calls of other :func:`function` and :func:`shared_function` objects, of :class:`External` C
  functions and of :class:`Emitted` fragments of LLVM IR;
* global names are constants, read when the kernel is compiled. A :class:`Parameter` is a global
  that the caller chooses (``kernel.address(real=f32)``): each choice is its own machine code, and
  an ``if`` on constants keeps only the branch taken.

Why not Numba: these kernels compile ten times faster (10 to 40 ms each), load in 0.3 ms, need no
half second of import, and no address, closure or dispatcher can slip into cached code.
"""

from __future__ import annotations

import dataclasses


@dataclasses.dataclass(frozen=True)
class NativeType:
    """A machine type; called inside a kernel it converts a value."""

    name: str
    kind: str
    bits: int

    def __call__(self, value):
        """Only inside kernels."""
        raise TypeError(f"{self.name}() exists inside kernels only")

    def __repr__(self):
        return self.name


boolean = NativeType("boolean", "bool", 1)
i8 = NativeType("i8", "int", 8)
u8 = NativeType("u8", "unsigned", 8)
u16 = NativeType("u16", "unsigned", 16)
i32 = NativeType("i32", "int", 32)
u32 = NativeType("u32", "unsigned", 32)
i64 = NativeType("i64", "int", 64)
f32 = NativeType("f32", "float", 32)
f64 = NativeType("f64", "float", 64)
f16 = NativeType("f16", "half", 16)  # of elements in memory alone
bf16 = NativeType("bf16", "half", 16)


@dataclasses.dataclass(frozen=True)
class Pointer:
    """The type of ``array(element, address)``."""

    element: NativeType


class Parameter:
    """A global name of a kernel whose value (a type or a number) whoever compiles it gives."""

    def __init__(self, name):
        self.name = name

    def __call__(self, value):
        """Only inside kernels."""
        raise TypeError(f"{self.name}() exists inside kernels only")

    def __bool__(self):
        raise TypeError(f"the kernel parameter {self.name} has no value outside a kernel")


class Builtin:
    """An operation of the language itself."""

    def __init__(self, name):
        self.name = name

    def __call__(self, *arguments):
        """Only inside kernels."""
        raise TypeError(f"{self.name}() exists inside kernels only")


array = Builtin("array")
bitcast = Builtin("bitcast")  # bitcast(type, value): same bits, other type
stack = Builtin("stack")  # stack(words): address of that many int64 on the stack
square_root = Builtin("square_root")
absolute = Builtin("absolute")
floor = Builtin("floor")
fused_multiply_add = Builtin("fused_multiply_add")
maximum = Builtin("maximum")  # NaN wins, as in np.maximum
minimum = Builtin("minimum")
call_address = Builtin("call_address")  # call_address(function, i64...): a void C function
load_acquire = Builtin("load_acquire")
store_release = Builtin("store_release")
atomic_swap = Builtin("atomic_swap")
atomic_add = Builtin("atomic_add")  # returns the value before, as do all atomic operations
atomic_subtract = Builtin("atomic_subtract")
spin_pause = Builtin("spin_pause")
# `for i in masked(n)`: a loop over few elements: vectors, then a masked one (without AVX-512 short
# ones). No round may read or write elements of arrays that another writes.
masked = Builtin("masked")
# `for i in independent(n)`: such a loop over any number of elements: blocks, then what masked does.
independent = Builtin("independent")
# `for i in scattered(n)`: one element at a time, where LLVM would gather vectors that do not pay.
scattered = Builtin("scattered")
static = Builtin("static")  # `for i in static(4)`: unrolled, i is a constant in the body
infinity = Builtin("infinity")  # infinity(real)
quiet_nan = Builtin("quiet_nan")


real = Parameter("real")  # the floating type of a kernel
stored = Parameter("stored")  # what such a kernel's arrays hold: `real`, or a type half as wide
element = Parameter("element")  # the element type of kernels that only move data


class External:
    """A C function called by its name, resolved when the code is loaded.

    ``library`` is called before the first use and must make the symbol visible.
    """

    def __init__(self, name, result, arguments, library=None):
        self.name, self.result, self.arguments, self.library = name, result, arguments, library

    def __call__(self, *arguments):
        """Only inside kernels."""
        raise TypeError(f"{self.name}() exists inside kernels only")


class Emitted:
    """A piece of LLVM IR built by ``emit(builder, values)``, placed in an internal function.

    ``emit`` returns the result (or None for void). Arguments and result are machine types.
    """

    def __init__(self, name, result, arguments, emit):
        self.name, self.result, self.arguments, self.emit = name, result, arguments, emit

    def __call__(self, *arguments):
        """Only inside kernels."""
        raise TypeError(f"{self.name}() exists inside kernels only")


class Chosen:
    """One of several things to call, by the value of a :class:`Parameter`."""

    def __init__(self, parameter, members):
        self.parameter, self.members = parameter, members

    def __call__(self, *arguments):
        """Only inside kernels."""
        raise TypeError("a choice by parameter exists inside kernels only")


class NativeFunction:
    """A function of the language; ``kind`` is "inline", "shared" or "entry"."""

    def __init__(self, definition, kind, flags, arguments=None, result=None, wide=False):
        self.definition, self.kind, self.flags, self.wide = definition, kind, flags, wide
        self.arguments, self.result = arguments, result
        self.__name__, self.__doc__ = definition.__name__, definition.__doc__
        self.__module__ = definition.__module__
        self._addresses = {}

    def __call__(self, *arguments):
        """Kernels are launched, not called."""
        raise TypeError(f"{self.__name__} is compiled: pass its address() to launch")

    def symbol(self, parameters):
        """The name of its machine code for these parameters (a dict)."""
        home = self.__module__.removeprefix("rushlight.").removeprefix("kernels.")
        package = home.replace(".", "_")
        suffix = "".join(f"_{key}_{value}" for key, value in sorted(parameters.items()))
        suffix += "_wide" if self.wide else ""
        return f"rl_{package}_{self.__name__}{suffix}".replace(".", "p").replace("-", "m")

    def address(self, **parameters):
        """Address of the machine code, compiled (or read from the disk cache) at first need."""
        key = tuple(parameters.items())
        found = self._addresses.get(key)
        if found is None:
            from rushlight.machine.machine_code import address_of

            found = self._addresses[key] = address_of(self, parameters)
        return found


CONTRACT = ("contract",)  # a * b + c may become one fused operation, never NaN-blind
REDUCTION = ("contract", "reassoc")  # sums may also be split over vector lanes


def function(definition=None, *, reassociate=False, fused=True):
    """A function expanded where it is called; argument and result types follow from the call.
    `fused` is as for :func:`range_kernel`."""
    flags = REDUCTION if reassociate else CONTRACT if fused else ()
    if definition is None:
        return lambda inner: NativeFunction(inner, "inline", flags)
    return NativeFunction(definition, "inline", flags)


def shared_function(definition):
    """A function of i64 arguments, compiled once and called by all others.

    It returns nothing, or an i64 where it is annotated ``-> i64``.
    """
    count = definition.__code__.co_argcount
    result = i64 if "return" in definition.__annotations__ else None
    return NativeFunction(definition, "shared", CONTRACT, (i64,) * count, result)


def entry(result, *arguments):
    """A C function with the given types, to be called from outside."""
    return lambda definition: NativeFunction(definition, "entry", CONTRACT, arguments, result)


def range_kernel(definition=None, *, reassociate=False, wide=False, fused=True):
    """``void k(args, lo, hi, tid)``: items lo..hi-1 of a job for :func:`threads.launch`.

    `wide`: loops take the widest vectors there are, which pays where long rows meet much
    arithmetic; LLVM prefers 256 bits otherwise, which leave less of a short row over.
    `fused`: products that are added to something may be rounded with the sum, once.
    """
    flags = REDUCTION if reassociate else CONTRACT if fused else ()
    if definition is None:
        return lambda inner: NativeFunction(inner, "entry", flags, (i64,) * 4, None, wide)
    return NativeFunction(definition, "entry", flags, (i64,) * 4, None, wide)

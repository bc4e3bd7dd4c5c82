"""Programs to CUDA C++ text: the same lowered graph that becomes LLVM IR on the CPU.

A program gives one device function of scalars and, around it, kernels in two forms. ``flat`` takes
arrays that are laid out alike in memory, 16 bytes at a time; ``strided`` takes any strides, with
32-bit division of the index, or 64-bit where there are 2**31 elements or more. Numbers are
arguments of the kernel, never part of its text. The text needs no header and is the same for a
GPU's compiler and for the emulator."""

from __future__ import annotations

import hashlib
import struct

from rushlight.compiler.cpu.instructions import COMPARE
from rushlight.compiler.cpu.lowering import lower
from rushlight.compiler.functions.algebra import ROUND_BITS
from rushlight.compiler.graph import topological
from rushlight.compiler.storage import SIZE, is_float

OPTIONS = ("--fmad=false",)  # the approximations rely on every operation being rounded
FORMS = ("flat", "strided")
THREADS = 256
MAX_DIMS = 12
NARROW = (1 << 31) - 1  # elements that 32-bit division numbers
LONG, VERY_LONG = 64, 256  # operations

VALUE = {"bool": "bool", "i32": "int", "i64": "long long", "f32": "float", "f64": "double"}
MEMORY = {
    "bool": "unsigned char",
    "u8": "unsigned char",
    "i8": "signed char",
    "i16": "short",
    "i32": "int",
    "i64": "long long",
    "f16": "half_bits",
    "bf16": "bfloat_bits",
    "f32": "float",
    "f64": "double",
}
_OPERATOR = {
    "less": "<",
    "less_equal": "<=",
    "greater": ">",
    "greater_equal": ">=",
    "equal": "==",
    "not_equal": "!=",
}
_ARITHMETIC = {"add": "+", "subtract": "-", "multiply": "*", "divide": "/"}
_BITS = {
    "bitwise_and": "&",
    "bitwise_or": "|",
    "bitwise_xor": "^",
    "logical_and": "&",
    "logical_or": "|",
    "logical_xor": "^",
}
_WHOLE = {"sqrt": "sqrt", "floor": "floor", "ceil": "ceil", "trunc": "trunc", "round": "rint"}

PRELUDE = """\
#ifdef RUSHLIGHT_EMULATOR
#define INLINE static __attribute__((noinline))
#else
#define INLINE static __device__ __forceinline__
#endif
#if defined(RUSHLIGHT_EMULATOR) || defined(RUSHLIGHT_HIP)
#define NATIVE_HALF
typedef _Float16 native_half;
#endif
struct half_bits { unsigned short bits; };
struct bfloat_bits { unsigned short bits; };
template <class T, int N> struct alignas(sizeof(T) * N) pack { T v[N]; };
static __device__ inline float decode(half_bits x) {
#ifdef NATIVE_HALF
  native_half h; memcpy(&h, &x.bits, 2); return (float)h;
#else
  float f; asm("cvt.f32.f16 %0, %1;" : "=f"(f) : "h"(x.bits)); return f;
#endif
}
static __device__ inline half_bits encode_half(float f) {
  half_bits x;
#ifdef NATIVE_HALF
  native_half h = (native_half)f; memcpy(&x.bits, &h, 2);
#else
  asm("cvt.rn.f16.f32 %0, %1;" : "=h"(x.bits) : "f"(f));
#endif
  return x;
}
static __device__ inline float decode(bfloat_bits x) {
  return __uint_as_float((unsigned)x.bits << 16);
}
static __device__ inline bfloat_bits encode_bfloat(float f) {
  unsigned u = __float_as_uint(f), high = u >> 16;
  bfloat_bits x;
  x.bits = (unsigned short)(f != f ? high | 64u : (u + 32767u + (high & 1u)) >> 16);
  return x;
}
// Conversions to integers as on x86: what does not fit gives the smallest number.
#define LEAST_INT (-2147483647 - 1)
#define LEAST_LONG (-9223372036854775807ll - 1)
static __device__ inline int to_int(float x) {
  return x >= -2147483648.f && x < 2147483648.f ? (int)x : LEAST_INT;
}
static __device__ inline int to_int(double x) {
  return x > -2147483649. && x < 2147483648. ? (int)x : LEAST_INT;
}
static __device__ inline long long to_long(float x) {
  return x >= -9223372036854775808.f && x < 9223372036854775808.f ? (long long)x : LEAST_LONG;
}
static __device__ inline long long to_long(double x) {
  return x >= -9223372036854775808. && x < 9223372036854775808. ? (long long)x : LEAST_LONG;
}
static __device__ inline float scaled(float x, int n) {
  int half = n >> 1, rest = n - half;
  return x * __int_as_float((half + 127) << 23) * __int_as_float((rest + 127) << 23);
}
static __device__ inline double scaled(double x, long long n) {
  long long half = n >> 1, rest = n - half;
  return x * __longlong_as_double((half + 1023) << 52) * __longlong_as_double((rest + 1023) << 52);
}
template <class T> static __device__ inline T sdiv(T x, T y) {
  return y == 0 ? 0 : y == -1 ? (T)(0 - (unsigned long long)x) : x / y;
}
template <class T> static __device__ inline T ipow(T x, T y) {
  if (y < 0) return x == 1 ? 1 : x == -1 ? ((y & 1) ? -1 : 1) : 0;
  unsigned long long result = 1, base = (unsigned long long)x;
  for (unsigned long long left = (unsigned long long)y; left; left >>= 1) {
    if (left & 1) result *= base;
    base *= base;
  }
  return (T)result;
}
struct Layout { long long count; long long dims; long long size[12]; long long step[96]; };
"""


class Printer:
    """The text of one program."""

    def __init__(self, program):
        self.program = program
        self.roots = lower([e for e, _ in program.outputs])
        self.order = topological(self.roots)
        digest = hashlib.sha256(program.text.encode()).hexdigest()[:20]
        self.name = f"e{digest}"
        self.inputs = [MEMORY[d] for _, d in program.inputs]
        self.outputs = [MEMORY[d] for _, d in program.outputs]
        self.params = [VALUE[kind] for _, kind in program.params]

    # ---- one node
    def expression(self, e, a):
        """C++ for the value of a node whose operands are named `a`."""
        method = getattr(self, "print_" + e.op, None)
        if method is not None:
            return method(e, a)
        if e.op in COMPARE:
            return f"{a[0]} {_OPERATOR[e.op]} {a[1]}"
        if e.op in _WHOLE:
            return f"{_function(_WHOLE[e.op], e.dtype)}({a[0]})"
        if e.op in _ARITHMETIC:
            return self.arithmetic(e, a)
        if e.op in _BITS:
            return f"({VALUE[e.dtype]})({a[0]} {_BITS[e.op]} {a[1]})"
        raise NotImplementedError(f"xp.{e.op}: no CUDA text for {e.dtype} operands")

    def arithmetic(self, e, a):
        """Sums, differences, products and quotients; integers wrap."""
        sign = _ARITHMETIC[e.op]
        if is_float(e.dtype):
            return f"{a[0]} {sign} {a[1]}"
        if e.dtype == "bool":
            return f"(bool)({a[0]} {'|' if e.op == 'add' else '&'} {a[1]})"
        wide = "unsigned" if e.dtype == "i32" else "unsigned long long"
        return f"({VALUE[e.dtype]})(({wide}){a[0]} {sign} ({wide}){a[1]})"

    def print_const(self, e, a):
        """A literal; floats by their bits."""
        return _literal(e.value, e.dtype)

    def print_param(self, e, a):
        """A run-time number."""
        return f"p{e.value}"

    def print_load(self, e, a):
        """An element, in arithmetic form."""
        index, storage = e.value
        if storage in ("f16", "bf16"):
            return f"decode(x{index})"
        return f"x{index} != 0" if storage == "bool" else f"({VALUE[e.dtype]})x{index}"

    def print_round(self, e, a):
        """Rounding to a half-width float that stays float32; `round` with no format is rint."""
        if e.value is None:
            return f"{_function('rint', e.dtype)}({a[0]})"
        return f"decode({_ENCODE[e.value]}({a[0]}))"

    def print_wrap(self, e, a):
        """A 32-bit integer wrapped to a narrow one."""
        return f"(int)({MEMORY[e.value]}){a[0]}"

    def print_bitcast(self, e, a):
        """The same bits as another type."""
        word = {
            "f32": "__int_as_float",
            "i32": "__float_as_int",
            "f64": "__longlong_as_double",
            "i64": "__double_as_longlong",
        }[e.dtype]
        return f"{word}({a[0]})"

    def print_cast(self, e, a):
        """Numeric conversion."""
        source, target = e.args[0].dtype, e.dtype
        if source == target:
            return a[0]
        if target == "bool":
            return f"{a[0]} != 0"
        if is_float(source) and not is_float(target):
            return f"{'to_int' if target == 'i32' else 'to_long'}({a[0]})"
        return f"({VALUE[target]}){a[0]}"

    def print_negative(self, e, a):
        """Sign change."""
        if is_float(e.dtype):
            return f"-{a[0]}"
        wide = "unsigned" if e.dtype == "i32" else "unsigned long long"
        return f"({VALUE[e.dtype]})(0 - ({wide}){a[0]})"

    def print_abs(self, e, a):
        """Absolute value; the smallest integer stays itself."""
        if is_float(e.dtype):
            return f"{_function('fabs', e.dtype)}({a[0]})"
        wide = "unsigned" if e.dtype == "i32" else "unsigned long long"
        return f"{a[0]} < 0 ? ({VALUE[e.dtype]})(0 - ({wide}){a[0]}) : {a[0]}"

    def print_copysign(self, e, a):
        """Magnitude of the first, sign of the second."""
        return f"{_function('copysign', e.dtype)}({a[0]}, {a[1]})"

    def print_fma(self, e, a):
        """Fused multiply and add."""
        return f"{_function('fma', e.dtype)}({a[0]}, {a[1]}, {a[2]})"

    def print_ldexp(self, e, a):
        """Scaling by a power of two, in two steps: neither factor over- or underflows."""
        return f"scaled({a[0]}, {a[1]})"

    def print_shl(self, e, a):
        """Bits moved left."""
        wide = "unsigned" if e.dtype == "i32" else "unsigned long long"
        return f"({VALUE[e.dtype]})(({wide}){a[0]} << {a[1]})"

    def print_ashr(self, e, a):
        """Bits moved right, with the sign."""
        return f"{a[0]} >> {a[1]}"

    def extremum(self, e, a, sign, word):
        """NaN wins."""
        if e.dtype == "bool":
            return f"(bool)({a[0]} {word} {a[1]})"
        nan = f"{a[0]} != {a[0]} ? {a[0]} : " if is_float(e.dtype) else ""
        return f"{nan}{a[0]} {sign} {a[1]} ? {a[0]} : {a[1]}"

    def print_maximum(self, e, a):
        """Larger operand."""
        return self.extremum(e, a, ">", "|")

    def print_minimum(self, e, a):
        """Smaller operand."""
        return self.extremum(e, a, "<", "&")

    def print_where(self, e, a):
        """Selection."""
        return f"{a[0]} ? {a[1]} : {a[2]}"

    def print_isnan(self, e, a):
        """Unordered with itself."""
        return f"{a[0]} != {a[0]}"

    def print_isinf(self, e, a):
        """Magnitude is infinite."""
        return f"{_function('fabs', e.args[0].dtype)}({a[0]}) == {_literal(1e999, e.args[0].dtype)}"

    def print_isfinite(self, e, a):
        """Magnitude is below infinity."""
        return f"{_function('fabs', e.args[0].dtype)}({a[0]}) < {_literal(1e999, e.args[0].dtype)}"

    def print_logical_not(self, e, a):
        """Not."""
        return f"!{a[0]}"

    def print_invert(self, e, a):
        """Every bit flipped."""
        return f"!{a[0]}" if e.dtype == "bool" else f"~{a[0]}"

    def print_libm(self, e, a):
        """A function of CUDA's own library."""
        return f"{e.value}({', '.join(a)})"

    def print_lanes(self, e, a):
        """One of our own functions of integers."""
        return f"{e.value}<{VALUE[e.dtype]}>({', '.join(a)})"

    def print_scale(self, e, a):
        """Scaling by a power of two that is there as a float, and with its bits as an integer."""
        word, kind = ("float", "int") if e.dtype == "f32" else ("double", "longlong")
        return f"scaled({a[0]}, __{word}_as_{kind}({a[2]}) - {ROUND_BITS[e.dtype]})"

    def print_repair(self, e, a):
        """`where(mask, function(...), value)`: the rare branch. Our own functions of vectors are
        named after those of the library, which stand for them here."""
        value, mask, *operands = a
        function = e.value.removeprefix("any_").removeprefix("wide_")
        if function in ("sdiv", "ipow"):
            function += f"<{VALUE[e.dtype]}>"
        return f"{mask} ? {function}({', '.join(operands)}) : {value}"

    # ---- whole texts
    def function(self):
        """The device function of scalars: outputs by reference, inputs, numbers."""
        head = [f"{t}& y{j}" for j, t in enumerate(self.outputs)]
        head += [f"{t} x{j}" for j, t in enumerate(self.inputs)]
        head += [f"{t} p{j}" for j, t in enumerate(self.params)]
        lines, names = [], {}
        for e in self.order:
            name = names[e] = f"v{len(names)}"
            text = self.expression(e, [names[a] for a in e.args])
            lines.append(f"  const {VALUE[e.dtype]} {name} = {text};")
        for j, (root, (_, storage)) in enumerate(
            zip(self.roots, self.program.outputs, strict=True)
        ):
            value = names[root]
            value = f"{_ENCODE[storage]}({value})" if storage in _ENCODE else value
            lines.append(f"  y{j} = ({MEMORY[storage]}){value};")
        return f"INLINE void f_{self.name}({', '.join(head)}) {{\n" + "\n".join(lines) + "\n}\n"

    def _call(self, outputs, inputs):
        arguments = [*outputs, *inputs, *(f"p{j}" for j in range(len(self.params)))]
        return f"f_{self.name}({', '.join(arguments)});"

    def width(self):
        """Elements that one thread takes: 16 bytes of the widest type; two, or one, where
        arithmetic, not memory, takes the time (more would only make code long)."""
        widest = max([SIZE[d] for d in self.program.dtypes], default=1)
        operations = sum(_COST.get(e.op, 1) for e in self.order)
        most = 8 if operations <= LONG else 2 if operations <= VERY_LONG else 1
        return max(1, min(most, 16 // widest))

    def flat(self):
        """The kernel for arrays that are laid out alike in memory."""
        width = self.width()
        outs, ins = range(len(self.outputs)), range(len(self.inputs))
        head = ["long long n"]
        # No promise that they differ: an output may be an input, in place.
        head += [f"{t}* out{j}" for j, t in enumerate(self.outputs)]
        head += [f"const {t}* in{j}" for j, t in enumerate(self.inputs)]
        head += [f"{t} p{j}" for j, t in enumerate(self.params)]
        one = self._call([f"out{j}[i]" for j in outs], [f"in{j}[i]" for j in ins])
        if width == 1:
            return (
                f'extern "C" __global__ void {self.name}_flat({", ".join(head)}) {{\n'
                f"  long long i = (long long)blockIdx.x * {THREADS} + threadIdx.x;\n"
                f"  if (i < n) {one}\n}}\n"
            )
        many = self._call([f"b{j}.v[k]" for j in outs], [f"a{j}.v[k]" for j in ins])
        packs = [f"pack<{t}, {width}>" for t in self.inputs]
        loads = "".join(f"    {t} a{j} = *(const {t}*)(in{j} + i);\n" for j, t in enumerate(packs))
        made = "".join(f"    pack<{self.outputs[j]}, {width}> b{j};\n" for j in outs)
        stores = "".join(
            f"    *(pack<{self.outputs[j]}, {width}>*)(out{j} + i) = b{j};\n" for j in outs
        )
        return (
            f'extern "C" __global__ void {self.name}_flat({", ".join(head)}) {{\n'
            f"  long long i = ((long long)blockIdx.x * {THREADS} + threadIdx.x) * {width};\n"
            f"  if (i + {width} <= n) {{\n{loads}{made}"
            f"#pragma unroll\n    for (int k = 0; k < {width}; ++k) {many}\n{stores}  }} else {{\n"
            f"#pragma unroll 1\n    for (; i < n; ++i) {one}\n  }}\n}}\n"
        )

    def strided(self):
        """The kernel for any strides; counts and steps come in one struct, slowest dimension
        first, steps in bytes: outputs, then inputs."""
        outs, ins = range(len(self.outputs)), range(len(self.inputs))
        count = len(self.outputs) + len(self.inputs)
        head = ["const Layout layout"]
        head += [f"char* out{j}" for j in outs] + [f"const char* in{j}" for j in ins]
        head += [f"{t} p{j}" for j, t in enumerate(self.params)]
        declared = ", ".join(f"o{j} = 0" for j in range(count))
        call = self._call(
            [f"*({self.outputs[j]}*)(out{j} + o{j})" for j in outs],
            [f"*(const {self.inputs[j]}*)(in{j} + o{len(self.outputs) + j})" for j in ins],
        )
        return (
            f'extern "C" __global__ void {self.name}_strided({", ".join(head)}) {{\n'
            f"  unsigned long long i = (unsigned long long)blockIdx.x * {THREADS} + threadIdx.x;\n"
            "  if (i >= (unsigned long long)layout.count) return;\n"
            f"  long long {declared};\n"
            f"  if (layout.count <= {NARROW}ll) {{\n{_offsets(count, 'unsigned')}"
            f"  }} else {{\n{_offsets(count, 'unsigned long long')}  }}\n  {call}\n}}\n"
        )

    def text(self, forms=FORMS):
        """The function and the kernels of some forms, without the prelude."""
        parts = [self.function()]
        for form in forms:
            parts.append(self.flat() if form == "flat" else self.strided())
        return "".join(parts)


def _offsets(count, kind):
    """Where an index is in every array, by divisions of that type of integers."""
    steps = "".join(
        f"      o{j} += (long long)at * layout.step[d * {count} + {j}];\n" for j in range(count)
    )
    return (
        f"    {kind} left = ({kind})i;\n"
        "#pragma unroll 1\n"  # few rounds
        "    for (int d = (int)layout.dims - 1; d >= 0; --d) {\n"
        f"      {kind} size = ({kind})layout.size[d];\n"
        f"      {kind} next = left / size, at = left - next * size;\n"
        f"{steps}      left = next;\n    }}\n"
    )


_COST = {"libm": 40, "lanes": 20, "repair": 20}  # operations that functions of CUDA's are about


_ENCODE = {"f16": "encode_half", "bf16": "encode_bfloat"}


def _function(name, dtype):
    """A C function's name for a float type."""
    return name + "f" if dtype == "f32" else name


def _literal(value, dtype):
    if dtype == "bool":
        return "true" if value else "false"
    if dtype == "i32":
        return f"({value})" if value > -(1 << 31) else "(-2147483647 - 1)"
    if dtype == "i64":
        return f"({value}ll)" if value > -(1 << 63) else "(-9223372036854775807ll - 1)"
    if dtype == "f64":
        (bits,) = struct.unpack("q", struct.pack("d", value))
        return f"__longlong_as_double(0x{bits & (1 << 64) - 1:016x}ll)"
    try:
        packed = struct.pack("f", value)
    except OverflowError:
        packed = struct.pack("f", float("inf") if value > 0 else float("-inf"))
    (bits,) = struct.unpack("I", packed)
    return f"__int_as_float(0x{bits:08x})"


def is_printable(program):
    """Whether every node has CUDA text: complex numbers have none, nor float16 neighbours."""
    from rushlight.compiler.compilation import _is_emitted

    return _is_emitted(program) and len(program.dtypes) * MAX_DIMS <= 96


def source(texts):
    """A whole source from texts of several programs."""
    return PRELUDE + "".join(texts)

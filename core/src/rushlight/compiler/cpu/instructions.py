"""LLVM IR text of single graph nodes, scalar or vector."""

from __future__ import annotations

import struct

from rushlight.compiler.functions import exponentials, trigonometry
from rushlight.compiler.functions.algebra import ROUND_BITS
from rushlight.compiler.storage import is_float

REPAIRS = trigonometry.REPAIRS | exponentials.REPAIRS  # graphs for rare arguments

SCALAR = {"bool": "i1", "i32": "i32", "i64": "i64", "f32": "float", "f64": "double"}
MEMORY = {
    "bool": "i8",
    "u8": "i8",
    "i8": "i8",
    "i16": "i16",
    "i32": "i32",
    "i64": "i64",
    "f16": "half",
    "bf16": "i16",
    "f32": "float",
    "f64": "double",
}
WIDTH = {"i32": 32, "i64": 64, "f32": 32, "f64": 64}
FLOAT_BINARY = {"add": "fadd", "subtract": "fsub", "multiply": "fmul", "divide": "fdiv"}
INT_BINARY = {
    "add": "add",
    "subtract": "sub",
    "multiply": "mul",
    "bitwise_and": "and",
    "bitwise_or": "or",
    "bitwise_xor": "xor",
    "logical_and": "and",
    "logical_or": "or",
    "logical_xor": "xor",
    "shl": "shl",
    "ashr": "ashr",
}
BOOL_BINARY = {"add": "or", "multiply": "and"}
COMPARE = {
    "less": ("olt", "slt", "ult"),
    "less_equal": ("ole", "sle", "ule"),
    "greater": ("ogt", "sgt", "ugt"),
    "greater_equal": ("oge", "sge", "uge"),
    "equal": ("oeq", "eq", "eq"),
    "not_equal": ("une", "ne", "ne"),
}
UNARY_INTRINSIC = {
    "floor": "floor",
    "ceil": "ceil",
    "trunc": "trunc",
    "round": "roundeven",
}


def literal(value, dtype: str) -> str:
    """A constant in IR text; LLVM writes floats as the bits of the double they equal."""
    if dtype == "bool":
        return "true" if value else "false"
    if not is_float(dtype):
        return str(value)
    if dtype == "f32" and abs(value) <= 3.4028234663852886e38:
        value = struct.unpack("f", struct.pack("f", value))[0]
    elif dtype == "f32" and value == value:
        value = float("inf") if value > 0 else float("-inf")
    (bits,) = struct.unpack("Q", struct.pack("d", value))
    return f"0x{bits:016X}"


class Instructions:
    """One method per node kind; values are written through :meth:`put` at :attr:`width` lanes."""

    width: int
    lanes: int
    counter: int
    block: str
    divides = False  # whether the program divides

    def __init__(self):
        self.out, self.declared, self.functions, self.counter = [], set(), {}, 0

    # ---- text
    def type(self, dtype):
        """IR type of a value at the current width."""
        return self.vector_type(SCALAR[dtype])

    def vector_type(self, scalar):
        """IR type of `width` values of a scalar IR type."""
        return scalar if self.width == 1 else f"<{self.width} x {scalar}>"

    def fresh(self):
        """A new value name."""
        self.counter += 1
        return f"%v{self.counter}"

    def put(self, text):
        """Append an instruction and name its value."""
        name = self.fresh()
        self.out.append(f"  {name} = {text}")
        return name

    def splat(self, text, dtype):
        """A literal at the current width."""
        return text if self.width == 1 else f"splat ({SCALAR[dtype]} {text})"

    def intrinsic(self, name, dtype, operands, types, result=None):
        """Call an overloaded intrinsic; `types` are the full operand types."""

        def suffix(kind):
            return kind if self.width == 1 else f"v{self.width}{kind}"

        kind = suffix({"bool": "i1"}.get(dtype, dtype))
        if name == "ldexp":
            kind += "." + suffix("i32" if dtype == "f32" else "i64")
        result = result or self.type(dtype)
        full = f"@llvm.{name}.{kind}"
        self.declared.add(f"declare {result} {full}({', '.join(types)})")
        arguments = ", ".join(f"{t} {o}" for t, o in zip(types, operands, strict=True))
        return self.put(f"call {result} {full}({arguments})")

    def instruction(self, e, a):
        """The value of node `e` whose operands are named `a`."""
        if e.op == "const":
            return literal(e.value, e.dtype)
        method = getattr(self, "emit_" + e.op, None)
        if method:
            return method(e, a)
        t = self.type(e.dtype)
        if e.op in COMPARE:
            operand = e.args[0].dtype
            kind = 0 if is_float(operand) else 2 if operand == "bool" else 1
            word = "fcmp" if kind == 0 else "icmp"
            return self.put(f"{word} {COMPARE[e.op][kind]} {self.type(operand)} {a[0]}, {a[1]}")
        if e.op in UNARY_INTRINSIC:
            return self.intrinsic(UNARY_INTRINSIC[e.op], e.dtype, a, [t])
        table = INT_BINARY
        if is_float(e.dtype):
            table = FLOAT_BINARY
        elif e.dtype == "bool":
            table = INT_BINARY | BOOL_BINARY
        if e.op not in table:
            raise NotImplementedError(f"xp.{e.op}: no compiled kernel for {e.dtype} operands")
        return self.put(f"{table[e.op]} {t} {a[0]}, {a[1]}")

    # ---- conversions
    def decode(self, raw, storage):
        """Memory form to arithmetic form."""
        kind = self.vector_type
        if storage == "bool":
            return self.put(f"icmp ne {kind('i8')} {raw}, {self.zero()}")
        if storage in ("u8", "i8", "i16"):
            word = "zext" if storage == "u8" else "sext"
            return self.put(f"{word} {kind(MEMORY[storage])} {raw} to {kind('i32')}")
        if storage == "f16":
            return self.put(f"fpext {kind('half')} {raw} to {kind('float')}")
        if storage == "bf16":
            return self.put(f"bitcast {self.above_zeros(raw)} to {kind('float')}")
        return raw

    def zero(self):
        """Zero of any integer type."""
        return "0" if self.width == 1 else "zeroinitializer"

    def encode(self, name, storage):
        """Arithmetic form to memory form."""
        kind = self.vector_type
        if storage == "bool":
            return self.put(f"zext {kind('i1')} {name} to {kind('i8')}")
        if storage in ("u8", "i8", "i16"):
            return self.put(f"trunc {kind('i32')} {name} to {kind(MEMORY[storage])}")
        if storage == "f16":
            return self.put(f"fptrunc {kind('float')} {name} to {kind('half')}")
        if storage == "bf16":
            return self.high_halves(self.bfloat16_rounded(name))
        return name

    def above_zeros(self, raw):
        """16 bits as the upper half of 32, typed as what it is made of: by one shuffle."""
        n = self.width
        if n == 1:
            return "i32 " + self.put(f"shl i32 {self.put(f'zext i16 {raw} to i32')}, 16")
        places = ", ".join(f"i32 {n}, i32 {i}" for i in range(n))
        both = f"<{n} x i16> {raw}, <{n} x i16> zeroinitializer"
        wide = self.put(f"shufflevector {both}, <{2 * n} x i32> <{places}>")
        return f"<{2 * n} x i16> {wide}"

    def high_halves(self, name):
        """The upper 16 bits of integers, by a shuffle: fewer instructions than shifts and a
        narrowing."""
        n = self.width
        if n == 1:
            high = self.put(f"lshr i32 {name}, 16")
            return self.put(f"trunc i32 {high} to i16")
        halves = self.put(f"bitcast <{n} x i32> {name} to <{2 * n} x i16>")
        places = ", ".join(f"i32 {2 * i + 1}" for i in range(n))
        return self.put(
            f"shufflevector <{2 * n} x i16> {halves}, <{2 * n} x i16> poison, "
            f"<{n} x i32> <{places}>"
        )

    def bfloat16_rounded(self, name):
        """The bits of a bfloat16 in the upper half, something in the lower one. Rounds half to even
        by integers: the hardware conversion would flush denormals."""
        t, f = self.type("i32"), self.type("f32")
        half, one, bias = (self.splat(v, "i32") for v in ("16", "1", "32767"))
        u = self.put(f"bitcast {f} {name} to {t}")
        even = self.put(f"and {t} {self.put(f'lshr {t} {u}, {half}')}, {one}")
        rounded = self.put(f"add {t} {self.put(f'add {t} {u}, {bias}')}, {even}")
        quiet = self.put(f"or {t} {u}, {self.splat('4194304', 'i32')}")
        nan = self.put(f"fcmp uno {f} {name}, {name}")
        return self.put(f"select {self.type('bool')} {nan}, {t} {quiet}, {t} {rounded}")

    def emit_round(self, e, a):
        """Rounding to a half-width float that stays float32; `round` with no format is rint."""
        if e.value is None:
            return self.intrinsic("roundeven", e.dtype, a, [self.type(e.dtype)])
        if e.value == "f16":
            half, full = self.vector_type("half"), self.vector_type("float")
            return self.put(f"fpext {half} {self.encode(a[0], 'f16')} to {full}")
        t = self.type("i32")
        high = self.put(f"and {t} {self.bfloat16_rounded(a[0])}, {self.splat('-65536', 'i32')}")
        return self.put(f"bitcast {t} {high} to {self.type('f32')}")

    def emit_wrap(self, e, a):
        """A 32-bit integer wrapped to a narrow one."""
        t = self.type("i32")
        if e.value == "u8":
            return self.put(f"and {t} {a[0]}, {self.splat('255', 'i32')}")
        count = self.splat("24" if e.value == "i8" else "16", "i32")
        return self.put(f"ashr {t} {self.put(f'shl {t} {a[0]}, {count}')}, {count}")

    def emit_bitcast(self, e, a):
        """The same bits as another type."""
        return self.put(f"bitcast {self.type(e.args[0].dtype)} {a[0]} to {self.type(e.dtype)}")

    def emit_cast(self, e, a):
        """Numeric conversion."""
        source, target = e.args[0].dtype, e.dtype
        s, t = self.type(source), self.type(target)
        if source == target:  # a weak value made strong
            return a[0]
        if target == "bool":
            if is_float(source):
                return self.put(f"fcmp une {s} {a[0]}, {self.splat(literal(0.0, source), source)}")
            return self.put(f"icmp ne {s} {a[0]}, {self.zero()}")
        if is_float(source) and is_float(target):
            word = "fpext" if target == "f64" else "fptrunc"
        elif is_float(source):
            word = "fptosi"
        elif is_float(target):
            word = "uitofp" if source == "bool" else "sitofp"
        elif source == "bool":
            word = "zext"
        else:
            word = "sext" if WIDTH[source] < WIDTH[target] else "trunc"
        return self.put(f"{word} {s} {a[0]} to {t}")

    # ---- arithmetic
    def emit_negative(self, e, a):
        """Sign change."""
        t = self.type(e.dtype)
        return self.put(
            f"fneg {t} {a[0]}" if is_float(e.dtype) else f"sub {t} {self.zero()}, {a[0]}"
        )

    def emit_abs(self, e, a):
        """Absolute value; the smallest integer stays itself."""
        t = self.type(e.dtype)
        if is_float(e.dtype):
            return self.intrinsic("fabs", e.dtype, a, [t])
        return self.intrinsic("abs", e.dtype, [a[0], "false"], [t, "i1"])

    def emit_copysign(self, e, a):
        """Magnitude of the first, sign of the second."""
        return self.intrinsic("copysign", e.dtype, a, [self.type(e.dtype)] * 2)

    def emit_fma(self, e, a):
        """Fused multiply and add."""
        return self.intrinsic("fma", e.dtype, a, [self.type(e.dtype)] * 3)

    def emit_scale(self, e, a):
        """Scaling by a power of two that is there as a float: on AVX-512 as it is."""
        f, wide = self.type(e.dtype), 512 // WIDTH["i32" if e.dtype == "f32" else "i64"]
        if self.scalef and self.width % wide == 0:
            kind = {"f32": "ps", "f64": "pd"}[e.dtype]
            name, v = f"@llvm.x86.avx512.mask.scalef.{kind}.512", f"<{wide} x {SCALAR[e.dtype]}>"
            mask = f"i{wide}"
            self.declared.add(f"declare {v} {name}({v}, {v}, {v}, {mask}, i32)")
            parts = []
            for first in range(0, self.width, wide):
                x, n = (self.lanes_of(name, first, wide, e.dtype) for name in a[:2])
                parts.append(self.put(
                    f"call {v} {name}({v} {x}, {v} {n}, {v} zeroinitializer, {mask} -1, i32 4)"
                ))  # fmt: skip
            return self.joined(parts, wide, e.dtype)
        whole = "i32" if e.dtype == "f32" else "i64"
        t = self.type(whole)
        shifted = self.put(f"bitcast {f} {a[2]} to {t}")
        n = self.put(f"sub {t} {shifted}, {self.splat(str(ROUND_BITS[e.dtype]), whole)}")
        return self.scaled(e.dtype, a[0], n)

    def emit_ldexp(self, e, a):
        """Scaling by a power of two."""
        return self.scaled(e.dtype, a[0], a[1])

    def scaled(self, dtype, x, n):
        """One instruction on AVX-512, two multiplications elsewhere."""
        whole = "i32" if dtype == "f32" else "i64"
        t, f = self.type(whole), self.type(dtype)
        if self.scalef:
            return self.intrinsic("ldexp", dtype, [x, n], [f, t])
        half = self.put(f"ashr {t} {n}, {self.splat('1', whole)}")
        rest = self.put(f"sub {t} {n}, {half}")
        bias, shift = ("127", "23") if dtype == "f32" else ("1023", "52")
        for part in (half, rest):  # two steps, so that neither factor over- or underflows
            biased = self.put(f"add {t} {part}, {self.splat(bias, whole)}")
            moved = self.put(f"shl {t} {biased}, {self.splat(shift, whole)}")
            x = self.put(f"fmul {f} {x}, {self.put(f'bitcast {t} {moved} to {f}')}")
        return x

    def extremum(self, e, a, word, integer):
        """NaN wins: vmaxps returns its second operand on NaN, one in the first is repaired."""
        t = self.type(e.dtype)
        if e.dtype == "bool":
            return self.put(f"{'and' if integer == 'smin' else 'or'} {t} {a[0]}, {a[1]}")
        if not is_float(e.dtype):
            return self.intrinsic(integer, e.dtype, a, [t, t])
        mask = self.type("bool")
        first = self.put(f"fcmp {word} {t} {a[0]}, {a[1]}")
        best = self.put(f"select {mask} {first}, {t} {a[0]}, {t} {a[1]}")
        nan = self.put(f"fcmp uno {t} {a[0]}, {a[0]}")
        return self.put(f"select {mask} {nan}, {t} {a[0]}, {t} {best}")

    def emit_maximum(self, e, a):
        """Larger operand."""
        return self.extremum(e, a, "ogt", "smax")

    def emit_minimum(self, e, a):
        """Smaller operand."""
        return self.extremum(e, a, "olt", "smin")

    def emit_where(self, e, a):
        """Selection."""
        t = self.type(e.dtype)
        return self.put(f"select {self.type('bool')} {a[0]}, {t} {a[1]}, {t} {a[2]}")

    # ---- tests
    def emit_isnan(self, e, a):
        """Unordered with itself."""
        return self.put(f"fcmp uno {self.type(e.args[0].dtype)} {a[0]}, {a[0]}")

    def magnitude_test(self, e, a, word):
        """Compare the magnitude with infinity."""
        dtype = e.args[0].dtype
        t = self.type(dtype)
        magnitude = self.intrinsic("fabs", dtype, a, [t])
        return self.put(f"fcmp {word} {t} {magnitude}, {self.splat(literal(1e999, dtype), dtype)}")

    def emit_isinf(self, e, a):
        """Magnitude is infinite."""
        return self.magnitude_test(e, a, "oeq")

    def emit_isfinite(self, e, a):
        """Magnitude is below infinity."""
        return self.magnitude_test(e, a, "olt")

    def emit_logical_not(self, e, a):
        """Not."""
        return self.put(f"xor {self.type('bool')} {a[0]}, {self.splat('true', 'bool')}")

    def emit_invert(self, e, a):
        """Every bit flipped."""
        ones = self.splat("true" if e.dtype == "bool" else "-1", e.dtype)
        return self.put(f"xor {self.type(e.dtype)} {a[0]}, {ones}")

    # ---- scalar functions, lane by lane
    def emit_libm(self, e, a):
        """A C library function."""
        t = SCALAR[e.dtype]
        self.declared.add(f"declare {t} @{e.value}({', '.join([t] * len(a))})")
        return self.per_lane(e.value, t, a)

    def emit_lanes(self, e, a):
        """One of our own scalar functions."""
        t = SCALAR[e.dtype]
        name = f"{e.value}_{t}"
        self.functions[name] = SCALAR_FUNCTIONS[e.value].replace("TYPE", t).replace("NAME", name)
        return self.per_lane(name, t, a)

    def per_lane(self, function, t, a):
        """Call a scalar function on every lane, through a loop emitted once."""
        if self.width == 1:
            return self.put(f"call {t} @{function}({', '.join(f'{t} {x}' for x in a)})")
        v, name = f"<{self.width} x {t}>", f"@lanes_{function}"
        self.functions[name] = lane_loop(name, function, t, self.width, len(a))
        return self.put(f"call {v} {name}({', '.join(f'{v} {x}' for x in a)})")

    def emit_repair(self, e, a):
        """`where(mask, function(...), value)`; the calls are skipped when no lane needs them."""
        value, mask, *operands = a
        t, m = self.type(e.dtype), self.type("bool")
        function = self.emit_lanes if e.value in SCALAR_FUNCTIONS else self.emit_libm
        if e.value in REPAIRS:
            function = self.emit_vectors
        if self.width == 1:
            return self.put(f"select i1 {mask}, {t} {function(e, operands)}, {t} {value}")

        def fixed():
            return self.put(f"select {m} {mask}, {t} {function(e, operands)}, {t} {value}")

        return self.rarely(t, mask, value, fixed)

    def rarely(self, t, mask, value, fixed):
        """`value`, or where any lane of the mask is set what ``fixed()`` emits behind a branch."""
        name = f"@llvm.vector.reduce.or.v{self.width}i1"
        self.declared.add(f"declare i1 {name}({self.type('bool')})")
        rare = self.put(f"call i1 {name}({self.type('bool')} {mask})")
        tag, before = self.counter, self.block
        self.out += [f"  br i1 {rare}, label %rare{tag}, label %join{tag}", f"rare{tag}:"]
        after = fixed()
        self.out += [f"  br label %join{tag}", f"join{tag}:"]
        self.block = f"join{tag}"
        return self.put(f"phi {t} [ {value}, %{before} ], [ {after}, %rare{tag} ]")

    def emit_sqrt(self, e, a):
        """Square root: float32 on AVX-512 half by the instruction and half by the multiplier, which
        are busy at the same time."""
        x, t = a[0], self.type(e.dtype)
        if not self.scalef or e.dtype != "f32" or self.width % 32:
            return self.intrinsic("sqrt", e.dtype, a, [t])
        half = self.width // 2
        parts = [self.lanes_of(x, first, half) for first in (0, half)]
        whole, self.width = self.width, half
        roots = [self.refined_sqrt(parts[0])]
        if self.divides:  # the divider has other work
            roots.append(self.refined_sqrt(parts[1]))
        else:
            roots.append(self.intrinsic("sqrt", "f32", parts[1:], [self.type("f32")]))
        self.width = whole
        return self.joined(roots, half)

    def refined_sqrt(self, x):
        """The square root from an estimate of 14 bits, rounded as the instruction does (P.
        Markstein, IA-64 and Elementary Functions, section 9)."""
        t, m = self.type("f32"), self.type("bool")
        half, zero, least, infinite = (
            self.splat(literal(v, "f32"), "f32") for v in (0.5, 0.0, 2.0**-96, 1e999)
        )
        bounded = self.put(f"fcmp ogt {t} {x}, {least}")
        y = self.estimate(self.put(f"select {m} {bounded}, {t} {x}, {t} {least}"))
        g = self.put(f"fmul {t} {x}, {y}")
        h = self.put(f"fmul {t} {y}, {half}")
        left = self.fused(t, self.put(f"fneg {t} {g}"), h, half)
        g, h = self.fused(t, g, left, g), self.fused(t, h, left, h)
        left = self.fused(t, self.put(f"fneg {t} {g}"), g, x)
        root = self.fused(t, left, h, g)
        # Residues of small numbers have no room in float32; then the instruction does it.
        low = self.put(f"fcmp ult {t} {x}, {least}")
        other = self.put(f"fcmp une {t} {x}, {zero}")
        high = self.put(f"fcmp oeq {t} {x}, {infinite}")
        mask = self.put(f"or {m} {self.put(f'and {m} {low}, {other}')}, {high}")
        return self.rarely(t, mask, root, lambda: self.intrinsic("sqrt", "f32", [x], [t]))

    def fused(self, t, x, y, z):
        """``x * y + z`` in float32."""
        return self.intrinsic("fma", "f32", [x, y, z], [t] * 3)

    def estimate(self, x):
        """1 / sqrt(x) to 14 bits, register by register."""
        name, v = "@llvm.x86.avx512.rsqrt14.ps.512", "<16 x float>"
        self.declared.add(f"declare {v} {name}({v}, {v}, i16)")
        parts = [
            self.put(f"call {v} {name}({v} {self.lanes_of(x, first, 16)}, {v} zeroinitializer, "
                     "i16 -1)")
            for first in range(0, self.width, 16)
        ]  # fmt: skip
        return self.joined(parts, 16)

    def lanes_of(self, x, first, count, dtype="f32"):
        """Neighbouring lanes of a vector."""
        order = ", ".join(f"i32 {i}" for i in range(first, first + count))
        t = self.type(dtype)
        return self.put(f"shufflevector {t} {x}, {t} poison, <{count} x i32> <{order}>")

    def joined(self, parts, count, dtype="f32"):
        """Vectors of `count` lanes, a power of two of them, as one."""
        while len(parts) > 1:
            order = ", ".join(f"i32 {i}" for i in range(2 * count))
            w = f"<{count} x {SCALAR[dtype]}>"
            parts = [
                self.put(f"shufflevector {w} {p}, {w} {q}, <{2 * count} x i32> <{order}>")
                for p, q in zip(parts[::2], parts[1::2], strict=True)
            ]
            count *= 2
        return parts[0]


def lane_loop(name, function, t, lanes, arity):
    """A loop over lanes around a scalar function."""
    v = f"<{lanes} x {t}>"
    parameters = ", ".join(f"{v} %x{j}" for j in range(arity))
    arguments = ", ".join(f"{t} %e{j}" for j in range(arity))
    extracts = "\n".join(f"  %e{j} = extractelement {v} %x{j}, i32 %i" for j in range(arity))
    return f"""define internal {v} {name}({parameters}) noinline {{
entry:
  br label %loop
loop:
  %i = phi i32 [ 0, %entry ], [ %next, %loop ]
  %acc = phi {v} [ poison, %entry ], [ %new, %loop ]
{extracts}
  %y = call {t} @{function}({arguments})
  %new = insertelement {v} %acc, {t} %y, i32 %i
  %next = add i32 %i, 1
  %more = icmp ult i32 %next, {lanes}
  br i1 %more, label %loop, label %done
done:
  ret {v} %new
}}"""


SCALAR_FUNCTIONS = {
    # x86 traps on x / 0 and on min / -1: neither reaches the instruction; x / 0 is 0.
    "sdiv": """define internal TYPE @NAME(TYPE %x, TYPE %y) noinline {
  %zero = icmp eq TYPE %y, 0
  %minus = icmp eq TYPE %y, -1
  %unsafe = or i1 %zero, %minus
  %divisor = select i1 %unsafe, TYPE 1, TYPE %y
  %quotient = sdiv TYPE %x, %divisor
  %negated = sub TYPE 0, %x
  %signed = select i1 %minus, TYPE %negated, TYPE %quotient
  %result = select i1 %zero, TYPE 0, TYPE %signed
  ret TYPE %result
}""",
    # Repeated squaring with wraparound; a negative exponent gives 0, 1 or -1.
    "ipow": """define internal TYPE @NAME(TYPE %x, TYPE %y) noinline {
entry:
  %negative = icmp slt TYPE %y, 0
  br i1 %negative, label %inverse, label %loop
inverse:
  %odd.y = trunc TYPE %y to i1
  %is_one = icmp eq TYPE %x, 1
  %is_minus = icmp eq TYPE %x, -1
  %minus = select i1 %odd.y, TYPE -1, TYPE 1
  %other = select i1 %is_minus, TYPE %minus, TYPE 0
  %inverted = select i1 %is_one, TYPE 1, TYPE %other
  ret TYPE %inverted
loop:
  %result = phi TYPE [ 1, %entry ], [ %result.next, %step ]
  %base = phi TYPE [ %x, %entry ], [ %base.next, %step ]
  %left = phi TYPE [ %y, %entry ], [ %left.next, %step ]
  %done = icmp eq TYPE %left, 0
  br i1 %done, label %end, label %step
step:
  %odd = trunc TYPE %left to i1
  %product = mul TYPE %result, %base
  %result.next = select i1 %odd, TYPE %product, TYPE %result
  %base.next = mul TYPE %base, %base
  %left.next = lshr TYPE %left, 1
  br label %loop
end:
  ret TYPE %result
}""",
}

"""LLVM IR text of single graph nodes, scalar or vector."""

from __future__ import annotations

import struct

from rushlight.compiler.storage import is_float

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
    "sqrt": "sqrt",
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
            wide = self.put(f"zext {kind('i16')} {raw} to {kind('i32')}")
            high = self.put(f"shl {kind('i32')} {wide}, {self.splat('16', 'i32')}")
            return self.put(f"bitcast {kind('i32')} {high} to {kind('float')}")
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
            return self.put(f"trunc {kind('i32')} {self.bfloat16_bits(name)} to {kind('i16')}")
        return name

    def bfloat16_bits(self, name):
        """Round half to even by integers: the hardware conversion would flush denormals."""
        t, f = self.type("i32"), self.type("f32")
        half, one, bias, quiet_bit = (self.splat(v, "i32") for v in ("16", "1", "32767", "64"))
        u = self.put(f"bitcast {f} {name} to {t}")
        high = self.put(f"lshr {t} {u}, {half}")
        even = self.put(f"and {t} {high}, {one}")
        up = self.put(f"add {t} {u}, {bias}")
        rounded = self.put(f"lshr {t} {self.put(f'add {t} {up}, {even}')}, {half}")
        quiet = self.put(f"or {t} {high}, {quiet_bit}")
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
        high = self.put(f"shl {t} {self.bfloat16_bits(a[0])}, {self.splat('16', 'i32')}")
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

    def emit_ldexp(self, e, a):
        """Scaling by a power of two: one instruction on AVX-512, two multiplications elsewhere."""
        n = e.args[1].dtype
        t, f = self.type(n), self.type(e.dtype)
        if self.scalef:
            return self.intrinsic("ldexp", e.dtype, a, [f, t])
        half = self.put(f"ashr {t} {a[1]}, {self.splat('1', n)}")
        rest = self.put(f"sub {t} {a[1]}, {half}")
        value = a[0]
        bias, shift = ("127", "23") if e.dtype == "f32" else ("1023", "52")
        for part in (half, rest):  # two steps, so that neither factor over- or underflows
            biased = self.put(f"add {t} {part}, {self.splat(bias, n)}")
            moved = self.put(f"shl {t} {biased}, {self.splat(shift, n)}")
            value = self.put(f"fmul {f} {value}, {self.put(f'bitcast {t} {moved} to {f}')}")
        return value

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
        if self.width == 1:
            return self.put(f"select i1 {mask}, {t} {function(e, operands)}, {t} {value}")
        name = f"@llvm.vector.reduce.or.v{self.width}i1"
        self.declared.add(f"declare i1 {name}({m})")
        rare = self.put(f"call i1 {name}({m} {mask})")
        tag, before = self.counter, self.block
        self.out += [f"  br i1 {rare}, label %rare{tag}, label %join{tag}", f"rare{tag}:"]
        fixed = self.put(f"select {m} {mask}, {t} {function(e, operands)}, {t} {value}")
        self.out += [f"  br label %join{tag}", f"join{tag}:"]
        self.block = f"join{tag}"
        return self.put(f"phi {t} [ {value}, %{before} ], [ {fixed}, %rare{tag} ]")


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

"""Instructions that this machine lacks, as functions of LLVM IR with the same results.

Kernels for another processor (``RUSHLIGHT_PROCESSOR``, :mod:`rushlight.machine.processors`) name
their instructions by LLVM's intrinsics. Wide vectors, masks and fused products LLVM splits by
itself; what only exists as an instruction of its own is replaced in the text of a module before it
is compiled: :func:`replaced`. Matrix units keep tiles between instructions, so these are functions
of a module of their own (:mod:`rushlight.machine.language.emulated_tiles`).

The sources are the descriptions of the instructions in Intel's Software Developer's Manual, volume
2, and "Architecture Instruction Set Extensions"; tests compare with the instructions themselves
where the machine has them.
"""

from __future__ import annotations

import re
import textwrap

__all__ = ["FMA", "TILES", "fused_and_flushed", "halves_of_pairs", "replaced"]

TILES = {  # LLVM's name: the function in the module of tiles
    f"llvm.x86.{name}": f"rushlight_{name}"
    for name in ("ldtilecfg", "tilerelease", "tilezero", "tileloadd64", "tilestored64", "tdpbf16ps")
}
_NAME = re.compile(r'@"?(llvm\.x86\.[a-z0-9.]+)"?')


def _vector(kind, values):
    return "<" + ", ".join(f"{kind} {value}" for value in values) + ">"


def _same(count, kind, value):
    return _vector(kind, [value] * count)


# ---- what they do --------------------------------------------------------------------------------


def _flushed(name, x):
    """Lines that name %`name` the float32 vector %`x` with zeros for subnormal numbers."""
    f, w, m = "<16 x float>", "<16 x i32>", "<16 x i1>"
    sign, exponent = (_same(16, "i32", value) for value in (-(1 << 31), 0x7F800000))
    return f"""
      %{name}.bits = bitcast {f} %{x} to {w}
      %{name}.size = and {w} %{name}.bits, {exponent}
      %{name}.small = icmp eq {w} %{name}.size, zeroinitializer
      %{name}.sign = and {w} %{name}.bits, {sign}
      %{name}.kept = select {m} %{name}.small, {w} %{name}.sign, {w} %{name}.bits
      %{name} = bitcast {w} %{name}.kept to {f}"""


def halves_of_pairs(name, x):
    """Lines that name %`name`.0 and %`name`.1 the bfloat16 values in the words %`x` as float32:
    the lower and the upper halves, subnormal numbers as zeros."""
    f, w = "<16 x float>", "<16 x i32>"
    return f"""
      %{name}.low = shl {w} %{x}, {_same(16, "i32", 16)}
      %{name}.lowf = bitcast {w} %{name}.low to {f}
      %{name}.high = and {w} %{x}, {_same(16, "i32", -(1 << 16))}
      %{name}.highf = bitcast {w} %{name}.high to {f}
      {_flushed(f"{name}.0", f"{name}.lowf")}
      {_flushed(f"{name}.1", f"{name}.highf")}"""


def fused_and_flushed(name, x, y, z):
    """Lines that name %`name` ``x * y + z``, rounded once, zero where that is subnormal."""
    f = "<16 x float>"
    return f"""
      %{name}.sum = call {f} @llvm.fma.v16f32({f} %{x}, {f} %{y}, {f} %{z})
      {_flushed(name, f"{name}.sum")}"""


FMA = "declare <16 x float> @llvm.fma.v16f32(<16 x float>, <16 x float>, <16 x float>)"


def _pairs():
    """VDPBF16PS: sum + upper product, then + lower product."""
    f, w = "<16 x float>", "<16 x i32>"
    body = f"""
    define internal {f} @NAME({f} %c, {w} %a, {w} %b) alwaysinline {{
      {_flushed("start", "c")}
      {halves_of_pairs("x", "a")}
      {halves_of_pairs("y", "b")}
      {fused_and_flushed("upper", "x.1", "y.1", "start")}
      {fused_and_flushed("all", "x.0", "y.0", "upper")}
      ret {f} %all
    }}"""
    return body, [FMA]


def _gather():
    f, w, p = "<16 x float>", "<16 x i32>", "<16 x ptr>"
    declared = f"declare {f} @llvm.masked.gather.v16f32.v16p0({p}, {_alignment()}<16 x i1>, {f})"
    call = f"{p} %at, {_alignment(4)}<16 x i1> %mask, {f} %rest"
    body = f"""
    define internal {f} @NAME({f} %rest, ptr %base, {w} %index, <16 x i1> %mask, i32 %scale)
    alwaysinline {{
      %one = insertelement {w} poison, i32 %scale, i32 0
      %all = shufflevector {w} %one, {w} poison, {w} zeroinitializer
      %near = mul {w} %index, %all
      %far = sext {w} %near to <16 x i64>
      %at = getelementptr i8, ptr %base, <16 x i64> %far
      %found = call {f} @llvm.masked.gather.v16f32.v16p0({call})
      ret {f} %found
    }}"""
    return body, [declared]


def _alignment(value=None):
    """The argument for the alignment of a masked operation, where LLVM has one."""
    from rushlight.machine.language.element_vectors import alignment_is_argument

    if not alignment_is_argument():
        return ""
    return "i32, " if value is None else f"i32 {value}, "


def _scaled(count, kind, word, mask):
    """VSCALEF: x times two to the power of the whole number below n."""
    v, w = f"<{count} x {kind}>", f"<{count} x i32>"
    short = f"v{count}f{word}"
    declared = [
        f"declare {v} @llvm.floor.{short}({v})",
        f"declare {v} @llvm.ldexp.{short}.v{count}i32({v}, {w})",
        f"declare {w} @llvm.fptosi.sat.v{count}i32.{short}({v})",
    ]
    # A NaN among the two wins; powers of infinity are 0 and infinity, which ldexp reaches.
    body = f"""
    define internal {v} @NAME({v} %x, {v} %n, {v} %rest, {mask} %mask, i32 %how) alwaysinline {{
      %floor = call {v} @llvm.floor.{short}({v} %n)
      %power = call {w} @llvm.fptosi.sat.v{count}i32.{short}({v} %floor)
      %scaled = call {v} @llvm.ldexp.{short}.v{count}i32({v} %x, {w} %power)
      %unordered = fcmp uno {v} %n, %n
      %result = select <{count} x i1> %unordered, {v} %n, {v} %scaled
      %lanes = bitcast {mask} %mask to <{count} x i1>
      %chosen = select <{count} x i1> %lanes, {v} %result, {v} %rest
      ret {v} %chosen
    }}"""
    return body, declared


def _estimated_root():
    """VRSQRT14PS: 1 / sqrt(x) to 14 bits; here to more, which every use of it takes."""
    v = "<16 x float>"
    one = _same(16, "float", "1.0")
    body = f"""
    define internal {v} @NAME({v} %x, {v} %rest, i16 %mask) alwaysinline {{
      %root = call {v} @llvm.sqrt.v16f32({v} %x)
      %result = fdiv {v} {one}, %root
      %lanes = bitcast i16 %mask to <16 x i1>
      %chosen = select <16 x i1> %lanes, {v} %result, {v} %rest
      ret {v} %chosen
    }}"""
    return body, [f"declare {v} @llvm.sqrt.v16f32({v})"]


def _carryless(width):
    """PCLMULQDQ of each 128 bits: the halves that bits 0 and 4 of the last argument name."""
    count = 2 * width
    v, p = f"<{count} x i64>", f"<{width} x i128>"
    even, odd = (_vector("i32", range(first, count, 2)) for first in (0, 1))
    h, i = f"<{width} x i64>", f"<{width} x i32>"
    body = f"""
    define internal {v} @NAME({v} %a, {v} %b, i8 %halves) alwaysinline {{
    entry:
      %bit0 = trunc i8 %halves to i1
      %moved = lshr i8 %halves, 4
      %bit4 = trunc i8 %moved to i1
      %a0 = shufflevector {v} %a, {v} poison, {i} {even}
      %a1 = shufflevector {v} %a, {v} poison, {i} {odd}
      %b0 = shufflevector {v} %b, {v} poison, {i} {even}
      %b1 = shufflevector {v} %b, {v} poison, {i} {odd}
      %x64 = select i1 %bit0, {h} %a1, {h} %a0
      %y64 = select i1 %bit4, {h} %b1, {h} %b0
      %x = zext {h} %x64 to {p}
      %y = zext {h} %y64 to {p}
      br label %loop
    loop:
      %n = phi i128 [ 0, %entry ], [ %next, %loop ]
      %sum = phi {p} [ zeroinitializer, %entry ], [ %more, %loop ]
      %first = insertelement {p} poison, i128 %n, i32 0
      %all = shufflevector {p} %first, {p} poison, {i} zeroinitializer
      %down = lshr {p} %y, %all
      %bits = trunc {p} %down to <{width} x i1>
      %up = shl {p} %x, %all
      %term = select <{width} x i1> %bits, {p} %up, {p} zeroinitializer
      %more = xor {p} %sum, %term
      %next = add i128 %n, 1
      %ends = icmp eq i128 %next, 64
      br i1 %ends, label %done, label %loop
    done:
      %result = bitcast {p} %more to {v}
      ret {v} %result
    }}"""
    return body, []


def _sums(name, count, parts, of):
    """Lines that name %`name` the sums of so many neighbours of a vector of 32-bit numbers."""
    kind, wide = f"<{count} x i32>", f"<{count * parts} x i32>"
    lines, total = [], None
    for part in range(parts):
        order = _vector("i32", range(part, count * parts, parts))
        lines.append(f"%{name}.{part} = shufflevector {wide} %{of}, {wide} poison, {kind} {order}")
        if part:
            lines.append(f"%{name}.all{part} = add {kind} %{total}, %{name}.{part}")
        total = f"{name}.all{part}" if part else f"{name}.{part}"
    lines.append(f"%{name} = add {kind} %{total}, zeroinitializer")
    return "\n      ".join(lines)


def _bytes(count):
    """VPDPBUSD: the sum, and four products of unsigned bytes with signed ones."""
    w, b, wide = f"<{count} x i32>", f"<{4 * count} x i8>", f"<{4 * count} x i32>"
    body = f"""
    define internal {w} @NAME({w} %c, {w} %x, {w} %y) alwaysinline {{
      %a = bitcast {w} %x to {b}
      %b = bitcast {w} %y to {b}
      %left = zext {b} %a to {wide}
      %right = sext {b} %b to {wide}
      %products = mul {wide} %left, %right
      {_sums("four", count, 4, "products")}
      %all = add {w} %c, %four
      ret {w} %all
    }}"""
    return body, []


def _signed_pairs(count):
    """PMADDWD: sums of two products of signed numbers of 16 bits."""
    w, h, wide = f"<{count} x i32>", f"<{2 * count} x i16>", f"<{2 * count} x i32>"
    body = f"""
    define internal {w} @NAME({h} %x, {h} %y) alwaysinline {{
      %left = sext {h} %x to {wide}
      %right = sext {h} %y to {wide}
      %products = mul {wide} %left, %right
      {_sums("two", count, 2, "products")}
      ret {w} %two
    }}"""
    return body, []


# LLVM's name: the features that it needs, and what gives its text. A Zen 3 has carry-less products,
# and none of 512 bits.
_FUNCTIONS = {
    "llvm.x86.avx512bf16.dpbf16ps.512": (("avx512bf16",), _pairs),
    "llvm.x86.avx512.mask.gather.dps.512": (("avx512f",), _gather),
    "llvm.x86.avx512.mask.scalef.ps.512": (("avx512f",), lambda: _scaled(16, "float", 32, "i16")),
    "llvm.x86.avx512.mask.scalef.pd.512": (("avx512f",), lambda: _scaled(8, "double", 64, "i8")),
    "llvm.x86.avx512.rsqrt14.ps.512": (("avx512f",), _estimated_root),
    "llvm.x86.avx512.vpdpbusd.512": (("avx512vnni", "avx512f"), lambda: _bytes(16)),
    "llvm.x86.avx512.vpdpbusd.256": (("avxvnni",), lambda: _bytes(8)),
    "llvm.x86.avx512.pmaddw.d.512": (("avx512bw",), lambda: _signed_pairs(16)),
    "llvm.x86.avx2.pmadd.wd": (("avx2",), lambda: _signed_pairs(8)),
    "llvm.x86.pclmulqdq": (("pclmul",), lambda: _carryless(1)),
    "llvm.x86.pclmulqdq.512": (("vpclmulqdq", "avx512f"), lambda: _carryless(4)),
}
_ANYWHERE = ("llvm.x86.sse2.pause", "llvm.x86.sse2.pmadd.wd")


# ---- in the text of a module ---------------------------------------------------------------------


def replaced(text: str, emulated: frozenset) -> str:
    """The IR text of a module in which what the `emulated` features bring are calls of functions.

    An intrinsic of a processor that is not known here raises NotImplementedError: it would end in
    an instruction that the machine does not have.
    """
    if not emulated:
        return text
    added: list[str] = []
    lines: set[str] = set()
    for name in sorted(set(_NAME.findall(text))):
        if name in TILES:
            if "amx-tile" in emulated:
                text = _renamed(text, name, TILES[name])
            continue
        if name in _ANYWHERE:
            continue
        if name not in _FUNCTIONS:
            raise NotImplementedError(f"no function replaces the instruction {name}")
        features, build = _FUNCTIONS[name]
        if not emulated.isdisjoint(features):
            own = "emulated." + name.removeprefix("llvm.x86.")
            text = re.sub(rf'^\s*declare [^\n]*@"?{re.escape(name)}"?\(.*$', "", text, flags=re.M)
            text = _renamed(text, name, own)
            body, declared = build()
            added.append(textwrap.dedent(body).replace("NAME", own))
            lines.update(line for line in declared if not _declares(text, line))
    return "\n".join([text, *sorted(lines), *added])


def _renamed(text, old, new):
    return re.sub(rf'@"?{re.escape(old)}"?(?=[^a-z0-9.])', f"@{new}", text)


def _declares(text, line):
    """Whether a text declares the function that this line does."""
    name = re.escape(line.partition("@")[2].partition("(")[0])
    return re.search(rf'^\s*declare [^\n]*@"?{name}"?\(', text, flags=re.M) is not None

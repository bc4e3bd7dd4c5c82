"""Instructions that a machine lacks, replaced by functions: against their definitions in NumPy, and
against the instructions themselves where this machine has them."""

from __future__ import annotations

import ctypes
import itertools
import os
import subprocess
import sys

import llvmlite.binding as llvm
import ml_dtypes
import numpy as np
import pytest

from rushlight.machine import processors as cpu
from rushlight.machine.language import emulated_tiles
from rushlight.machine.language.emulated_instructions import (
    _ANYWHERE,
    _FUNCTIONS,
    TILES,
    replaced,
)

F, W, D = "<16 x float>", "<16 x i32>", "<8 x double>"
_KEPT = []  # engines: they own the code


def linked(text):
    """The functions of a module, compiled for this machine."""
    llvm.initialize_native_target()
    llvm.initialize_native_asmprinter()
    machine = llvm.Target.from_default_triple().create_target_machine(
        cpu=llvm.get_host_cpu_name(), features=llvm.get_host_cpu_features().flatten(), opt=2,
        jit=True, codemodel="large", reloc="static",
    )  # fmt: skip
    engine = llvm.create_mcjit_compiler(llvm.parse_assembly(""), machine)
    engine.add_object_file(
        llvm.ObjectFileRef.from_data(machine.emit_object(llvm.parse_assembly(text)))
    )
    engine.finalize_object()
    _KEPT.append(engine)

    def call(name, *arguments):
        kinds = [a[0] if isinstance(a, tuple) else ctypes.c_void_p for a in arguments]
        values = [a[1] if isinstance(a, tuple) else a.ctypes.data for a in arguments]
        ctypes.CFUNCTYPE(None, *kinds)(engine.get_function_address(name))(*values)

    return call


def called(name, result, kinds, extra=""):
    """``run(out, operands...)``: one intrinsic, as an instruction and as a function; the first is
    None where the machine lacks it."""
    declared = ", ".join([*kinds, *(word.split()[0] for word in extra.split(", ") if word)])
    loads = "\n".join(f"  %x{i} = load {k}, ptr %p{i}, align 1" for i, k in enumerate(kinds))
    given = ", ".join([*(f"{k} %x{i}" for i, k in enumerate(kinds)), *([extra] if extra else [])])
    pointers = "".join(f", ptr %p{i}" for i in range(len(kinds)))
    text = f"""
declare {result} @{name}({declared})
define void @run(ptr %out{pointers}) {{
{loads}
  %r = call {result} @{name}({given})
  store {result} %r, ptr %out, align 1
  ret void
}}"""
    features, here = _FUNCTIONS[name][0], llvm.get_host_cpu_features()
    instruction = linked(text) if all(map(here.get, features)) else None
    return instruction, linked(replaced(text, frozenset(features)))


def agree(ways, out, *operands):
    """What the function gives; the instruction gives the same bits."""
    instruction, function = ways
    function("run", out, *operands)
    if instruction is not None:
        other = np.empty_like(out)
        instruction("run", other, *operands)
        np.testing.assert_array_equal(out.view(np.uint8), other.view(np.uint8))
    return out


def paired(rng, shape, scale=1.0):
    """bfloat16 values, and the words that hold two of them."""
    values = (rng.standard_normal((*shape, 2)) * scale).astype(ml_dtypes.bfloat16)
    return values.astype(np.float32), values.view(np.uint32).reshape(shape)


@pytest.mark.parametrize("scale", [1.0, 2.0**-63, 2.0**-75, 2.0**60])
def test_pairs_of_products(rng, scale):
    ways = called("llvm.x86.avx512bf16.dpbf16ps.512", F, [F, W, W])
    for _ in range(200):
        (a, a_words), (b, b_words) = paired(rng, (16,), scale), paired(rng, (16,), scale)
        c = (rng.standard_normal(16) * scale * scale).astype(np.float32)
        found = agree(ways, np.empty(16, np.float32), c, a_words, b_words)
        wide = c + (a.astype(np.float64) * b).sum(1)
        size = np.abs(c) + np.abs(a.astype(np.float64) * b).sum(1)
        assert (np.abs(found - wide) <= 2.0**-22 * size + 2.0**-124).all()
        assert not ((found != 0) & (np.abs(found) < 2.0**-126)).any()  # subnormal sums are zeros


@pytest.mark.parametrize("count", [8, 16])
def test_products_of_bytes(rng, count):
    kind = f"<{count} x i32>"
    ways = called(f"llvm.x86.avx512.vpdpbusd.{32 * count}", kind, [kind] * 3)
    for _ in range(20):
        c = rng.integers(-(2**31), 2**31, count).astype(np.int32)
        a = rng.integers(0, 256, (count, 4)).astype(np.uint8)
        b = rng.integers(-128, 128, (count, 4)).astype(np.int8)
        wide = c + (a.astype(np.int64) * b).sum(1)
        found = agree(ways, np.empty(count, np.int32), c, a, b)
        np.testing.assert_array_equal(found, wide.astype(np.int32))  # around, not up to the limit


@pytest.mark.parametrize(("name", "count"), [("avx2.pmadd.wd", 8), ("avx512.pmaddw.d.512", 16)])
def test_pairs_of_signed_products(rng, name, count):
    halves = f"<{2 * count} x i16>"
    ways = called(f"llvm.x86.{name}", f"<{count} x i32>", [halves] * 2)
    for _ in range(20):
        a, b = rng.integers(-(2**15), 2**15, (2, count, 2)).astype(np.int16)
        wide = (a.astype(np.int64) * b).sum(1)
        found = agree(ways, np.empty(count, np.int32), a, b)
        np.testing.assert_array_equal(found, wide.astype(np.int32))


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_scaling(dtype):
    kind, bits, count = (F, "i16", 16) if dtype == np.float32 else (D, "i8", 8)
    name = f"llvm.x86.avx512.mask.scalef.{'ps' if dtype == np.float32 else 'pd'}.512"
    ways = called(name, kind, [kind, kind, kind], f"{bits} -1, i32 4")
    numbers = np.array([0.0, -0.0, 1.5, -3.25, 1e-30, 1e30, np.inf, np.nan], dtype)
    powers = np.array([0.0, 3.0, -3.7, 140.0, -160.0, 1100.0, -1200.0, 0.5], dtype)
    x, n = (v.ravel() for v in np.meshgrid(numbers, powers))
    for first in range(0, x.size, count):
        part = slice(first, first + count)
        out = agree(ways, np.empty(count, dtype), x[part].copy(), n[part].copy(), x[part].copy())
        with np.errstate(over="ignore", under="ignore"):
            wanted = np.ldexp(x[part], np.floor(n[part]).astype(np.int32))
        np.testing.assert_array_equal(out, wanted)


def test_gather(rng):
    name = "llvm.x86.avx512.mask.gather.dps.512"
    table, index = rng.standard_normal(64).astype(np.float32), rng.integers(0, 64, 16, np.int32)
    rest = np.arange(16, dtype=np.float32)
    for scale, mask in itertools.product((1, 4), (0xFFFF, 0x0F0A, 0)):
        text = f"""
declare {F} @{name}({F}, ptr, {W}, <16 x i1>, i32)
define void @run(ptr %out, ptr %rest, ptr %table, ptr %index) {{
  %r = load {F}, ptr %rest, align 4
  %i = load {W}, ptr %index, align 4
  %m = bitcast i16 {mask} to <16 x i1>
  %x = call {F} @{name}({F} %r, ptr %table, {W} %i, <16 x i1> %m, i32 {scale})
  store {F} %x, ptr %out, align 4
  ret void
}}"""
        call, out = linked(replaced(text, frozenset({"avx512f"}))), np.empty(16, np.float32)
        call("run", out, rest, table, index * (4 // scale))
        chosen = (mask >> np.arange(16)) & 1 == 1
        np.testing.assert_array_equal(out, np.where(chosen, table[index], rest))


def test_estimate_of_roots(rng):
    name = "llvm.x86.avx512.rsqrt14.ps.512"
    x = rng.uniform(1e-3, 1e3, 16).astype(np.float32)
    text = f"""
declare {F} @{name}({F}, {F}, i16)
define void @run(ptr %out, ptr %p) {{
  %x = load {F}, ptr %p, align 4
  %r = call {F} @{name}({F} %x, {F} zeroinitializer, i16 -1)
  store {F} %r, ptr %out, align 4
  ret void
}}"""
    out = np.empty(16, np.float32)
    linked(replaced(text, frozenset({"avx512f"})))("run", out, x)
    np.testing.assert_allclose(out, x.astype(np.float64) ** -0.5, rtol=2.0**-14)


@pytest.mark.parametrize("width", [1, 4])
@pytest.mark.parametrize("halves", [0x00, 0x01, 0x10, 0x11])
def test_carryless_products(rng, width, halves):
    kind = f"<{2 * width} x i64>"
    name = "llvm.x86.pclmulqdq" + (".512" if width == 4 else "")
    ways = called(name, kind, [kind, kind], f"i8 {halves}")
    a, b = (rng.integers(0, 1 << 64, 2 * width, np.uint64) for _ in "ab")
    out = agree(ways, np.empty(2 * width, np.uint64), a, b)
    for lane in range(width):
        x, y = int(a[2 * lane + (halves & 1)]), int(b[2 * lane + (halves >> 4)])
        wanted = 0
        for bit in range(64):
            wanted ^= (x << bit) * (y >> bit & 1)
        assert int(out[2 * lane]) | int(out[2 * lane + 1]) << 64 == wanted


@pytest.mark.parametrize("lacking", [{"avx512f"}, {"vpclmulqdq"}])
def test_an_instruction_needs_all_its_features(lacking):
    """A Zen 3 has carry-less products of 256 bits and no vectors of 512."""
    name = "llvm.x86.pclmulqdq.512"
    text = f"""
declare <8 x i64> @{name}(<8 x i64>, <8 x i64>, i8)
define void @run(ptr %p) {{
  %x = load <8 x i64>, ptr %p, align 1
  %r = call <8 x i64> @{name}(<8 x i64> %x, <8 x i64> %x, i8 0)
  store <8 x i64> %r, ptr %p, align 1
  ret void
}}"""
    found = replaced(text, frozenset(lacking))
    assert f"@{name}(" not in found and "@emulated.pclmulqdq.512(" in found


def test_tiles(rng):
    """Loads with a stride, products added to what is there, stores that touch nothing else."""
    call = linked(emulated_tiles.text())
    byte, word = ctypes.c_int8, ctypes.c_int64
    name = {key.rpartition(".")[2]: value for key, value in TILES.items()}
    (a, a_words), (b, b_words) = paired(rng, (16, 16)), paired(rng, (16, 16))
    c = np.full((16, 20), np.nan, np.float32)
    c[:, :16] = start = rng.standard_normal((16, 16)).astype(np.float32)
    call(name["ldtilecfg"], np.zeros(64, np.uint8))
    call(name["tileloadd64"], (byte, 0), c, (word, 80))
    call(name["tileloadd64"], (byte, 4), a_words, (word, 64))
    call(name["tileloadd64"], (byte, 6), b_words, (word, 64))
    call(name["tdpbf16ps"], (byte, 0), (byte, 4), (byte, 6))
    call(name["tilestored64"], (byte, 0), c, (word, 80))
    wanted = start + np.einsum("mkp,knp->mn", a.astype(np.float64), b)
    np.testing.assert_allclose(c[:, :16], wanted, rtol=1e-5, atol=1e-5)
    assert np.isnan(c[:, 16:]).all()
    call(name["tilezero"], (byte, 0))
    call(name["tilestored64"], (byte, 0), c, (word, 80))
    assert not c[:, :16].any()
    call(name["tilerelease"])


def test_unknown_instructions_are_named():
    text = "declare void @llvm.x86.tdpfp16ps(i8, i8, i8)"
    assert replaced(text, frozenset()) == text
    with pytest.raises(NotImplementedError, match=r"llvm\.x86\.tdpfp16ps"):
        replaced(text, frozenset({"amx-tile"}))


def test_every_intrinsic_of_the_sources_is_known():
    """Whatever a kernel may name can be replaced."""
    import pathlib
    import re

    import rushlight

    root = pathlib.Path(rushlight.__file__).parent
    for folder in ("machine", "compiler", "kernels", "fastpath"):
        for path in (root / folder).rglob("*.py"):
            for name in re.findall(r'"@?(llvm\.x86\.[a-z0-9.]+)"', path.read_text()):
                assert name in TILES or name in _FUNCTIONS or name in _ANYWHERE, path


def test_models():
    for name in cpu.MODELS:
        made = cpu.model(name)
        flags = dict((flag[1:], flag[0] == "+") for flag in made.flags().split(","))
        assert not any(flags.get(feature) for feature in made.emulated)
        host = llvm.get_host_cpu_features()
        assert all(host.get(feature) for feature, on in flags.items() if on)
        assert made.has(*cpu.MODELS[name].features)
    lengths = [cpu.model(name).vector_length for name in ("x86-64-v2", "haswell", "znver4")]
    assert lengths == [4, 8, 16]
    assert cpu.model("sapphirerapids").has("amx-tile")
    assert not cpu.model("znver5").has("amx-tile")


def test_unknown_processors_are_refused():
    with pytest.raises(ValueError, match="expected one of x86-64-v2, haswell.*got 'pentium'"):
        cpu.model("pentium")
    run = subprocess.run(
        [sys.executable, "-c", "import rushlight as r; r.rand(9, 9) @ r.rand(9, 9)"],
        env={**os.environ, "RUSHLIGHT_PROCESSOR": "pentium"},
        capture_output=True,
        text=True,
    )
    assert run.returncode != 0
    assert "RUSHLIGHT_PROCESSOR: expected one of" in run.stderr

"""Packs of object code: found by a module's text, complete or not, on the processors they fit."""

from __future__ import annotations

import dataclasses
import os
import subprocess
import sys

import pytest

from rushlight.machine import llvm_passes, object_code, prebuilt
from rushlight.machine import processors as cpu

TEXT = "define i64 @answer() {\n  ret i64 42\n}"


@pytest.fixture
def pack(tmp_path, monkeypatch):
    """A folder whose pack for this processor holds one object."""
    level = prebuilt.level(cpu.processor())
    if level is None:
        pytest.skip("no pack fits this processor, or instructions are emulated")
    objects = {prebuilt.name_of(TEXT, None): b"object", prebuilt.name_of("other", None): b""}
    (tmp_path / f"{level}.pack").write_bytes(prebuilt.packed(objects))
    monkeypatch.setenv("RUSHLIGHT_PREBUILT", str(tmp_path))
    return tmp_path


def test_packs_hold_what_was_put_in():
    objects = {bytes([i]) * 16: os.urandom(i * 7) for i in range(50)}
    content = prebuilt.packed(objects)
    assert prebuilt.unpacked(content) == objects
    assert prebuilt.packed(dict(reversed(objects.items()))) == content
    assert prebuilt.unpacked(prebuilt.packed({})) == {}


def test_an_object_is_found_by_text_and_passes(pack, monkeypatch):
    host = cpu.processor()
    assert prebuilt.find(TEXT, None, host) == b"object"
    assert prebuilt.find(TEXT + " ", None, host) is None
    assert prebuilt.find(TEXT, llvm_passes.simplify, host) is None
    assert object_code.object_code(TEXT, None, None, host) == b"object"
    monkeypatch.setenv("RUSHLIGHT_PREBUILT", "")
    assert prebuilt.find(TEXT, None, host) is None
    monkeypatch.setenv("RUSHLIGHT_PREBUILT", str(pack / "missing"))
    assert prebuilt.find(TEXT, None, host) is None


@pytest.mark.parametrize("damage", ["cut", "empty", "noise", "count", "short"])
def test_a_damaged_pack_is_told_and_not_used(pack, damage):
    import lzma

    (path,) = pack.iterdir()
    content = path.read_bytes()
    path.write_bytes({
        "cut": content[:-20], "empty": b"", "noise": os.urandom(300),
        "count": lzma.compress(b"\xff" * 40), "short": lzma.compress(b"ab"),
    }[damage])  # fmt: skip
    prebuilt._pack.cache_clear()
    with pytest.warns(RuntimeWarning, match="is not used"):
        assert prebuilt.find(TEXT, None, cpu.processor()) is None


def _processor(name, without=(), **more):
    features = dict.fromkeys(prebuilt.EVERYWHERE | cpu.MODELS[name].features, True)
    return cpu.Processor(name, {**features, **dict.fromkeys(without, False), **more})


@pytest.mark.parametrize("name", prebuilt.LEVELS)
def test_each_level_is_its_own(name):
    assert prebuilt.level(_processor(name)) == name
    assert prebuilt.level(_processor(name, without=["bmi2"])) is None
    emulated = dataclasses.replace(_processor(name), emulated=frozenset({"avx2"}))
    assert prebuilt.level(emulated) is None


def test_other_processors_take_the_widest_that_runs():
    def named(name, like, **options):
        return prebuilt.level(dataclasses.replace(_processor(like, **options), name=name))

    assert named("znver3", "haswell") == "haswell"
    assert named("cascadelake", "skylake-avx512", avx512vnni=True) == "skylake-avx512"
    assert named("graniterapids", "sapphirerapids") == "sapphirerapids"
    assert named("sapphirerapids", "sapphirerapids", without=["amx-tile"]) == "znver4"
    assert named("x86-64", "haswell", without=["fma"]) is None


PROGRAM = """
import rushlight
from rushlight.machine import object_code
made, old = [], object_code.compiled
object_code.compiled = lambda *given: made.append(1) or old(*given)
x = rushlight.arange(300.0).reshape(15, 20)
assert (x @ x.T).relu().double().sum().item() == {total}
assert ((x * 2 + x[0]) - x[0] == x + x).all()
print(len(made))
"""


@pytest.mark.skipif(sys.platform != "linux", reason="packs are made on Linux")
def test_a_program_runs_with_what_a_pack_holds(tmp_path):
    """The kernels of a program, recorded, packed, and found by a process with an empty cache."""
    ours = cpu.processor()
    if ours.emulated or prebuilt.level(ours) is None:
        pytest.skip("no pack fits this processor, or instructions are emulated")
    total = sum(sum(a * b for a, b in zip(p, q, strict=True)) for p in _rows() for q in _rows())
    program = PROGRAM.format(total=float(total))
    recorder = f"""
from rushlight.machine import processors as cpu, object_code, prebuilt
objects, compiled = {{}}, object_code.compiled
def keep(text, passes, machine):
    made = objects[prebuilt.name_of(text, passes)] = compiled(text, passes, machine)
    return made
object_code.compiled = keep
{program}
name = prebuilt.level(cpu.processor())
open({str(tmp_path)!r} + "/" + name + ".pack", "wb").write(prebuilt.packed(objects))
"""

    def run(text, cache, packs):
        settings = {"RUSHLIGHT_CACHE_DIR": str(tmp_path / cache), "RUSHLIGHT_PREBUILT": packs}
        done = subprocess.run(
            [sys.executable, "-c", text],
            env={**os.environ, **settings},
            capture_output=True,
            text=True,
        )
        assert done.returncode == 0, done.stderr
        return int(done.stdout)

    assert run(recorder, "first", "") > 5
    assert run(program, "second", str(tmp_path)) == 0
    assert run(program, "third", "") > 5


def _rows():
    return [range(20 * i, 20 * i + 20) for i in range(15)]


def test_long_compiling_says_so_once(monkeypatch, capsys):
    monkeypatch.setattr(object_code, "_spent", 0.0)
    for _ in range(5):
        object_code._count(0.7)
    assert capsys.readouterr().err == (
        "rushlight: compiling kernels for this processor; the next run finds them ready\n"
    )

"""Object code on disk: shared by processes, checked, and dispensable."""

from __future__ import annotations

import os
import shutil
import stat
import subprocess
import sys
import time

import pytest

PROGRAM = """
import sys
import numpy as np
from rushlight.compiler import compile_kernel, xp
from rushlight.machine.elementwise_engine import engine
from rushlight.machine import code_cache

x = np.linspace(-3, 3, 100, dtype=np.float32)
for k in range(3):
    body = lambda x, c=float(k): xp.tanh(x * c)
    kernel = compile_kernel(body, {"x": "f32"}, {}, {}, {}, ("f32",))
    np.testing.assert_allclose(kernel(x), np.tanh(x * k), rtol=1e-5)
print(engine().compiled, code_cache.place())
"""


def start(folder, **environment):
    settings = {**os.environ, "RUSHLIGHT_CACHE_DIR": str(folder), **environment}
    return subprocess.Popen(
        [sys.executable, "-c", PROGRAM],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env=settings,
    )


def finish(process):
    out, error = process.communicate(timeout=60)
    assert process.returncode == 0, error
    compiled, where = out.split(maxsplit=1)
    return int(compiled), where.strip()


def run(folder, **environment):
    return finish(start(folder, **environment))


def test_second_process_compiles_nothing(tmp_path):
    compiled, where = run(tmp_path)
    assert compiled >= 4 and where == str(tmp_path)  # drivers, doors, kernels
    assert run(tmp_path)[0] == 0


def test_damaged_files_are_replaced(tmp_path):
    run(tmp_path)
    files = sorted(tmp_path.glob("*/r*.o"))
    assert len(files) >= 4
    whole = {f: f.read_bytes() for f in files}
    for j, file in enumerate(files):
        data = whole[file]
        broken = bytearray(data)
        broken[len(data) // 2] ^= 1
        file.write_bytes([b"", data[:100], bytes(broken), data[:-1]][j % 4])
    assert run(tmp_path)[0] == len(files)
    assert {f: f.read_bytes() for f in files} == whole
    assert run(tmp_path)[0] == 0


def test_processes_at_once(tmp_path):
    for process in [start(tmp_path) for _ in range(4)]:
        finish(process)
    assert not list(tmp_path.rglob("*.part"))
    assert run(tmp_path)[0] == 0


def test_folder_that_cannot_be_written(tmp_path):
    occupied = tmp_path / "file"
    occupied.write_text("not a folder")
    temporary = tmp_path / "temporary"
    temporary.mkdir()
    compiled, where = run(occupied, TMPDIR=str(temporary))
    assert compiled >= 4 and where.startswith(str(temporary))
    assert run(occupied, TMPDIR=str(temporary)) == (0, where)
    assert stat.S_IMODE(os.stat(where).st_mode) == 0o700


@pytest.mark.skipif(not hasattr(os, "getuid"), reason="permissions of POSIX")
def test_folder_that_others_may_write_is_not_trusted(tmp_path):
    occupied = tmp_path / "file"
    occupied.write_text("not a folder")
    shared = tmp_path / f"rushlight-{os.getuid()}"
    shared.mkdir()
    shared.chmod(0o777)
    _, where = run(occupied, TMPDIR=str(tmp_path))
    assert not where.startswith(str(shared) + os.sep)


def test_versions_unused_for_a_month_are_removed(tmp_path):
    run(tmp_path)
    place, old, recent = tmp_path, "0" * 24, "cuda-12-9"
    (current,) = place.iterdir()
    for name, days in ((old, 31), (recent, 29), ("notes", 31)):
        (place / name).mkdir()
        (place / name / "code.o").write_bytes(b"x")
        then = time.time() - days * 86400
        os.utime(place / name, (then, then))
    os.utime(current, (then, then))
    assert run(tmp_path)[0] == 0
    assert sorted(p.name for p in place.iterdir()) == sorted([old, recent, "notes", current.name])
    assert time.time() - current.stat().st_mtime < 3600  # used just now
    shutil.rmtree(current)
    assert run(tmp_path)[0] > 0
    assert sorted(p.name for p in place.iterdir()) == sorted([recent, "notes", current.name])


def test_key_names_program_processor_and_sources():
    from rushlight.machine.elementwise_engine import Engine, engine

    host = engine()
    assert host.key("a") == host.key("a") != host.key("b")
    assert host.key("a") != Engine("haswell").key("a")

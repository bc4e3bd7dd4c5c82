"""Compiled kernels as bytes: from the cache of one process to that of another."""

from __future__ import annotations

import hashlib
import json
import os
import subprocess
import sys

import pytest

import rushlight
from rushlight.compiler import artifacts, load_cache_artifacts, save_cache_artifacts
from rushlight.machine import code_cache
from rushlight.machine.processors import processor

# Loads `argv[1]` if it is there, runs a program, prints what it compiled, and saves to `argv[2]`.
PROGRAM = """
import json, os, pathlib, sys, warnings
import rushlight
from rushlight.machine import elementwise_engine, machine_code, object_code

made = []
def counted(text, *rest):
    made.append(text)
    return object_code.object_code(text, *rest)
machine_code.object_code = elementwise_engine.object_code = counted

load, save = map(pathlib.Path, sys.argv[1:])
loaded, told = None, []
if load.exists():
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        found = rushlight.compiler.load_cache_artifacts(load.read_bytes())
    told = [str(each.message) for each in caught]
    loaded = found and sorted(found.inductor_artifacts)
net = rushlight.compile(lambda x: (x @ x.T).tanh().relu() + x.sum())
x = rushlight.arange(64 * 128, dtype=rushlight.float32).reshape(64, 128) % 7 - 3
with rushlight.no_grad():
    result = float(net(x * 0.25).sum())
content, info = rushlight.compiler.save_cache_artifacts()
save.write_bytes(content)
print(json.dumps([len(made), loaded, sorted(info.inductor_artifacts), result, told]))
"""


def run(tmp_path, cache, load, save, **environment):
    own = {"RUSHLIGHT_CACHE_DIR": str(tmp_path / cache), "RUSHLIGHT_PREBUILT": "", **environment}
    done = subprocess.run(
        [sys.executable, "-c", PROGRAM, str(tmp_path / load), str(tmp_path / save)],
        env={**os.environ, **own}, capture_output=True, text=True,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


def test_another_cache_compiles_nothing(tmp_path):
    compiled, loaded, saved, result, _ = run(tmp_path, "first", "none", "bytes")
    assert compiled >= 5 and loaded is None and len(saved) == compiled
    assert saved == sorted(path.stem for path in (tmp_path / "first").rglob("*.o"))
    again = run(tmp_path, "second", "bytes", "more")
    assert again == [0, saved, saved, result, []]
    written = {path.name: path.read_bytes() for path in (tmp_path / "second").rglob("*.o")}
    assert written == {path.name: path.read_bytes() for path in (tmp_path / "first").rglob("*.o")}
    assert (tmp_path / "more").read_bytes() == (tmp_path / "bytes").read_bytes()
    assert run(tmp_path, "third", "none", "other")[0] == compiled


def test_kernels_of_another_processor_are_skipped(tmp_path):
    *_, saved, result, _ = run(tmp_path, "first", "none", "bytes", RUSHLIGHT_PROCESSOR="x86-64-v2")
    compiled, loaded, _, other, told = run(
        tmp_path, "second", "bytes", "more", RUSHLIGHT_PROCESSOR="haswell"
    )
    assert compiled >= 5 and loaded == []
    assert told and f"none of {len(saved)} kernels" in told[0] and "processor" in told[0]
    assert abs(result - other) <= 1e-5 * abs(result)


# --------------------------------------------------------------------------------- in this process
@pytest.fixture
def cache(tmp_path, monkeypatch):
    monkeypatch.setenv("RUSHLIGHT_CACHE_DIR", str(tmp_path / "cache"))
    return tmp_path / "cache"


def packed(*entries):
    """Bytes with entries of this test, intact."""
    parts = b""
    for version, key, body in entries:
        names = version.encode(), key.encode()
        parts += artifacts._LENGTHS.pack(*map(len, names), len(body)) + b"".join(names) + body
    return artifacts._MARK + hashlib.sha256(parts).digest() + parts


def own():
    return code_cache.version(processor())


def files(folder):
    return sorted(path.relative_to(folder).as_posix() for path in folder.rglob("*.o"))


def test_entries_of_this_version_are_kept(cache):
    entries = [(own(), "one", b"1"), ("0" * 24, "two", b"2"), ("cuda-12-9", "three", b"3")]
    info = load_cache_artifacts(packed(*entries))
    assert info.inductor_artifacts == ["one", "three"] and not info.empty()
    assert files(cache) == sorted([f"{own()}/one.o", "cuda-12-9/three.o"])
    assert code_cache.stored(own(), "one") == b"1"
    assert (own(), "one") not in code_cache.needed()
    info.clear()
    assert info.empty() and info.inductor_artifacts == []


def test_an_entry_that_is_there_stays(cache):
    code_cache.store(own(), "one", b"compiled here")
    assert load_cache_artifacts(packed((own(), "one", b"1"))).inductor_artifacts == ["one"]
    assert code_cache.stored(own(), "one") == b"compiled here"


def test_damaged_bytes_are_refused(cache):
    whole = packed((own(), "one", b"code" * 20), (own(), "two", b"more" * 20))
    broken = bytearray(whole)
    broken[-5] ^= 1
    head = bytearray(whole)
    head[len(artifacts._MARK)] ^= 1
    for data in (bytes(broken), bytes(head), whole[:-1], whole + b"x", b"", b"text", whole[1:]):
        with pytest.warns(RuntimeWarning, match="nothing is loaded"):
            assert load_cache_artifacts(data) is None
    assert files(cache.parent) == []
    assert load_cache_artifacts(memoryview(whole)).inductor_artifacts == ["one", "two"]


@pytest.mark.parametrize("key", ["../out", "a/b", "", "a\0b", "ä", "x" * 201])
def test_keys_that_are_no_names_of_files_are_refused(cache, key):
    data = packed((own(), "one", b"1"), (own(), key, b"2"))
    with pytest.warns(RuntimeWarning, match="malformed"):
        assert load_cache_artifacts(data) is None
    assert files(cache.parent) == []


def test_lengths_beyond_the_end_are_refused(cache):
    for parts in (artifacts._LENGTHS.pack(1, 1, 100) + b"vkb", b"\1\0"):
        data = artifacts._MARK + hashlib.sha256(parts).digest() + parts
        with pytest.warns(RuntimeWarning, match="nothing is loaded"):
            assert load_cache_artifacts(data) is None


def test_other_versions_alone_are_told_of(cache):
    with pytest.warns(RuntimeWarning, match="none of 1 kernels is loaded.*another version"):
        assert load_cache_artifacts(packed(("0" * 24, "two", b"2"))).empty()
    assert files(cache.parent) == []


def test_what_is_no_bytes_is_refused():
    for wrong in ("text", None, [b"a"]):
        with pytest.raises(TypeError, match="'serialized_artifacts' must be bytes"):
            load_cache_artifacts(wrong)


def test_without_entries_there_are_no_bytes(cache, monkeypatch):
    monkeypatch.setattr(code_cache, "_needed", {})
    assert save_cache_artifacts() is None
    code_cache.write(own(), "one", b"1")
    content, info = save_cache_artifacts()
    assert info.inductor_artifacts == ["one"] and content == packed((own(), "one", b"1"))
    (cache / own() / "one.o").unlink()  # a cache that was emptied meanwhile
    assert save_cache_artifacts() is None


def test_a_folder_that_others_may_write_takes_nothing(tmp_path, monkeypatch):
    shared = tmp_path / "shared"
    shared.mkdir()
    shared.chmod(0o777)
    blocked = tmp_path / "file"
    blocked.write_text("not a folder")
    monkeypatch.setenv("RUSHLIGHT_CACHE_DIR", str(shared))
    monkeypatch.setattr(code_cache, "_temporary", lambda: blocked)
    with (
        pytest.warns(RuntimeWarning, match="keeps no machine code"),
        pytest.warns(RuntimeWarning, match="nothing can be kept"),
    ):
        assert load_cache_artifacts(packed((own(), "one", b"1"))).empty()
    assert files(tmp_path) == []


def test_names_are_public():
    assert {"save_cache_artifacts", "load_cache_artifacts"} <= set(rushlight.compiler.__all__)

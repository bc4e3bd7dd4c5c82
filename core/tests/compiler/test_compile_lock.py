"""What the cache of machine code lacks is made once, whoever asks at the same time."""

import subprocess
import sys
import threading
import time

import pytest

from rushlight.machine import code_cache, compile_lock

HOLDS = """
import pathlib, sys, time
from rushlight.machine import compile_lock
with compile_lock.alone(pathlib.Path(sys.argv[1])):
    print("held", flush=True)
    time.sleep(100)
"""


@pytest.fixture
def cache(tmp_path, monkeypatch):
    """A folder of its own for machine code."""
    monkeypatch.setenv("RUSHLIGHT_CACHE_DIR", str(tmp_path / "cache"))
    return tmp_path / "cache"


@pytest.fixture
def holder(cache):
    """A process that holds the lock of an entry and does not make it."""
    path = code_cache.folder("version") / "key"
    process = subprocess.Popen(
        [sys.executable, "-c", HOLDS, str(path)], stdout=subprocess.PIPE, text=True
    )
    assert process.stdout.readline() == "held\n"
    yield process
    process.kill()
    process.communicate()


def test_whoever_comes_second_reads_what_the_first_makes(cache):
    found, second_makes = [], threading.Event()

    def second():
        found.append(code_cache.made("version", "key", lambda: second_makes.set() or b"second"))

    thread = threading.Thread(target=second)

    def first():
        thread.start()
        assert not second_makes.wait(0.2)
        return b"first"

    assert code_cache.made("version", "key", first) == b"first"
    thread.join()
    assert found == [b"first"] and not second_makes.is_set()
    assert [path.name for path in (cache / "version").iterdir()] == ["key.o"]


def test_other_entries_are_not_waited_for(cache):
    def make():
        return code_cache.made("version", "other", lambda: b"other") + b" and one"

    start = time.monotonic()
    assert code_cache.made("version", "one", make) == b"other and one"
    assert time.monotonic() - start < compile_lock.LONGEST


def test_what_fails_is_made_by_the_next(cache):
    with pytest.raises(ZeroDivisionError):
        code_cache.made("version", "key", lambda: 1 // 0)
    assert code_cache.made("version", "key", lambda: b"made") == b"made"
    assert [path.name for path in (cache / "version").iterdir()] == ["key.o"]


def test_a_holder_that_is_killed_is_not_waited_for(holder):
    threading.Timer(0.1, holder.kill).start()
    assert code_cache.made("version", "key", lambda: b"made") == b"made"
    assert holder.wait() != 0


def test_a_holder_that_never_ends_is_waited_for_to_a_limit(holder, cache, monkeypatch):
    monkeypatch.setattr(compile_lock, "LONGEST", 0.1)
    assert code_cache.made("version", "key", lambda: b"made") == b"made"
    assert holder.poll() is None
    assert (cache / "version" / "key.lock").exists()  # still the holder's


def test_a_folder_that_is_gone_needs_no_lock(tmp_path):
    with compile_lock.alone(tmp_path / "gone" / "key"):
        assert not list(tmp_path.iterdir())

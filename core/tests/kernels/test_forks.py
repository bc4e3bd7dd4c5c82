"""Forks while another thread holds a lock, imports or compiles: the child goes on."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import textwrap
import threading
import time
import warnings

import pytest

import rushlight
from rushlight.machine import forking, openblas

pytestmark = pytest.mark.skipif(not hasattr(os, "fork"), reason="forks")
LOCKS = (type(threading.Lock()), type(threading.RLock()))


def status_of_fork(child_does):
    """What a forked child that runs a function for at most 10 s ends with: 0 if all is well."""
    with warnings.catch_warnings():
        # CPython 3.12 warns of the second Python thread: it is what these tests are about
        warnings.simplefilter("ignore", DeprecationWarning)
        child = os.fork()
    if child == 0:
        status = 1
        try:
            signal.signal(signal.SIGALRM, signal.SIG_DFL)
            signal.alarm(10)
            child_does()
            status = 0
        finally:
            os._exit(status)
    return os.waitpid(child, 0)[1]


def locks_of_modules():
    """The locks that modules of the package hold under a name, those of classes included."""
    found = {}
    for name, module in list(sys.modules.items()):
        if name.partition(".")[0] != "rushlight" or ".cuda" in name:
            continue
        for word, value in list(vars(module).items()):
            if isinstance(value, LOCKS):
                found[f"{name}.{word}"] = module, word
    return found


def ready():
    x = rushlight.rand(100_000, requires_grad=True)
    (x * 2).sum().backward()


def test_locks_of_modules_are_free_in_a_child():
    ready()
    found = locks_of_modules()
    held = [*map(id, forking.LEAVES), id(forking.COMPILING), id(forking.ACCUMULATION)]
    assert {*held} <= {id(getattr(module, word)) for module, word in found.values()}
    stuck = []
    for name, (module, word) in found.items():
        if status_while_held(getattr(module, word), lambda m=module, w=word: getattr(m, w)):
            stuck.append(name)
    assert not stuck


def status_while_held(lock, child_finds):
    """Fork while another thread holds a lock for 50 ms; the child takes the one it finds."""
    held = threading.Event()

    def hold():
        with lock:
            held.set()
            time.sleep(0.05)

    thread = threading.Thread(target=hold)
    thread.start()
    held.wait()

    def take():
        assert child_finds().acquire(timeout=5)

    status = status_of_fork(take)
    thread.join()
    return status


def test_default_generator_draws_in_a_child():
    ready()
    generator = rushlight.default_generator
    assert status_while_held(generator.engine.lock, lambda: generator.engine.lock) == 0
    assert status_of_fork(lambda: rushlight.rand(10)) == 0


def test_fork_waits_for_an_import(tmp_path, monkeypatch):
    (tmp_path / "slow_to_import.py").write_text("import time\ntime.sleep(0.3)\nvalue = 5\n")
    monkeypatch.setattr(rushlight, "__path__", [*rushlight.__path__, str(tmp_path)])
    begun = threading.Thread(target=__import__, args=("rushlight.slow_to_import",))
    begun.start()
    while "rushlight.slow_to_import" not in sys.modules:
        time.sleep(0.001)
    assert "rushlight.slow_to_import" in forking.importing()

    def use():
        from rushlight.slow_to_import import value

        assert value == 5

    try:
        assert status_of_fork(use) == 0
    finally:
        begun.join()
        del sys.modules["rushlight.slow_to_import"]


def test_fork_waits_once_for_an_import_without_end(tmp_path, monkeypatch):
    monkeypatch.setattr(forking, "PATIENCE", 0.2)
    monkeypatch.setattr(rushlight, "__path__", [*rushlight.__path__, str(tmp_path)])
    (tmp_path / "serves.py").write_text("import rushlight\nrushlight.end_of_serving.wait()\n")
    end = threading.Event()
    monkeypatch.setattr(rushlight, "end_of_serving", end, raising=False)
    server = threading.Thread(target=__import__, args=("rushlight.serves",))
    server.start()
    while "rushlight.serves" not in sys.modules:
        time.sleep(0.001)
    assert status_of_fork(lambda: None) == 0
    monkeypatch.setattr(forking, "PATIENCE", 60)
    begin = time.monotonic()
    assert status_of_fork(lambda: None) == 0
    assert time.monotonic() - begin < 30
    end.set()
    server.join()
    del sys.modules["rushlight.serves"]


def test_fork_within_an_import_does_not_wait(tmp_path, monkeypatch):
    body = """
        import os, time
        begin = time.monotonic()
        child = os.fork()
        if not child:
            os._exit(0)
        os.waitpid(child, 0)
        waited = time.monotonic() - begin
    """
    (tmp_path / "forks_itself.py").write_text(textwrap.dedent(body))
    monkeypatch.setattr(rushlight, "__path__", [*rushlight.__path__, str(tmp_path)])
    from rushlight.forks_itself import waited

    del sys.modules["rushlight.forks_itself"]
    assert waited < forking.PATIENCE


COMPILES = """
    import os, signal, threading
    import rushlight

    def work():
        functions = (rushlight.erfinv, rushlight.lgamma, rushlight.sinh, rushlight.log1p)
        for f in functions:
            f(rushlight.rand(5000) / 2)
        rushlight.nn.functional.interpolate(rushlight.rand(1, 1, 8, 8), scale_factor=2.0)
        rushlight.linalg.svdvals(rushlight.rand(5, 5))

    thread = threading.Thread(target=work)
    thread.start()
    for _ in range(40):
        child = os.fork()
        if not child:
            signal.alarm(20)
            work()
            os._exit(0)
        assert os.waitpid(child, 0)[1] == 0
        if not thread.is_alive():
            break
    thread.join()
"""


def test_fork_while_another_thread_compiles(tmp_path):
    """With an empty cache: both import, compile and store the same kernels."""
    run = [sys.executable, "-W", "ignore", "-c", textwrap.dedent(COMPILES)]
    environment = os.environ | {"RUSHLIGHT_CACHE_DIR": str(tmp_path)}
    done = subprocess.run(run, env=environment, capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, done.stderr


def test_lazy_attributes_are_computed_once():
    class Square:
        def __init__(self, side):
            self.side, self.asked = side, 0

        @forking.lazy
        def area(self):
            """Its area."""
            self.asked += 1
            return self.side**2

    square = Square(3)
    assert (square.area, square.area, square.asked) == (9, 9, 1)
    assert Square.area.__doc__ == "Its area."


def test_forks_wait_for_libraries_that_are_loaded(monkeypatch):
    """llvmlite and the loader have locks of their own, which a child would find taken."""
    import llvmlite.binding

    owned = []
    monkeypatch.setattr(
        llvmlite.binding,
        "load_library_permanently",
        lambda path: owned.append(forking.COMPILING._is_owned()),
    )
    openblas.library.__wrapped__()
    assert owned == [True]

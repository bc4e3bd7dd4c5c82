"""What a save leaves beside its path: nothing, whatever it finds there."""

import fcntl
import os
import signal
import subprocess
import sys
import threading

import pytest

import rushlight
from rushlight.serialization import atomic

NAMES = (
    "model.pt",
    "model[1].pt",
    "a*b?.pt",
    ".hidden",
    "m" * 250 + ".pt",
    "üñí 模型.pt",
    "x\n.pt",
)
HANGING = """
import os, sys
from rushlight.serialization import atomic
with atomic.replacing(sys.argv[1]) as file:
    file.write(b"half")
    file.flush()
    print("ready", flush=True)
    sys.stdin.read()
"""


def _left(folder):
    return sorted(path.name for path in folder.iterdir() if path.name.endswith(".part"))


def _killed_writer(path):
    """A part whose writer was killed."""
    writer = subprocess.Popen(
        [sys.executable, "-c", HANGING, str(path)], stdin=subprocess.PIPE, stdout=subprocess.PIPE
    )
    assert writer.stdout.readline() == b"ready\n"
    writer.send_signal(signal.SIGKILL)
    writer.communicate()


def _unlocked_part(path):
    """What is left of a writer that was killed, without the wait for one."""
    handle, part = atomic._part(str(path.parent), atomic._prefix(path.name))
    os.close(handle)
    return part


def test_what_a_killed_writer_left_is_removed_by_the_next(tmp_path):
    path = tmp_path / "model.pt"
    _killed_writer(path)
    assert len(_left(tmp_path)) == 1
    rushlight.save(rushlight.ones(2), path)
    assert [p.name for p in tmp_path.iterdir()] == ["model.pt"]


@pytest.mark.parametrize("name", NAMES)
def test_names_of_every_kind(tmp_path, name):
    path = tmp_path / name
    other = _unlocked_part(tmp_path / "other.pt")
    for _ in range(2):
        _unlocked_part(path)
    rushlight.save(rushlight.ones(2), path)
    assert rushlight.load(path).tolist() == [1.0, 1.0]
    assert sorted(p.name for p in tmp_path.iterdir()) == sorted([name, os.path.basename(other)])


def test_a_writer_that_lives_keeps_its_part(tmp_path):
    path = tmp_path / "model.pt"
    with atomic.replacing(path) as file:
        file.write(b"first")
        rushlight.save(rushlight.ones(2), path)
        assert len(_left(tmp_path)) == 1
    assert path.read_bytes() == b"first" and _left(tmp_path) == []


def _hostile(part, kind, target):
    os.unlink(part)
    if kind == "folder":
        os.mkdir(part)
    elif kind == "full folder":
        os.makedirs(os.path.join(part, "inner"))
    elif kind == "pipe":
        os.mkfifo(part)
    else:
        os.symlink(target, part)


@pytest.mark.parametrize("kind", ("folder", "full folder", "pipe", "link", "broken link"))
def test_other_things_under_the_name_of_a_part(tmp_path, kind):
    """They stay, and so does what they point to; the save goes on."""
    path, target = tmp_path / "model.pt", tmp_path / "precious"
    if kind == "link":
        target.write_text("kept")
    part = _unlocked_part(path)
    _hostile(part, kind, target)
    rushlight.save(rushlight.ones(2), path)
    assert rushlight.load(path).tolist() == [1.0, 1.0]
    assert _left(tmp_path) == [os.path.basename(part)]
    assert kind != "link" or target.read_text() == "kept"


def test_a_part_that_is_taken_before_it_is_locked(tmp_path, monkeypatch):
    """Another writer may see a part between its making and its lock: a new one is made."""
    made, real = [], atomic.tempfile.mkstemp

    def taken(*args, **options):
        handle, part = real(*args, **options)
        made.append(part)
        if len(made) == 1:
            os.unlink(part)
        elif len(made) == 2:
            fcntl.flock(os.open(part, os.O_RDONLY), fcntl.LOCK_EX)
        return handle, part

    monkeypatch.setattr(atomic.tempfile, "mkstemp", taken)
    rushlight.save(rushlight.ones(2), tmp_path / "model.pt")
    assert len(made) == 3 and rushlight.load(tmp_path / "model.pt").tolist() == [1.0, 1.0]


def test_many_writers_of_one_path(tmp_path):
    path, faults = tmp_path / "model.pt", []

    def write(number):
        try:
            for _ in range(20):
                rushlight.save(rushlight.full((50,), float(number)), path)
        except OSError as error:
            faults.append(error)

    threads = [threading.Thread(target=write, args=(number,)) for number in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert faults == [] and _left(tmp_path) == []
    values = rushlight.load(path)
    assert (values == values[0]).all()

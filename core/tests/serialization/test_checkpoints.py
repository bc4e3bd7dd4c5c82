"""Checkpoints: two ways with PyTorch, atomic, and safe to open."""

import collections
import io
import os
import pickle
import signal
import subprocess
import sys
import time
import zipfile

import numpy as np
import pytest

import rushlight
from rushlight import nn, safetensors
from rushlight.serialization import add_safe_globals, clear_safe_globals, safe_globals


def everything(library):
    """An object with what checkpoints hold."""
    library.manual_seed(0)
    base = library.randn(4, 5)
    model = library.nn.Sequential(library.nn.Linear(3, 4), library.nn.BatchNorm1d(4))
    optimizer = library.optim.Adam(model.parameters())
    model(library.randn(2, 3)).sum().backward()
    optimizer.step()
    found = {
        "base": base, "view": base[1:3, ::2], "transposed": base.t(), "empty": library.zeros(0, 3),
        "number": library.tensor(3), "parameter": library.nn.Parameter(library.ones(3)),
        "plain": [1, 2.5, "x", None, True, (1, 2), b"bytes", {1, 2}, 1 + 2j],
        "ordered": collections.OrderedDict(a=1), "size": base.shape, "large": library.zeros(50_000),
        "device": library.device("cpu"), "dtype": library.float32,
        "model": model.state_dict(), "optimizer": optimizer.state_dict(),
    }  # fmt: skip
    for name in ("float64", "float16", "bfloat16", "int64", "int32", "int16", "int8", "uint8",
                 "bool", "complex64", "complex128"):  # fmt: skip
        found[name] = library.ones(2, 3).to(getattr(library, name))
    return found


def same(ours, theirs):
    """Equality across the two libraries."""
    if hasattr(theirs, "detach"):
        assert type(ours).__name__ == type(theirs).__name__
        assert ours.dtype.name == str(theirs.dtype).split(".")[1]
        assert tuple(ours.stride()) == tuple(theirs.stride())
        assert ours.requires_grad == theirs.requires_grad
        to = "float32" if ours.dtype.name == "bfloat16" else ours.dtype.name
        left = ours.detach().to(getattr(rushlight, to)).numpy()
        right = (
            theirs.detach().float().numpy() if to != ours.dtype.name else theirs.detach().numpy()
        )
        np.testing.assert_allclose(left, right, rtol=1e-5, atol=1e-6)
    elif isinstance(theirs, dict):
        assert list(ours) == list(theirs)
        for key in theirs:
            same(ours[key], theirs[key])
    elif type(theirs).__name__ in ("Size", "device", "dtype"):
        assert str(ours).replace("rushlight.", "torch.") == str(theirs)
    elif isinstance(theirs, (list, tuple)):
        assert len(ours) == len(theirs)
        for a, b in zip(ours, theirs, strict=True):
            same(a, b)
    else:
        assert ours == theirs


def test_torch_reads_ours(tmp_path):
    torch = pytest.importorskip("torch")
    path = tmp_path / "ours.pt"
    rushlight.save(everything(rushlight), path)
    for loaded in (torch.load(path, weights_only=True), torch.load(path, mmap=True)):
        same(everything(rushlight), loaded)
    assert loaded["base"].data_ptr() == loaded["transposed"].data_ptr()
    assert loaded["model"]._metadata["1"] == {"version": 2}


@pytest.mark.parametrize("mmap", [False, True])
def test_we_read_torchs(tmp_path, mmap):
    torch = pytest.importorskip("torch")
    path = tmp_path / "theirs.pt"
    theirs = everything(torch)
    torch.save(theirs, path)
    ours = rushlight.load(path, mmap=mmap)
    same(ours, theirs)
    ours["base"].zero_()
    assert ours["view"].abs().sum() == 0 and ours["transposed"].abs().sum() == 0


def test_own_round_trip_through_a_buffer():
    buffer = io.BytesIO()
    rushlight.save(everything(rushlight), buffer)
    buffer.seek(0)
    loaded = rushlight.load(buffer, map_location="cpu")
    assert (loaded["view"] == everything(rushlight)["view"]).all()
    buffer.seek(0)
    moved = rushlight.load(
        buffer, map_location=lambda storage, place: storage.cpu() if place == "cpu" else None
    )
    assert (moved["base"] == loaded["base"]).all()


def test_whole_modules_need_trust(tmp_path):
    path = tmp_path / "module.pt"
    rushlight.save(nn.Sequential(nn.Linear(2, 2)), path)
    with pytest.raises(pickle.UnpicklingError, match="add_safe_globals.*weights_only=False"):
        rushlight.load(path)
    assert isinstance(rushlight.load(path, weights_only=False)[0], nn.Linear)
    allowed = [nn.Sequential, nn.Linear]
    with safe_globals(allowed):
        assert isinstance(rushlight.load(path)[0], nn.Linear)
    add_safe_globals(allowed)
    try:
        rushlight.load(path)
    finally:
        clear_safe_globals()
    with pytest.raises(pickle.UnpicklingError):
        rushlight.load(path)


class Hostile:
    def __reduce__(self):
        return os.system, ("touch /tmp/rushlight-was-here",)


def archive_of(data):
    """A checkpoint around any pickle."""
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w") as archive:
        archive.writestr("a/data.pkl", data)
        archive.writestr("a/version", "3\n")
        archive.writestr("a/data/0", b"\0" * 64)
    buffer.seek(0)
    return buffer


def test_hostile_pickles_run_nothing():
    with pytest.raises(pickle.UnpicklingError, match="uses the global (posix|nt).system"):
        rushlight.load(archive_of(pickle.dumps(Hostile())))
    assert not os.path.exists("/tmp/rushlight-was-here")


def tensor_pickle(offset, size, stride, count=16):
    """The pickle of one tensor over a storage of 64 bytes."""
    storage = (
        b"(X\x07\x00\x00\x00storagectorch\nFloatStorage\nX\x01\x00\x00\x000X\x03\x00\x00\x00cpu"
    )
    numbers = lambda values: b"(" + b"".join(b"L%dL\n" % v for v in values) + b"t"  # noqa: E731
    return (
        b"\x80\x02ctorch._utils\n_rebuild_tensor_v2\n(" + storage + b"L%dL\ntQ" % count
        + b"L%dL\n" % offset + numbers(size) + numbers(stride) + b"I00\nNtR."
    )  # fmt: skip


def test_tensors_stay_inside_their_storage():
    good = rushlight.load(archive_of(tensor_pickle(0, (2, 3), (3, 1))))
    assert good.shape == (2, 3)
    for offset, size, stride in (
        (0, (5,), (4,)),
        (15, (2,), (1,)),
        (-1, (1,), (1,)),
        (0, (2,), (-1,)),
    ):
        with pytest.raises(RuntimeError, match="is damaged: a tensor"):
            rushlight.load(archive_of(tensor_pickle(offset, size, stride)))
    with pytest.raises(RuntimeError, match="holds 64 bytes, 4000000000000 are needed"):
        rushlight.load(archive_of(tensor_pickle(0, (1,), (1,), 10**12)))


def test_damaged_files_are_named(tmp_path):
    path = tmp_path / "whole.pt"
    rushlight.save({"x": rushlight.arange(1000.0)}, path)
    data = path.read_bytes()
    broken = tmp_path / "broken.pt"
    random = np.random.default_rng(0)
    for number in range(60):
        if number % 2:
            broken.write_bytes(data[: random.integers(0, len(data))])
        else:
            changed = bytearray(data)
            changed[random.integers(0, len(data))] ^= 1 << int(random.integers(0, 8))
            broken.write_bytes(changed)
        try:
            loaded = rushlight.load(broken)
        except (RuntimeError, pickle.UnpicklingError, NotImplementedError) as error:
            assert "broken.pt" in str(error) or "pickle" in str(error), error
        else:  # the flipped bit was padding or a name
            assert isinstance(loaded, dict)
    with pytest.raises(FileNotFoundError, match="absent.pt"):
        rushlight.load(tmp_path / "absent.pt")


def test_failed_saves_leave_the_old_file(tmp_path):
    path = tmp_path / "kept.pt"
    rushlight.save(rushlight.ones(3), path)
    with pytest.raises((TypeError, AttributeError, pickle.PicklingError)):
        rushlight.save({"x": rushlight.ones(3), "y": lambda: 0}, path)
    assert rushlight.load(path).tolist() == [1.0] * 3
    assert [p.name for p in tmp_path.iterdir()] == ["kept.pt"]
    with pytest.raises(OSError, match="cannot write '/proc/none/x.pt'"):
        rushlight.save(rushlight.ones(1), "/proc/none/x.pt")


SAVER = """
import sys, rushlight
number = 0
print("ready", flush=True)
while True:
    number += 1
    data = rushlight.full((300_000,), float(number))
    rushlight.save({"number": number, "data": data}, sys.argv[1])
"""


def test_a_saver_killed_ten_times_leaves_a_whole_file(tmp_path):
    path = tmp_path / "checkpoint.pt"
    random, last = np.random.default_rng(0), 0
    rushlight.save({"number": 0, "data": rushlight.zeros(300_000)}, path)
    for number in range(10):
        start = subprocess.Popen([sys.executable, "-c", SAVER, str(path)], stdout=subprocess.PIPE)
        start.stdout.readline()
        first, end = path.stat().st_ino, time.monotonic() + 20
        while number % 2 and path.stat().st_ino == first and time.monotonic() < end:
            time.sleep(0.001)  # every other run is killed in the midst of a later save
        time.sleep(float(random.uniform(0.002, 0.02)))
        start.send_signal(signal.SIGKILL)
        start.wait()
        start.stdout.close()
        loaded = rushlight.load(path)
        assert (loaded["data"] == float(loaded["number"])).all()
        last += loaded["number"] > 0
    assert last > 0, "no save finished in 10 runs: the test saw nothing"


def test_safetensors_round_trip_and_errors(tmp_path):
    path = tmp_path / "model.safetensors"
    state = nn.Sequential(nn.Linear(3, 2), nn.BatchNorm1d(2)).state_dict()
    state["half"] = rushlight.ones(2, 2, dtype=rushlight.bfloat16).t()
    safetensors.save_file(state, path, metadata={"made": "here"})
    loaded = safetensors.load_file(path)
    assert loaded.keys() == state.keys()
    for key, value in state.items():
        assert loaded[key].dtype is value.dtype and (loaded[key] == value).all()
    path.write_bytes(path.read_bytes()[:50])
    with pytest.raises(RuntimeError, match=r"model.safetensors' is no safetensors file"):
        safetensors.load_file(path)
    with pytest.raises(ValueError, match="'x' is a int, not a Tensor"):
        safetensors.save_file({"x": 1}, path)


@pytest.mark.parametrize(
    "text", ["a}b", "{", '{"labels": ["x", "{y}", "\\""]}', "\\", "w" * 1_000_000, "\u2028"]
)
def test_metadata_of_safetensors_hold_any_text(text):
    official = pytest.importorskip("safetensors")
    state = {"x": rushlight.arange(3)}
    data = safetensors.save(state, metadata={"notes": text, "more": "}"})
    assert rushlight.equal(safetensors.load(data)["x"], state["x"])
    assert [name for name, _ in official.deserialize(data)] == ["x"]


def test_metadata_of_many_strings_are_charged():
    pairs = ",".join(f'"{i}":""' for i in range(900_000))
    raw = ('{"__metadata__":{' + pairs + "}}").encode()
    with pytest.raises(RuntimeError, match="lists more than a file of its size can hold"):
        safetensors.load(len(raw).to_bytes(8, "little") + raw)


@pytest.mark.parametrize("size", [3, 300])
def test_safetensors_of_tensors_with_other_strides(size, tmp_path):
    path = tmp_path / "x.safetensors"
    state = {str(i): rushlight.randn(size, size + 1).t() for i in range(9)}
    state |= {f"every other {i}": rushlight.randn(2 * size)[::2] for i in range(9)}
    safetensors.save_file(state, path)
    loaded = safetensors.load_file(path)
    assert all(rushlight.equal(loaded[key], value) for key, value in state.items())
    assert safetensors.load(safetensors.save(state)).keys() == state.keys()


def test_safetensors_is_read_by_the_library(tmp_path):
    from safetensors.numpy import load_file

    path = tmp_path / "x.safetensors"
    safetensors.save_file({"x": rushlight.arange(6).reshape(2, 3)}, path)
    np.testing.assert_array_equal(load_file(path)["x"], np.arange(6).reshape(2, 3))

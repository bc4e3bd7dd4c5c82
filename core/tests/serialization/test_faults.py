"""What damaged, hostile and half-written files may do: nothing but raise an error with a name."""

import importlib.util
import io
import os
import pickle
import resource
import subprocess
import sys
from pathlib import Path

import pytest

import rushlight
from rushlight import nn, safetensors, serialization
from rushlight.kernels.copying import checksum
from rushlight.machine import threads

ROOT = Path(__file__).parents[3]


@pytest.fixture(scope="module")
def fuzz():
    spec = importlib.util.spec_from_file_location("rushlight_fuzz", ROOT / "ci" / "fuzz.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_two_thousand_mutated_files():
    """In a process of its own, which forks: nothing crashes, hangs, takes memory or runs code."""
    found = subprocess.run(
        [
            sys.executable,
            str(ROOT / "ci" / "fuzz.py"),
            "--cases",
            "2000",
            "--kills",
            "12",
            "--bombs",
            "none",
        ],
        capture_output=True,
        text=True,
        timeout=300,
    )
    assert found.returncode == 0, found.stdout[-3000:] + found.stderr[-2000:]
    assert "2000 cases" in found.stdout and ": 0 findings" in found.stdout
    assert "12 whole files" in found.stdout and " 0 left behind" in found.stdout


def test_structured_bombs():
    """Each form of `ci/bombs`, and a sample of those that are generated: none takes more memory
    than its size and 64 MB, nor more time than its size explains."""
    found = subprocess.run(
        [sys.executable, str(ROOT / "ci" / "fuzz.py"), "--cases", "0", "--kills", "0",
         "--bombs", "few"],
        capture_output=True, text=True, timeout=500,
    )  # fmt: skip
    assert found.returncode == 0, found.stdout[-3000:] + found.stderr[-2000:]
    assert ": 0 findings" in found.stdout.splitlines()[-1]


FAULTS = {
    "takes 8": lambda path: bytearray(85 << 20) and None,
    "runs code": lambda path: os.listdir("/") and os.system("true"),
    "does not name the file": lambda path: (_ for _ in ()).throw(RuntimeError("broken")),
    "raises KeyError": lambda path: {}[path],
}


@pytest.mark.parametrize("words", FAULTS)
def test_the_judge_sees_faults(fuzz, tmp_path, monkeypatch, words):
    """A loader with the fault is found out: the figures above can be wrong."""
    fuzz.prepare()
    monkeypatch.setattr(rushlight, "load", FAULTS[words])
    assert words in fuzz.judge("x.pt", b"x", str(tmp_path))


@pytest.mark.parametrize("elements", (1_000_000, 6_000_000))
def test_a_full_disk_leaves_the_last_good_file(tmp_path, elements):
    """The file system refuses more than 1 MB: the save fails with the path, the old file loads,
    whether Python or compiled code writes."""
    path = tmp_path / "kept.pt"
    rushlight.save({"x": rushlight.ones(10)}, path)
    program = (
        "import resource, signal, sys, rushlight\n"
        "from rushlight.machine import threads\n"
        "threads.pool()\n"
        "signal.signal(signal.SIGXFSZ, signal.SIG_IGN)\n"
        "resource.setrlimit(resource.RLIMIT_FSIZE, (1 << 20, 1 << 20))\n"
        "try:\n"
        "    rushlight.save({'x': rushlight.ones(int(sys.argv[2]))}, sys.argv[1])\n"
        "except OSError as error:\n"
        "    print(error)\n"
    )
    found = subprocess.run(
        [sys.executable, "-c", program, str(path), str(elements)],
        capture_output=True,
        text=True,
        timeout=60,
    )
    assert f"cannot write '{path}': File too large (the old file is untouched)" in found.stdout
    assert rushlight.load(path)["x"].tolist() == [1.0] * 10
    assert [p.name for p in tmp_path.iterdir()] == ["kept.pt"]


@pytest.mark.parametrize("compiled", (True, False))
def test_large_entries_read_by_several_threads_are_checked(tmp_path, monkeypatch, compiled):
    threads.pool()
    if not compiled:
        monkeypatch.setattr(checksum, "_available", lambda: False)
    path = tmp_path / "large.pt"
    rushlight.save(rushlight.arange(5_000_000), path)
    assert (rushlight.load(path) == rushlight.arange(5_000_000)).all()
    data = bytearray(path.read_bytes())
    data[len(data) // 2] ^= 1
    path.write_bytes(data)
    with pytest.raises(RuntimeError, match=r"large.pt' is .* checksum of entry data/0 is wrong"):
        rushlight.load(path)
    path.write_bytes(data[: len(data) // 2] + data[-4096:])
    with pytest.raises(RuntimeError, match=r"large.pt' is .* damaged"):
        rushlight.load(path)


def _archive(fuzz, data):
    return io.BytesIO(fuzz.archive_of(data))


def test_slow_keys_are_refused(fuzz):
    deep = b"\x80\x02})" + b"2\x86" * 60 + b"Ns."
    with pytest.raises(RuntimeError, match="a key is a deeply nested or very long tuple"):
        rushlight.load(_archive(fuzz, deep))
    with pytest.raises(RuntimeError, match=r"a key is a number beyond 2\*\*60"):
        rushlight.load(_archive(fuzz, pickle.dumps({1 << 61: 1}, 2)))


def test_objects_are_charged_against_the_file(fuzz):
    greedy = b"\x80\x02" + b"(" + b"]" * 2_000_000 + b"t."
    with pytest.raises(RuntimeError, match="far more memory than the file has bytes"):
        rushlight.load(_archive(fuzz, greedy))


def test_only_listed_names_are_called(fuzz):
    # An allowed layer is data here, not a function of the file's.
    data = pickle.dumps([nn.Linear(1, 1)], 2)
    assert b"rushlight" in data
    with serialization.safe_globals([nn.Linear]):
        called = b"\x80\x02crushlight.nn.linear\nLinear\n)\x81)R."
        with pytest.raises(pickle.UnpicklingError, match="a Linear is called"):
            rushlight.load(_archive(fuzz, called))


def test_names_that_would_be_refused_are_listed(tmp_path):
    path = tmp_path / "x.pt"
    rushlight.save([nn.Linear(1, 1), rushlight.ones(1)], path)
    found = serialization.get_unsafe_globals_in_checkpoint(path)
    assert found == ["torch.nn.modules.linear.Linear"]


# ------------------------------------------------------------------------------- calls and places
def test_the_environment_decides_as_in_pytorch(tmp_path, monkeypatch):
    path = tmp_path / "x.pt"
    rushlight.save(nn.Linear(1, 1), path)
    monkeypatch.setenv("TORCH_FORCE_NO_WEIGHTS_ONLY_LOAD", "1")
    assert isinstance(rushlight.load(path), nn.Linear)
    with pytest.raises(pickle.UnpicklingError):
        rushlight.load(path, weights_only=True)
    monkeypatch.setenv("TORCH_FORCE_WEIGHTS_ONLY_LOAD", "true")
    with pytest.raises(RuntimeError, match="but both were set"):
        rushlight.load(path)
    monkeypatch.delenv("TORCH_FORCE_NO_WEIGHTS_ONLY_LOAD")
    with pytest.raises(pickle.UnpicklingError):
        rushlight.load(path, weights_only=False)
    with pytest.raises(RuntimeError, match="explicit pickle_module"):
        rushlight.load(path, pickle_module=pickle)
    monkeypatch.delenv("TORCH_FORCE_WEIGHTS_ONLY_LOAD")
    assert isinstance(rushlight.load(path, pickle_module=pickle), nn.Linear)


def test_every_form_of_map_location(tmp_path):
    path = tmp_path / "x.pt"
    rushlight.save({"x": rushlight.ones(3)}, path)
    for place in ("cpu", b"cpu", rushlight.device("cpu"), {"cuda:0": "cpu"}, {"cpu": "cpu"}, None):
        assert rushlight.load(path, map_location=place)["x"].tolist() == [1.0] * 3
    calls = []
    rushlight.load(path, map_location=lambda storage, place: calls.append((len(storage), place)))
    assert calls == [(12, "cpu")]
    assert rushlight.load(path, map_location="meta")["x"].device.type == "meta"
    for place in ("cuda", {"cpu": "cuda:1"}):
        with pytest.raises(RuntimeError, match="map_location='cuda.* is not available"):
            rushlight.load(path, map_location=place)
    with pytest.raises(TypeError, match="'map_location' to be a device, a string, a dict"):
        rushlight.load(path, map_location=3)
    with pytest.raises(TypeError, match="to return a storage or None, got int"):
        rushlight.load(path, map_location=lambda storage, place: 3)
    with pytest.raises(ZeroDivisionError):
        rushlight.load(path, map_location=lambda storage, place: 1 // 0)


def test_mapped_tensors_are_written_to_apart_from_the_file(tmp_path):
    path = tmp_path / "x.pt"
    rushlight.save(rushlight.ones(3), path)
    mapped = rushlight.load(path, mmap=True)
    mapped.fill_(7.0)
    assert rushlight.load(path).tolist() == [1.0] * 3
    with pytest.raises(ValueError, match="f must be a file path"):
        rushlight.load(io.BytesIO(path.read_bytes()), mmap=True)


def test_peak_memory_of_a_save_and_a_load(tmp_path):
    """128 MB are saved and loaded with less than a tenth of it on top."""
    program = (
        "import ctypes, sys, rushlight\n"
        "def peak():\n"
        "    lines = open('/proc/self/status').read().split('\\n')\n"
        "    return {l.split(':')[0]: int(l.split()[1]) for l in lines if l[:3] == 'VmR' or "
        "l[:3] == 'VmH'}\n"
        "rushlight.save(rushlight.ones(9), sys.argv[1]); rushlight.load(sys.argv[1])\n"
        "base = peak()['VmRSS']\n"
        "state = {str(i): rushlight.ones(8 << 20) for i in range(4)}\n"
        "rushlight.save(state, sys.argv[1])\n"
        "print(peak()['VmHWM'] - base)\n"
        "del state\n"
        "ctypes.CDLL(None).malloc_trim(0)\n"
        "open('/proc/self/clear_refs', 'w').write('5')\n"
        "state = rushlight.load(sys.argv[1])\n"
        "print(peak()['VmHWM'] - base)\n"
    )
    found = subprocess.run(
        [sys.executable, "-c", program, str(tmp_path / "x.pt")],
        capture_output=True, text=True, check=True, timeout=120,
    )  # fmt: skip
    saved, loaded = map(int, found.stdout.split())
    assert 128 << 10 <= saved * 1.02 and saved < 1.1 * (128 << 10)
    assert loaded < 1.1 * (128 << 10)


def test_safetensors_headers_are_checked(tmp_path):
    path = tmp_path / "x.safetensors"

    def refused(header, body, words):
        path.write_bytes(len(header).to_bytes(8, "little") + header + body)
        with pytest.raises((RuntimeError, NotImplementedError), match=words):
            safetensors.load_file(path)

    entry = b'{"dtype":"F32","shape":[1],"data_offsets":[0,4]}'
    refused(b'{"x":' + entry + b"}", b"123", "the tensors have 4 bytes, the file holds 3")
    refused(b'{"x":' + entry + b',"x":' + entry + b"}", b"1234", "two entries 'x'")
    refused(b'{"x":' + entry.replace(b"F32", b"F99") + b"}", b"1234", "has dtype 'F99'")
    refused(b'{"x":' + entry.replace(b"[1]", b"[2]") + b"}", b"1234", r"shape \[2\] .* has 4 bytes")
    refused(b'{"x":' + entry + b"} x", b"1234", "last brace")
    refused(b"[]", b"", "where '{' belongs")
    path.write_bytes((1 << 40).to_bytes(8, "little") + b"{}")
    with pytest.raises(RuntimeError, match=r"x.safetensors' .* a header of 1099511627776 bytes"):
        safetensors.load_file(path)
    assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss < 8 << 20

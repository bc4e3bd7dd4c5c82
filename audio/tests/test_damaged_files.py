"""Damaged, lying and enormous files: a clear error, or the right samples, in bounded memory."""

import http.server
import importlib.util
import io
import struct
import subprocess
import sys
import threading
from pathlib import Path

import numpy as np
import pytest

import rushlight as rl
import rushlight_audio as ra
from rushlight.utils.download import DownloadError

_spec = importlib.util.spec_from_file_location(
    "audio_damage", Path(__file__).with_name("damage.py")
)
damage = importlib.util.module_from_spec(_spec)
_spec.loader.exec_module(damage)


@pytest.mark.parametrize("backend", [None, "ffmpeg"])
def test_mutated_files(backend):
    """Some of what ci/fuzz_audio.py tries."""
    if backend:
        pytest.importorskip("av")
    faults = [
        f"case {number} ({name}, {kind}): {fault}"
        for number in range(400)
        for name, kind, _, fault in [damage.case(number, backend)]
        if fault
    ]
    assert faults == []


def wav(frames, channels=1, rate=8000, bits=16, size=None, block=None):
    """A WAV whose header says what it is told to."""
    width = bits // 8
    data = (np.arange(frames * channels) % 100).astype(f"<i{width}").tobytes()
    block = channels * width if block is None else block
    size = len(data) if size is None else size
    parts = (b"RIFF", 36 + size, b"WAVE", b"fmt ", 16, 1, channels, rate, rate * block, block, bits)
    head = struct.pack(
        "<4sI4s4sIHHIIHH", *(p & 0xFFFFFFFF if isinstance(p, int) else p for p in parts)
    )
    return head + struct.pack("<4sI", b"data", size & 0xFFFFFFFF) + data


@pytest.mark.parametrize("said", [2, 100, 400, 10**6, 2**31 - 1, 2**32 - 1])
def test_a_length_that_lies(said):
    """What is there is read, and no more; libsndfile takes the length of the file."""
    data = wav(100, size=said)
    waveform, _ = ra.load(io.BytesIO(data))
    assert waveform.shape[1] == min(100, said // 2)
    assert rl.equal(waveform.mul(32768)[0], rl.arange(waveform.shape[1]).float())


def test_a_flac_that_promises_everything(tmp_path):
    path = tmp_path / "a.flac"
    ra.save(path, damage.samples(), 8000)
    data = bytearray(path.read_bytes())
    data[21] |= 0x0F  # the 36 bits of the number of samples
    data[22:26] = b"\xff" * 4
    path.write_bytes(data)
    assert ra.info(path).num_frames == 2**36 - 1
    code = (
        "import resource, sys, rushlight_audio as ra\n"
        "ra.info(sys.argv[1])\n"
        "before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss\n"
        "try:\n"
        "    ra.load(sys.argv[1])\n"
        "except RuntimeError as error:\n"
        "    print(error)\n"
        "print(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before < 100_000)\n"
    )
    command = [sys.executable, "-c", code, str(path)]
    said = subprocess.run(command, capture_output=True, text=True, check=True).stdout
    assert (
        "a.flac: the file breaks off: 300 of 68719476735 frames read" in said or "cannot be" in said
    )
    assert said.endswith("True\n")


def test_no_channels_and_no_rate():
    for data in (wav(100, channels=0, block=2), wav(100, rate=0), wav(1, channels=2**15 - 1)):
        for read in (ra.load, ra.info):
            with pytest.raises(RuntimeError, match="<BytesIO>: "):
                read(io.BytesIO(data))
    with pytest.raises(ValueError, match=r"holds no samples, its shape is \[0, 5\]"):
        ra.save(io.BytesIO(), rl.zeros(0, 5), 8000, format="wav")


@pytest.mark.parametrize("rate", [1, 10_000_000])
def test_strange_rates(tmp_path, rate):
    path = tmp_path / "a.wav"
    ra.save(path, damage.samples(), rate)
    waveform, found = ra.load(path)
    assert found == rate and rl.equal(waveform, damage.samples())
    assert ra.info(path).sample_rate == rate
    other = ra.functional.resample(waveform, rate, 2 * rate)
    assert other.shape == (2, 600)
    slower, half = ra.sox_effects.apply_effects_tensor(waveform, 2 * rate, [["rate", str(rate)]])
    assert (half, slower.shape) == (rate, (2, 150))
    with pytest.raises((ValueError, OSError), match="save|cannot"):
        ra.save(tmp_path / "a.mp3", waveform, rate)


def test_samples_that_are_no_numbers(tmp_path):
    path = tmp_path / "a.wav"
    values = rl.tensor([[0.5, rl.nan, rl.inf, -rl.inf, -0.5]])
    ra.save(path, values, 8000)
    for backend in (None, "ffmpeg") if "ffmpeg" in ra.list_audio_backends() else (None,):
        np.testing.assert_array_equal(ra.load(path, backend=backend)[0], values)
    clipped = ra.sox_effects.apply_effects_tensor(values, 8000, [["vol", "1"]])[0]
    np.testing.assert_array_equal(clipped, [[0.5, np.nan, 1, -1, -0.5]])
    with pytest.raises(ValueError, match="NaN"):
        ra.save(tmp_path / "a.flac", values, 8000)


MINUTE = """
import io, sys, rushlight as rl, rushlight_audio as ra

rl.manual_seed(0)
waveform = rl.rand(2, 44100 * 60) * 0.6 - 0.3
file = io.BytesIO()
ra.save(file, waveform, 44100, format=sys.argv[1])
file.seek(0)
print(ra.info(file).num_frames)
"""


def test_a_minute_is_compressed():
    """libvorbis overflows the stack where it gets so much at once."""
    command = [sys.executable, "-c", MINUTE, "ogg"]
    done = subprocess.run(command, capture_output=True, text=True)
    assert (done.returncode, done.stdout) == (0, f"{44100 * 60}\n"), done.stderr


LONG = """
import resource, struct, sys
import rushlight_audio as ra

path, rate, seconds = sys.argv[1], 16000, 36000
frames = rate * seconds
head = struct.pack("<4sI4s4sIHHIIHH4sI", b"RIFF", 2 * frames + 36, b"WAVE", b"fmt ", 16, 1, 1, rate,
                   2 * rate, 2, 16, b"data", 2 * frames)
with open(path, "wb") as file:  # silence that takes no room on the disk
    file.write(head)
    file.truncate(len(head) + 2 * frames)
    file.seek(len(head) + 2 * (frames - 2))
    file.write(struct.pack("<hh", 1000, -1000))
ra.info(path)
before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
print(ra.info(path).num_frames == frames)
print(ra.load(path, frames - 3)[0].mul(32768).tolist())
if "ffmpeg" in ra.list_audio_backends():
    reader = ra.io.StreamReader(path)
    reader.add_basic_audio_stream(16000, 2)
    reader.seek(seconds - 1.0)
    print([len(chunk) for (chunk,) in reader.stream()])
else:
    print([16000])
print(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before < 150_000)
"""


def test_ten_hours(tmp_path):
    command = [sys.executable, "-c", LONG, str(tmp_path / "long.wav")]
    said = subprocess.run(command, capture_output=True, text=True, check=True).stdout
    assert said.splitlines() == ["True", "[[0.0, 1000.0, -1000.0]]", "[16000]", "True"]


def test_a_download_that_is_cut():
    """The server says that there is more than it sends."""
    content = wav(1000)

    class Cutting(http.server.BaseHTTPRequestHandler):
        def do_GET(self):
            self.send_response(200)
            self.send_header("Content-Length", str(len(content)))
            self.end_headers()
            self.wfile.write(content[:700])

        def log_message(self, *arguments):
            pass

    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Cutting)
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    try:
        with pytest.raises(DownloadError, match=r"load\(\): http.*a.wav cannot be fetched"):
            ra.load(f"http://127.0.0.1:{server.server_port}/a.wav")
    finally:
        server.shutdown()
        thread.join()
        server.server_close()

"""Files of many hours, streamed from the first sample to the last in bounded memory.

``RUSHLIGHT_LONG_FILES=1`` runs ten hours, else it is twenty minutes.
"""

from __future__ import annotations

import os
import struct
import tracemalloc

import pytest

import rushlight as rl
import rushlight_audio as ra
from rushlight_audio import streaming
from rushlight_audio import transforms as T

RATE, PIECE = 16000, 20 * 16000
CLICK = 16384  # half of full scale
ASKED = os.environ.get("RUSHLIGHT_LONG_FILES") == "1"
SLOW = pytest.mark.skipif(not ASKED, reason="takes ten seconds: RUSHLIGHT_LONG_FILES=1")
HOURS = [1 / 3, pytest.param(10, marks=SLOW)]
MOST = 16 << 20  # bytes of arrays at a time: ten hours of float32 have 2,300 MB


def click_track(path, frames, every):
    """A WAV file of silence, which takes no room on the disk, and a click at every so many
    frames."""
    size = 2 * frames
    head = struct.pack("<4sI4s4sIHHIIHH4sI", b"RIFF", 36 + size, b"WAVE", b"fmt ", 16, 1, 1, RATE,
                       2 * RATE, 2, 16, b"data", size)  # fmt: skip
    with open(path, "wb") as file:
        file.write(head)
        file.truncate(len(head) + size)
        for at in range(0, frames, every):
            file.seek(len(head) + 2 * at)
            file.write(struct.pack("<h", CLICK))


def pieces(path, frames):
    """The waveform, piece by piece."""
    for first in range(0, frames, PIECE):
        yield ra.load(path, first, PIECE)[0]


def test_pieces_are_the_file(tmp_path):
    click_track(tmp_path / "short.wav", 3 * PIECE - 7, 50_000)
    found = rl.cat(list(pieces(tmp_path / "short.wav", 3 * PIECE - 7)), -1)
    expected, rate = ra.load(tmp_path / "short.wav")
    assert rate == RATE and rl.equal(found, expected)
    assert found.nonzero()[:, 1].tolist() == list(range(0, 3 * PIECE - 7, 50_000))


def spectra(opened, path, frames):
    """What a stream gives for a file, piece by piece."""
    for piece in pieces(path, frames):
        yield opened.push(piece)
    yield opened.finish()


@pytest.mark.parametrize("hours", HOURS)
def test_hours_of_sound_in_bounded_memory(tmp_path, hours):
    frames, every = int(hours * 3600) * RATE, 32 * RATE
    click_track(tmp_path / "long.wav", frames, every)
    halved = T.Resample(RATE, RATE // 2)
    opened = streaming.stream(rl.nn.Sequential(halved, T.Spectrogram(256, hop_length=128)))
    opened.push(rl.zeros(1, PIECE))  # compiles and makes its constants
    opened.reset()
    count, loud = 0, set()
    tracemalloc.start()
    try:
        for spectrum in spectra(opened, tmp_path / "long.wav", frames):
            energy = spectrum.sum((0, 1))
            loud |= {count + at for at in (energy > 1).nonzero()[:, 0].tolist()}
            count += len(energy)
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert count == frames // 256 + 1
    # A click every 2,000 frames of the spectrum, which only the frame around it hears aloud.
    assert loud == set(range(0, frames // 256, every // 256))
    assert peak < MOST, f"{peak} bytes"

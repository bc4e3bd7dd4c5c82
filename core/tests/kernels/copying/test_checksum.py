"""CRC-32: the same number as zlib's for every size, place and way of computing it."""

import os
import zlib

import numpy as np
import pytest

from rushlight.kernels.copying import checksum
from rushlight.machine import threads

DATA = np.random.default_rng(0).integers(0, 256, 5000, dtype=np.uint8)


def widths():
    from rushlight.kernels.copying.carryless import lanes

    return [width for width in (0, 1, 4) if width <= lanes()]


@pytest.mark.parametrize("width", (0, 1, 4))
def test_every_size_up_to_600_at_odd_places(width):
    if width not in widths():
        pytest.skip("this processor multiplies less without carries")
    for size in (*range(1, 601), 1023, 4097, 4990):
        for start in (0, 1, 7):
            piece = DATA[start : start + size]
            (found,), _ = checksum._sums("summed", piece, width=width)
            assert found == zlib.crc32(piece), (size, start)


@pytest.mark.parametrize("size", (0, 1, (1 << 20) - 1, 1 << 20, (3 << 20) + 77))
def test_pieces_are_combined(size):
    threads.pool()
    data = np.resize(DATA, size + 3)[3:]
    assert checksum.crc32(data) == zlib.crc32(data)
    assert checksum.crc32(data.data, 12345) == zlib.crc32(data, 12345)


def test_who_sums(monkeypatch):
    """zlib for little, and for less than what a compiler costs that nobody has needed yet."""
    if not checksum._available() or checksum.REFERENCE:
        pytest.skip("zlib alone here")
    monkeypatch.setattr(threads, "_pool", None)
    assert not checksum.compiled(1 << 27, 1 << 27)
    assert checksum.compiled(1 << 20, 1 << 28)
    assert not checksum.compiled((1 << 20) - 1, 1 << 28)
    monkeypatch.setattr(threads, "_pool", object())
    assert checksum.compiled(1 << 20, 1 << 20)


@pytest.mark.parametrize(("first", "second"), ((b"", b"x"), (b"y", b""), (b"rush" * 99, b"light")))
def test_combine(first, second):
    found = checksum.combine(zlib.crc32(first), zlib.crc32(second), len(second))
    assert found == zlib.crc32(first + second)


@pytest.mark.parametrize("place", (0, (8 << 20) - 5, (16 << 20) + 4096))
def test_pieces_of_a_file_end_at_multiples_of_their_size(tmp_path, place):
    if not checksum._available():
        pytest.skip("no kernel here")
    data = np.resize(DATA, (17 << 20) + 777)
    with open(tmp_path / "file", "wb") as file:
        assert checksum.write(file.fileno(), place, data) == zlib.crc32(data)
    found = np.fromfile(tmp_path / "file", np.uint8)
    assert found.size == place + data.size and (found[place:] == data).all()
    assert not found[:place].any()
    with open(os.devnull, "wb") as file:
        _, ends = checksum._sums("summed_and_written", data, file.fileno(), place)
    assert ends[-1] == data.size and all((end + place) % (8 << 20) == 0 for end in ends[:-1])


def test_a_file_is_written_and_read_with_its_checksum(tmp_path):
    if not checksum._available():
        pytest.skip("no kernel here")
    data = np.resize(DATA, (2 << 20) + 12_345)
    handle = os.open(tmp_path / "file", os.O_RDWR | os.O_CREAT)
    try:
        assert checksum.write(handle, 17, data) == zlib.crc32(data)
        assert (np.fromfile(tmp_path / "file", np.uint8)[17:] == data).all()
        target = np.zeros_like(data)
        assert checksum.read(handle, 17, target.data) == zlib.crc32(data)
        assert (target == data).all()
        assert checksum.read(handle, 18, target) is None  # the file ends one byte early
        assert checksum.read(handle, 17, np.empty(0, np.uint8)) == 0
    finally:
        os.close(handle)
    assert checksum.read(handle, 17, target) is None  # closed
    assert checksum.write(handle, 17, target) is None

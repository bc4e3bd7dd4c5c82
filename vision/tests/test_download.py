"""Files that are fetched (by core, where their faults are tested), and unpacked."""

from __future__ import annotations

import os

import pytest
from idx_files import Server, md5

from rushlight_vision.datasets.download import download_url, fetch, unpack_gzip
from rushlight_vision.datasets.integrity import calculate_md5, check_integrity

DATA = bytes(range(256)) * 400


@pytest.fixture
def server():
    with Server() as running:
        running.files["file.bin"] = DATA
        yield running


def test_a_file_is_fetched_once(server, tmp_path):
    path = tmp_path / "deep" / "file.bin"
    fetch([f"{server.address}/file.bin"], path, md5=md5(DATA))
    assert path.read_bytes() == DATA
    fetch([f"{server.address}/file.bin"], path, md5=md5(DATA))
    assert len(server.requests) == 1
    assert os.listdir(path.parent) == ["file.bin"]


def test_download_url_names_the_file(server, tmp_path):
    download_url(f"{server.address}/file.bin?key=1", tmp_path, filename="other.bin")
    assert (tmp_path / "other.bin").read_bytes() == DATA
    download_url(f"{server.address}/file.bin", tmp_path, md5=md5(DATA))
    assert (tmp_path / "file.bin").read_bytes() == DATA


def test_checksums(tmp_path):
    path = tmp_path / "file"
    path.write_bytes(b"abc")
    assert calculate_md5(path, chunk_size=2) == "900150983cd24fb0d6963f7d28e17f72"
    assert check_integrity(path) and check_integrity(path, md5(b"abc"))
    assert not check_integrity(path, md5(b"abd"))
    assert not check_integrity(tmp_path / "none")


def test_unpacking_is_whole_or_not(tmp_path):
    import gzip

    packed = tmp_path / "file.gz"
    packed.write_bytes(gzip.compress(DATA))
    unpack_gzip(packed, tmp_path / "file", md5(DATA))
    assert (tmp_path / "file").read_bytes() == DATA
    (tmp_path / "file").unlink()
    whole = packed.read_bytes()
    for damaged in (whole[:-12], b"no gzip", whole[:40] + b"??" + whole[42:]):
        packed.write_bytes(damaged)
        with pytest.raises(ValueError, match=r"file\.gz is truncated or altered"):
            unpack_gzip(packed, tmp_path / "file")
        assert os.listdir(tmp_path) == ["file.gz"]
    packed.write_bytes(whole)
    with pytest.raises(ValueError, match="its content does not match the checksum"):
        unpack_gzip(packed, tmp_path / "file", md5(b"else"))
    assert os.listdir(tmp_path) == ["file.gz"]

"""Downloads: mirrors, resuming, checksums, faults of network and disk."""

from __future__ import annotations

import errno
import os

import pytest
from idx_files import Server, md5

from rushlight_vision.datasets import download
from rushlight_vision.datasets.download import DownloadError, download_url, fetch, unpack_gzip
from rushlight_vision.datasets.integrity import calculate_md5, check_integrity

DATA = bytes(range(256)) * 400


@pytest.fixture
def server():
    with Server() as running:
        running.files["file.bin"] = DATA
        yield running


def starts(server):
    """From where on each request asked."""
    return [int(asked[6:-1]) if asked else 0 for _, asked in server.requests]


def test_a_file_is_fetched_once(server, tmp_path):
    path = tmp_path / "deep" / "file.bin"
    fetch([f"{server.address}/file.bin"], path, md5(DATA))
    assert path.read_bytes() == DATA
    fetch([f"{server.address}/file.bin"], path, md5(DATA))
    assert len(server.requests) == 1
    assert os.listdir(path.parent) == ["file.bin"]


def test_what_was_cut_off_goes_on(server, tmp_path):
    server.faults["/file.bin"] = ["cut off", "cut off"]
    fetch([f"{server.address}/file.bin"], tmp_path / "file.bin", md5(DATA))
    half = len(DATA) // 2
    assert starts(server) == [0, half, half + half // 2]
    assert (tmp_path / "file.bin").read_bytes() == DATA


def test_a_later_run_goes_on(server, tmp_path):
    server.faults["/file.bin"] = ["cut off"] * download.TRIES
    with pytest.raises(DownloadError, match="file.bin could not be downloaded: .*cut off"):
        fetch([f"{server.address}/file.bin"], tmp_path / "file.bin", md5(DATA))
    assert os.listdir(tmp_path) == ["file.bin.part"]
    kept = (tmp_path / "file.bin.part").stat().st_size
    server.requests.clear()
    fetch([f"{server.address}/file.bin"], tmp_path / "file.bin", md5(DATA))
    assert starts(server) == [kept]
    assert os.listdir(tmp_path) == ["file.bin"]
    assert (tmp_path / "file.bin").read_bytes() == DATA


def test_a_part_that_is_complete_is_used(server, tmp_path):
    (tmp_path / "file.bin.part").write_bytes(DATA)
    fetch([f"{server.address}/file.bin"], tmp_path / "file.bin", md5(DATA))
    assert (tmp_path / "file.bin").read_bytes() == DATA


def test_servers_that_cannot_resume_start_again(server, tmp_path):
    (tmp_path / "file.bin.part").write_bytes(DATA[:1000])
    server.faults["/file.bin"] = ["no range"]
    fetch([f"{server.address}/file.bin"], tmp_path / "file.bin", md5(DATA))
    assert (tmp_path / "file.bin").read_bytes() == DATA


def test_a_part_of_something_else_is_thrown_away(server, tmp_path):
    (tmp_path / "file.bin.part").write_bytes(b"?" * 1000)
    with pytest.warns(RuntimeWarning, match="do not match the checksum; fetching the whole"):
        fetch([f"{server.address}/file.bin"], tmp_path / "file.bin", md5(DATA))
    assert starts(server) == [1000, 0]
    assert (tmp_path / "file.bin").read_bytes() == DATA


def test_mirrors_take_turns(server, tmp_path, capsys):
    server.faults["/a/file.bin"] = ["missing"]
    server.faults["/b/file.bin"] = ["altered"]
    urls = [f"{server.address}/{folder}/file.bin" for folder in "abc"]
    fetch(["http://127.0.0.1:9/file.bin", *urls], tmp_path / "file.bin", md5(DATA))
    assert [path for path, _ in server.requests] == ["/a/file.bin", "/b/file.bin", "/c/file.bin"]
    assert (tmp_path / "file.bin").read_bytes() == DATA
    told = capsys.readouterr().err
    assert "HTTP 404" in told and "does not match the checksum" in told and "refused" in told


def test_all_reasons_are_told(server, tmp_path):
    server.faults["/a/file.bin"] = ["missing"]
    server.faults["/b/file.bin"] = ["altered"]
    urls = [f"{server.address}/{folder}/file.bin" for folder in "ab"]
    with pytest.raises(DownloadError) as caught:
        fetch([*urls, "no address"], tmp_path / "file.bin", md5(DATA))
    message = str(caught.value)
    assert "/a/file.bin: HTTP 404" in message
    assert "/b/file.bin: what it gives does not match the checksum" in message
    assert "no address: unknown url type" in message
    assert os.listdir(tmp_path) == []


@pytest.mark.parametrize("damage", ["truncated", "altered"])
def test_a_damaged_file_is_fetched_again(server, tmp_path, damage):
    path = tmp_path / "file.bin"
    path.write_bytes(DATA[:-9] if damage == "truncated" else b"?" + DATA[1:])
    with pytest.warns(RuntimeWarning, match=r"file\.bin does not match its checksum"):
        fetch([f"{server.address}/file.bin"], path, md5(DATA))
    assert path.read_bytes() == DATA


def test_a_full_disk_is_named(server, tmp_path, monkeypatch):
    class Full:
        def write(self, block):
            raise OSError(errno.ENOSPC, "No space left on device")

    with pytest.raises(OSError, match="cannot write the download: No space left") as caught:
        download._write(Full(), b"x", tmp_path / "file.bin.part")
    assert caught.value.filename == str(tmp_path / "file.bin.part")
    real = download._write
    monkeypatch.setattr(download, "_write", lambda file, block, path: real(Full(), block, path))
    with pytest.raises(OSError, match="No space left.*file.bin.part"):
        fetch([f"{server.address}/file.bin"], tmp_path / "file.bin", md5(DATA))
    assert not (tmp_path / "file.bin").exists()


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

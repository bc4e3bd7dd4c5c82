"""Downloads, digests, archives."""

import gzip
import io
import os
import tarfile
import zipfile
from pathlib import Path

import pytest

from rushlight_text import utils

MD5 = "900150983cd24fb0d6963f7d28e17f72"
SHA256 = "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad"


def test_validate_file():
    assert utils.validate_file(io.BytesIO(b"abc"), MD5, "md5")
    assert utils.validate_file(io.BytesIO(b"abc"), SHA256)
    assert not utils.validate_file(io.BytesIO(b"abd"), SHA256)
    with pytest.raises(ValueError, match="hash_type must be one of .*'sha1'"):
        utils.validate_file(io.BytesIO(b"abc"), "x", "sha1")


def test_downloads(tmp_path, capsys):
    source = tmp_path / "abc.txt"
    source.write_bytes(b"abc")
    root = tmp_path / "root"
    path = utils.download_from_url(source.as_uri(), root=str(root), hash_value=SHA256)
    assert path == str(root / "abc.txt") and Path(path).read_bytes() == b"abc"
    source.write_bytes(b"new")
    again = utils.download_from_url(source.as_uri(), root=str(root))
    assert Path(again).read_bytes() == b"abc"
    with pytest.raises(RuntimeError, match="hash of .*abc.txt does not match"):
        utils.download_from_url(
            source.as_uri(), root=str(root), hash_value=MD5[::-1], hash_type="md5"
        )
    utils.download_from_url(source.as_uri(), root=str(root), overwrite=True)
    assert (root / "abc.txt").read_bytes() == b"new"
    with pytest.raises(ValueError, match="hash_type"):
        utils.download_from_url(source.as_uri(), hash_value="0", hash_type="crc")


def test_offline_errors_say_what_to_do(tmp_path):
    address = (tmp_path / "none.zip").as_uri()
    with pytest.raises(RuntimeError, match=r"none\.zip.*put the file into .*RUSHLIGHT_MIRRORS"):
        utils.download_from_url(address, root=str(tmp_path / "r"))


@pytest.mark.parametrize(
    "link",
    [
        "https://drive.google.com/uc?export=download&id=0B-x_Y",
        "https://drive.google.com/file/d/0B-x_Y/v",
    ],
)
def test_links_of_google_drive(link):
    assert utils._direct(link).endswith("&id=0B-x_Y")
    assert utils._direct("https://host/file?id=3") == "https://host/file?id=3"


def test_archives(tmp_path):
    with tarfile.open(tmp_path / "a.tar.gz", "w:gz") as archive:
        entry = tarfile.TarInfo("d/a.txt")
        entry.size = 3
        archive.addfile(entry, io.BytesIO(b"abc"))
    with zipfile.ZipFile(tmp_path / "b.zip", "w") as archive:
        archive.writestr("d/b.txt", "zip")
    (tmp_path / "c.txt.gz").write_bytes(gzip.compress(b"gz"))
    here = str(tmp_path)
    assert utils.extract_archive(f"{here}/a.tar.gz") == [f"{here}/d/a.txt"]
    assert utils.extract_archive(f"{here}/b.zip", f"{here}/out") == [f"{here}/out/d/b.txt"]
    assert utils.extract_archive(f"{here}/c.txt.gz") == [f"{here}/c.txt"]
    assert (tmp_path / "c.txt").read_bytes() == b"gz"
    (tmp_path / "d" / "a.txt").write_bytes(b"mine")
    utils.extract_archive(f"{here}/a.tar.gz")
    assert (tmp_path / "d" / "a.txt").read_bytes() == b"mine"
    utils.extract_archive(f"{here}/a.tar.gz", overwrite=True)
    assert (tmp_path / "d" / "a.txt").read_bytes() == b"abc"
    assert not [name for name in os.listdir(here) if name.endswith(".part")]


def test_archives_that_are_refused(tmp_path):
    with zipfile.ZipFile(tmp_path / "out.zip", "w") as archive:
        archive.writestr("../escape.txt", "x")
    with pytest.raises(ValueError, match="would land outside"):
        utils.extract_archive(str(tmp_path / "out.zip"), str(tmp_path / "o"))
    assert not (tmp_path / "escape.txt").exists()
    for name in ("bad.zip", "bad.tar.gz"):
        (tmp_path / name).write_bytes(b"nothing")
        with pytest.raises(ValueError, match="damaged archive"):
            utils.extract_archive(str(tmp_path / name))
    with pytest.raises(NotImplementedError, match=r"none of \.tar\.gz"):
        utils.extract_archive(str(tmp_path / "a.rar"))


def test_assets(tmp_path, monkeypatch):
    monkeypatch.setenv("TORCH_HOME", str(tmp_path / "home"))
    source = tmp_path / "vocab.txt"
    source.write_text("v")
    assert utils.get_asset_local_path(str(source)) == str(source)
    assert utils.get_asset_local_path(source.as_uri()) == str(tmp_path / "home/text/vocab.txt")
    with pytest.raises(FileNotFoundError, match="gone"):
        utils.get_asset_local_path(str(tmp_path / "gone"))


def test_reporthook():
    class Bar:
        total, done = None, 0

        def update(self, count):
            self.done += count

    bar = Bar()
    hook = utils.reporthook(bar)
    hook(1, 10, 95)
    hook(3, 10)
    assert (bar.total, bar.done) == (95, 30)

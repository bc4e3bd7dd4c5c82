"""Archives: what they hold is unpacked, and nothing else happens."""

from __future__ import annotations

import bz2
import gzip
import io
import lzma
import stat
import tarfile
import zipfile

import pytest

from rushlight.utils.archives import ArchiveError, extract

FILES = {"a.txt": b"one", "deep/er/b.bin": bytes(range(256)) * 50, "deep/empty": b""}


def make_zip(path, files=FILES, modes=None):
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as file:
        for name, data in files.items():
            info = zipfile.ZipInfo(name)
            info.external_attr = (modes or {}).get(name, stat.S_IFREG | 0o644) << 16
            info.compress_type = zipfile.ZIP_DEFLATED
            file.writestr(info, data)
    return path


def make_tar(path, members=(), files=FILES):
    with tarfile.open(path, "w:gz" if path.suffix == ".gz" else "w") as file:
        for name, data in files.items():
            info = tarfile.TarInfo(name)
            info.size, info.mode = len(data), 0o4777
            file.addfile(info, io.BytesIO(data))
        for info in members:
            file.addfile(info)
    return path


def member(name, kind, link=""):
    info = tarfile.TarInfo(name)
    info.type, info.linkname = kind, link
    return info


def found(folder):
    return {str(p.relative_to(folder)): p.read_bytes() for p in folder.rglob("*") if p.is_file()}


@pytest.mark.parametrize("name", ["a.zip", "a.tar", "a.tar.gz"])
def test_whole_archives(tmp_path, name):
    archive = (make_zip if name == "a.zip" else make_tar)(tmp_path / name)
    out = tmp_path / "out"
    assert extract(archive, out) == list(FILES)
    assert found(out) == FILES
    assert not (out / "a.txt").stat().st_mode & (stat.S_ISUID | stat.S_IXUSR)
    assert extract(archive, out, members=["a.txt"]) == ["a.txt"]  # again, over what is there
    assert found(out) == FILES


@pytest.mark.parametrize(("suffix", "module"), [(".gz", gzip), (".bz2", bz2), (".xz", lzma)])
def test_single_files(tmp_path, suffix, module):
    archive = tmp_path / f"data.txt{suffix}"
    archive.write_bytes(module.compress(b"content" * 1000))
    assert extract(archive, tmp_path / "out") == ["data.txt"]
    assert found(tmp_path / "out") == {"data.txt": b"content" * 1000}
    with pytest.raises(ArchiveError, match="unpacks to more than 100 bytes"):
        extract(archive, tmp_path / "small", most_bytes=100)
    assert not found(tmp_path / "small")
    archive.write_bytes(archive.read_bytes()[:-5])
    with pytest.raises(ArchiveError, match="truncated or altered"):
        extract(archive, tmp_path / "cut")
    assert not found(tmp_path / "cut")


OUTSIDE = ["../x", "/tmp/x", "a/../../x", "..\\x", "c:\\x", "C:/x"]


@pytest.mark.parametrize("name", OUTSIDE)
@pytest.mark.parametrize("make", [make_zip, make_tar])
def test_paths_that_lead_out(tmp_path, name, make):
    archive = make(tmp_path / f"a.{make.__name__[5:]}", files={"fine": b"1", name: b"2"})
    with pytest.raises(ArchiveError, match="leads out of the folder"):
        extract(archive, tmp_path / "in" / "out")
    assert not found(tmp_path / "in") and not (tmp_path / "x").exists()


@pytest.mark.parametrize(
    ("info", "words"),
    [
        (member("l", tarfile.SYMTYPE, "/etc/passwd"), "leads out"),
        (member("deep/l", tarfile.SYMTYPE, "../../x"), "leads out"),
        (member("l", tarfile.LNKTYPE, "../x"), "leads out"),
        (member("l", tarfile.CHRTYPE), "a device or a pipe"),
        (member("l", tarfile.FIFOTYPE), "a device or a pipe"),
    ],
)
def test_links_and_devices(tmp_path, info, words):
    with pytest.raises(ArchiveError, match=words):
        extract(make_tar(tmp_path / "a.tar", [info]), tmp_path / "out")
    assert not found(tmp_path / "out")


def test_links_inside_become_copies(tmp_path):
    links = [
        member("deep/near", tarfile.SYMTYPE, "../a.txt"), member("hard", tarfile.LNKTYPE, "a.txt"),
        member("chain", tarfile.LNKTYPE, "deep/near"),
    ]  # fmt: skip
    out = tmp_path / "out"
    extract(make_tar(tmp_path / "a.tar", links), out)
    assert found(out) == {**FILES, "deep/near": b"one", "hard": b"one", "chain": b"one"}
    assert not any(path.is_symlink() for path in out.rglob("*"))


def test_a_folder_that_is_a_link_to_outside(tmp_path):
    (tmp_path / "elsewhere").mkdir()
    (tmp_path / "out").mkdir()
    (tmp_path / "out" / "deep").symlink_to(tmp_path / "elsewhere")
    with pytest.raises(ArchiveError, match="by a link"):
        extract(make_zip(tmp_path / "a.zip"), tmp_path / "out")
    assert not found(tmp_path / "elsewhere")


def test_links_in_zip_files(tmp_path):
    archive = make_zip(tmp_path / "a.zip", {"l": b"/etc/passwd"}, {"l": stat.S_IFLNK | 0o777})
    with pytest.raises(ArchiveError, match="is no file"):
        extract(archive, tmp_path / "out")


def test_bombs_are_refused_before_anything_is_written(tmp_path, monkeypatch):
    from rushlight.utils import archives

    monkeypatch.setattr(archives, "ALWAYS_ALLOWED", 1000)
    monkeypatch.setattr(archives, "MOST_RATIO", 100)
    files = {"small": b"1", "large": bytes(10_000_000)}
    for archive in (
        make_zip(tmp_path / "a.zip", files),
        make_tar(tmp_path / "a.tar.gz", (), files),
    ):
        with pytest.raises(ArchiveError, match="unpacks to more than .* most_bytes"):
            extract(archive, tmp_path / "out")
        assert not found(tmp_path / "out")
        extract(archive, tmp_path / archive.stem, most_bytes=20_000_000)
        assert found(tmp_path / archive.stem) == files


def test_members_that_lie_about_their_size(tmp_path):
    archive = make_zip(tmp_path / "a.zip", {"a": bytes(5000)})
    data = bytearray(archive.read_bytes())
    size = (5000).to_bytes(4, "little")
    while (at := data.find(size)) >= 0:
        data[at : at + 4] = (10).to_bytes(4, "little")
    archive.write_bytes(data)
    with pytest.raises(ArchiveError):
        extract(archive, tmp_path / "out")
    assert not found(tmp_path / "out")


@pytest.mark.parametrize("name", ["a.zip", "a.tar", "a.tar.gz", "a.txt"])
def test_damage_is_told(tmp_path, name):
    make = make_zip if name == "a.zip" else make_tar
    data = make(tmp_path / name).read_bytes()
    cuts = [5, len(data) // 3, len(data) // 2] if name != "a.txt" else [100]
    for cut in cuts:
        (tmp_path / name).write_bytes(data[:cut] if name != "a.txt" else b"no archive" * 9)
        with pytest.raises(ArchiveError, match=name):
            extract(tmp_path / name, tmp_path / "out")


def test_links_cannot_be_used_to_leave(tmp_path):
    """Links to links, whose text stays inside: none is made, so none can be followed."""
    away = "a/" + "l/" * 20 + "../" * 21 + "outside"
    members = [
        member("a", tarfile.DIRTYPE), member("a/l", tarfile.SYMTYPE, "."),
        member("f.part", tarfile.SYMTYPE, away),
    ]  # fmt: skip
    with pytest.raises(ArchiveError):
        extract(make_tar(tmp_path / "a.tar", members, {"f": b"x"}), tmp_path / "in" / "out")
    members = [
        member("a", tarfile.DIRTYPE), member("a/l", tarfile.SYMTYPE, ".."),
        member("q", tarfile.SYMTYPE, "a/l/.."), member("q/evil", tarfile.DIRTYPE),
    ]  # fmt: skip
    with pytest.raises(ArchiveError):
        extract(make_tar(tmp_path / "b.tar", members), tmp_path / "in" / "out")
    assert sorted(p.name for p in (tmp_path / "in").rglob("*")) == ["out"]


def test_links_that_are_there_are_replaced_or_refused(tmp_path):
    out, victim = tmp_path / "out", tmp_path / "victim"
    out.mkdir()
    victim.write_bytes(b"mine")
    for name in ("a.txt", "a.txt.part"):
        (out / name).symlink_to(victim)
    extract(make_zip(tmp_path / "a.zip"), out)
    assert victim.read_bytes() == b"mine" and not (out / "a.txt").is_symlink()
    (tmp_path / "elsewhere").mkdir()
    (out / "l").symlink_to(tmp_path / "elsewhere")
    for files in ({"l/new/x": b"1"}, {"l/new/": b""}):
        with pytest.raises(ArchiveError, match="by a link"):
            extract(make_zip(tmp_path / "b.zip", files), out)
    assert not found(tmp_path / "elsewhere") and not list((tmp_path / "elsewhere").iterdir())


def test_hard_links_count(tmp_path):
    links = [member(f"l{i}", tarfile.LNKTYPE, "f") for i in range(200)]
    archive = make_tar(tmp_path / "a.tar.gz", links, {"f": bytes(1_000_000)})
    with pytest.raises(ArchiveError, match="unpacks to more than 2000000"):
        extract(archive, tmp_path / "out", most_bytes=2_000_000)
    assert not found(tmp_path / "out")


def test_kinds_are_told_apart(tmp_path):
    inner = make_zip(tmp_path / "in.zip", {"evil": b"1"}).read_bytes()
    assert extract(make_tar(tmp_path / "a.tar", (), {"in.zip": inner}), tmp_path / "o") == [
        "in.zip"
    ]
    raw = bytes(1024) + b"data" * 1000
    (tmp_path / "img.raw.gz").write_bytes(gzip.compress(raw))
    assert extract(tmp_path / "img.raw.gz", tmp_path / "p") == ["img.raw"]
    assert found(tmp_path / "p") == {"img.raw": raw}
    named = make_tar(tmp_path / "archive", (), {"2:30.txt": b"x", "n" * 250: b"y"})
    assert len(extract(named, tmp_path / "q")) == 2


@pytest.mark.parametrize(
    "members",
    [
        [member("a", tarfile.LNKTYPE, "a")],
        [member("a", tarfile.SYMTYPE, "b"), member("b", tarfile.SYMTYPE, "a")],
        [member("a.txt/below", tarfile.DIRTYPE)],
        [member("a", tarfile.LNKTYPE, "none")],
    ],
)
def test_odd_members_are_the_archives_fault(tmp_path, members):
    with pytest.raises(ArchiveError):
        extract(make_tar(tmp_path / "a.tar", members), tmp_path / "out")


def test_members_are_names_in_the_archive(tmp_path):
    archive = make_zip(tmp_path / "a.zip")
    assert extract(archive, tmp_path / "o", members=(n for n in FILES)) == list(FILES)
    with pytest.raises(ValueError, match="no member none"):
        extract(archive, tmp_path / "o", members=["a.txt", "none"])
    with pytest.raises(TypeError, match="not one string"):
        extract(archive, tmp_path / "o", members="a.txt")


@pytest.mark.parametrize("blocks", [2, 1, 0])
def test_tar_that_was_cut_between_members(tmp_path, blocks):
    """After its members a tar file has two empty blocks; of the second nothing depends."""
    whole = make_tar(tmp_path / "whole.tar").read_bytes()
    cut = tmp_path / "cut.tar"
    with tarfile.open(tmp_path / "whole.tar") as file:
        end = file.getmembers()[-1].offset_data
    cut.write_bytes(whole[: end + 512 * blocks])
    if blocks:
        assert extract(cut, tmp_path / "out") == list(FILES)
        return
    with pytest.raises(ArchiveError, match="cut.tar is truncated: the blocks that end"):
        extract(cut, tmp_path / "out")
    assert found(tmp_path / "out") == {}


@pytest.mark.parametrize("size", ["-5", "abc", "1e3", "-0"])
def test_lengths_that_are_no_numbers(tmp_path, size):
    path = tmp_path / "a.tar"
    with tarfile.open(path, "w", format=tarfile.PAX_FORMAT) as file:
        info = tarfile.TarInfo("a.txt")
        info.size, info.pax_headers = 3, {"size": size}
        file.addfile(info, io.BytesIO(b"one"))
    with pytest.raises(ArchiveError, match="a.tar"):
        extract(path, tmp_path / "out")
    assert found(tmp_path / "out") == {}

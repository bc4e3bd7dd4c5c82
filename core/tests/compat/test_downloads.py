"""Downloads from servers that cut off, stall, lie, and send something else."""

from __future__ import annotations

import errno
import hashlib
import os
import signal
import stat
import subprocess
import sys
import time
import urllib.error
from pathlib import Path

import pytest

import rushlight
from rushlight.utils import download, transfer
from rushlight.utils.download import DownloadError, fetch

sys.path.insert(0, str(Path(__file__).parent))
from hostile_server import Server  # noqa: E402

DATA = bytes(range(256)) * 4000
SHA256 = hashlib.sha256(DATA).hexdigest()


@pytest.fixture
def server():
    with Server() as running:
        running.files["/a.bin"] = DATA
        running.url = running.address + "/a.bin"
        yield running


@pytest.fixture
def target(tmp_path):
    return tmp_path / "files" / "a.bin"


def get(server, target, **options):
    fetch([server.url], target, progress=False, **options)
    assert target.read_bytes() == DATA
    assert os.listdir(target.parent) == ["a.bin"]


def starts(server):
    """From where on each request asked."""
    return [int(asked[6:-1]) if asked else 0 for _, asked in server.requests]


def test_a_file_is_fetched_once_with_an_ordinary_mode(server, target):
    mask = os.umask(0o022)
    try:
        get(server, target, sha256=SHA256[:8], size=len(DATA))
    finally:
        os.umask(mask)
    assert stat.S_IMODE(target.stat().st_mode) == 0o644
    get(server, target, sha256=SHA256)
    assert len(server.requests) == 1


@pytest.mark.parametrize("fault", ["half", "chunks_cut", "nothing"])
def test_what_is_cut_off_is_gone_on_with(server, target, fault):
    server.faults["/a.bin"] = [fault, "half"]
    get(server, target)
    first = 0 if fault == "nothing" else len(DATA) // 2
    assert starts(server) == [0, first, first + (len(DATA) - first) // 2]


def test_a_later_process_goes_on(server, target):
    server.faults["/a.bin"] = ["half"] * 3
    with pytest.raises(DownloadError, match=r"a\.bin could not be downloaded: .*cut off"):
        fetch([server.url], target)
    assert sorted(os.listdir(target.parent)) == ["a.bin.part", "a.bin.part-of"]
    kept = (target.parent / "a.bin.part").stat().st_size
    server.requests.clear()
    get(server, target)
    assert starts(server) == [kept]


def test_another_version_on_the_server_begins_anew(server, target):
    server.files["/a.bin"] = bytes(1000)
    server.faults["/a.bin"] = ["half"] * 3
    with pytest.raises(DownloadError):
        fetch([server.url], target)
    server.files["/a.bin"] = DATA
    get(server, target)


def test_a_part_that_is_whole_or_too_long(server, target):
    target.parent.mkdir()
    part, mark = target.with_name("a.bin.part"), target.with_name("a.bin.part-of")
    for data in (DATA, DATA + b"more"):
        target.unlink(missing_ok=True)
        part.write_bytes(data)
        mark.write_text('"' + hashlib.md5(DATA).hexdigest() + '"')
        server.requests.clear()
        get(server, target)
        assert len(server.requests) == (1 if data == DATA else 2)


def test_servers_that_know_no_ranges(server, target):
    server.http.no_ranges = True
    server.faults["/a.bin"] = ["half"]
    get(server, target)
    assert len(server.requests) == 2


@pytest.mark.parametrize("fault", ["stall", "trickle"])
def test_stalls_end(server, target, fault, monkeypatch):
    monkeypatch.setattr(transfer, "TIMEOUT", 0.3)
    monkeypatch.setattr(transfer, "FOR", 0.3)
    server.faults["/a.bin"] = [fault] * 3
    begun = time.monotonic()
    with pytest.raises(DownloadError, match="cut off .*(timed out|stalled)"):
        fetch([server.url], target)
    assert time.monotonic() - begun < 15
    get(server, target)


@pytest.mark.parametrize(
    ("fault", "options", "words"),
    [
        ("page", {}, "HTML page instead of the file"),
        ("commented_page", {}, "HTML page instead of the file"),
        ("more", {"size": 100_000}, "sends more than the 100000 bytes"),
        ("file", {"size": 7}, f"has {len(DATA)} bytes instead of 7"),
        ("file", {"sha256": "00"}, 'invalid hash value (expected "00", got "'),
        ("refusal", {}, "HTTP 404"),
    ],
)
def test_what_is_not_the_file_is_not_kept(server, target, fault, options, words):
    server.faults["/a.bin"] = [fault] * 3
    with pytest.raises(DownloadError) as caught:
        fetch([server.url], target, **options)
    assert words in str(caught.value) and isinstance(caught.value, RuntimeError)
    assert not target.exists()
    server.faults.clear()
    get(server, target)


def test_a_page_that_is_wanted(server, target):
    server.files["/a.html"] = b"<!DOCTYPE html><p>text"
    fetch([server.address + "/a.html"], target.with_name("a.html"))
    assert target.with_name("a.html").read_bytes().endswith(b"text")


def test_wrong_ranges_are_not_appended(server, target):
    server.faults["/a.bin"] = ["half", "wrong_range"]
    with pytest.raises(DownloadError, match=r"asked for bytes from \d+ on, got them from '5'"):
        fetch([server.url], target)


def test_mirrors_take_turns(server, target):
    server.faults["/b.bin"] = ["refusal"]
    fetch([server.address + "/b.bin", "http://127.0.0.1:9/a.bin", server.url], target)
    assert target.read_bytes() == DATA


def test_damaged_files_are_fetched_again(server, target):
    get(server, target)
    target.write_bytes(DATA[:-1] + b"x")
    with pytest.warns(RuntimeWarning, match=r"a\.bin is truncated or altered"):
        get(server, target, sha256=SHA256)


def test_a_full_disk_is_named(server, target, monkeypatch):
    class File:
        def __init__(self, file):
            self.file = file

        def __getattr__(self, name):
            return getattr(self.file, name)

        def write(self, block):
            raise OSError(errno.ENOSPC, "No space left on device")

    class Full(transfer.Part):
        def __enter__(self):
            super().__enter__()
            self.file = File(self.file)
            return self

    monkeypatch.setattr(download, "Part", Full)
    with pytest.raises(OSError, match="cannot write the download: No space left") as caught:
        fetch([server.url], target)
    assert caught.value.errno == errno.ENOSPC and caught.value.filename.endswith("a.bin.part")


GET = """
import sys
from rushlight.utils.download import fetch
fetch([sys.argv[1]], sys.argv[2], progress=False)
"""


def start(server, target):
    return subprocess.Popen(
        [sys.executable, "-c", GET, server.url, str(target)], stderr=subprocess.PIPE, text=True
    )


def test_one_of_several_processes_fetches(server, target):
    running = [start(server, target) for _ in range(4)]
    for process in running:
        _, error = process.communicate(timeout=60)
        assert process.returncode == 0, error
    assert target.read_bytes() == DATA and os.listdir(target.parent) == ["a.bin"]
    assert len(server.requests) == 1


def test_a_process_that_is_killed_leaves_what_the_next_takes(server, target):
    server.faults["/a.bin"] = ["stall"]
    killed = start(server, target)
    part = target.with_name("a.bin.part")
    while not part.exists() or part.stat().st_size < len(DATA) // 2:
        time.sleep(0.02)
        assert killed.poll() is None
    killed.send_signal(signal.SIGKILL)
    killed.communicate()
    get(server, target)
    assert starts(server) == [0, len(DATA) // 2]


# ---- PyTorch's functions -------------------------------------------------------------------------


def test_download_url_to_file(server, tmp_path):
    path = tmp_path / "x"
    rushlight.hub.download_url_to_file(server.url, str(path), SHA256[:8], progress=False)
    assert path.read_bytes() == DATA
    with pytest.raises(RuntimeError, match='expected "00000000"'):
        rushlight.hub.download_url_to_file(server.url, str(path), "00000000", progress=False)
    assert path.read_bytes() == DATA and os.listdir(tmp_path) == ["x"]
    server.faults["/a.bin"] = ["refusal"]
    with pytest.raises(urllib.error.HTTPError, match="404"):
        rushlight.hub.download_url_to_file(server.url, str(path), progress=False)
    server.faults["/a.bin"] = ["half"] * 3
    with pytest.raises(urllib.error.URLError, match="cut off"):
        rushlight.hub.download_url_to_file(server.url, str(tmp_path / "y"), progress=False)
    assert not (tmp_path / "y").exists()


def test_remains_of_former_versions_go(server, tmp_path):
    old, new = tmp_path / "tmpabc.partial", tmp_path / "tmpdef.partial"
    for path in (old, new):
        path.write_bytes(b"part")
    os.utime(old, (0, 0))
    fetch([server.url], tmp_path / "a.bin")
    assert sorted(os.listdir(tmp_path)) == ["a.bin", "tmpdef.partial"]


@pytest.mark.parametrize("name", ["../a.pt", "/a.pt", "a/b.pt", "..", "", "a\\b.pt"])
def test_file_names_stay_in_the_folder(server, tmp_path, name):
    with pytest.raises(ValueError, match="file_name: expected the name of a file"):
        rushlight.hub.load_state_dict_from_url(server.url, str(tmp_path / "c"), file_name=name)
    assert not os.listdir(tmp_path)


def test_a_hash_is_checked_or_missed(server, tmp_path):
    load = rushlight.hub.load_state_dict_from_url
    for name in ("weights.pt", "weights-final.pt", "weights-.pt", "w-face.pt"):
        with pytest.raises(ValueError, match="check_hash: .* has no hash"):
            load(server.address + "/" + name, str(tmp_path), check_hash=True)
    source = tmp_path / "source"
    rushlight.save({"w": rushlight.arange(3)}, source)
    name = f"w-{hashlib.sha256(source.read_bytes()).hexdigest()[:8]}.pt"
    server.files["/" + name] = source.read_bytes()
    (tmp_path / name).write_bytes(b"altered")
    with pytest.warns(RuntimeWarning, match="truncated or altered"):
        state = load(server.address + "/" + name, str(tmp_path), check_hash=True, progress=False)
    assert state["w"].tolist() == [0, 1, 2]


def test_mirrors_are_asked_first(server, tmp_path, monkeypatch):
    load = rushlight.hub.load_state_dict_from_url
    folder = tmp_path / "mirror"
    folder.mkdir()
    rushlight.save({"w": rushlight.arange(3)}, folder / "w.pt")
    name = f"w-{hashlib.sha256((folder / 'w.pt').read_bytes()).hexdigest()[:8]}.pt"
    (folder / "w.pt").rename(folder / name)
    absent = f"http://127.0.0.1:9/models/{name}"  # nothing listens there
    monkeypatch.setenv("RUSHLIGHT_MIRRORS", f"{server.address} {folder}")
    state = load(absent, str(tmp_path / "a"), check_hash=True, progress=False)
    assert state["w"].tolist() == [0, 1, 2]
    server.files["/" + name] = (folder / name).read_bytes()
    monkeypatch.setenv("RUSHLIGHT_MIRRORS", server.address)
    assert load(absent, str(tmp_path / "b"), check_hash=True, progress=False)["w"].tolist() == [
        0,
        1,
        2,
    ]
    (folder / name).write_bytes(b"another file")
    monkeypatch.setenv("RUSHLIGHT_MIRRORS", str(folder))
    address = f"{server.address}/{name}"  # the published address serves where a mirror is wrong
    assert load(address, str(tmp_path / "c"), check_hash=True, progress=False)["w"].tolist() == [
        0,
        1,
        2,
    ]


def test_without_network_the_error_says_what_helps(tmp_path, monkeypatch):
    load = rushlight.hub.load_state_dict_from_url
    absent = "http://127.0.0.1:9/models/w-01234567.pt"
    for mirror in ("", str(tmp_path / "mirror")):
        monkeypatch.setenv("RUSHLIGHT_MIRRORS", mirror)
        with pytest.raises(urllib.error.URLError) as caught:
            load(absent, str(tmp_path / "c"), check_hash=True, progress=False)
        text = str(caught.value)
        assert absent in text and f"put the file into {tmp_path / 'c'} as w-01234567.pt" in text
        assert "RUSHLIGHT_MIRRORS" in text and mirror in text


# ---- what servers and folders may do beside ------------------------------------------------------


def test_an_error_of_the_server_leaves_what_has_arrived(server, tmp_path):
    path = tmp_path / "a.bin"
    server.faults["/a.bin"] = ["half"] * 3 + ["refusal"]
    get = rushlight.hub.download_url_to_file
    with pytest.raises(urllib.error.URLError, match="cut off"):
        get(server.url, str(path), progress=False)
    kept = (tmp_path / "a.bin.part").stat().st_size
    with pytest.raises(urllib.error.HTTPError, match="404"):
        get(server.url, str(path), progress=False)
    assert (tmp_path / "a.bin.part").stat().st_size == kept
    get(server.url, str(path), progress=False)
    assert path.read_bytes() == DATA


@pytest.mark.parametrize("mark", [b"\xff\xfe", b"a\nb: c", b"x" * 10])
def test_a_damaged_mark_begins_anew(server, target, mark):
    target.parent.mkdir()
    target.with_name("a.bin.part").write_bytes(b"something")
    target.with_name("a.bin.part-of").write_bytes(mark)
    get(server, target)


@pytest.mark.parametrize("fault", ["unasked_part", "short_part", "other_version"])
def test_parts_that_do_not_fit(server, target, fault):
    server.faults["/a.bin"] = [fault] if fault == "unasked_part" else ["half", *[fault] * 3]
    with pytest.raises(DownloadError):
        fetch([server.url], target)
    assert not target.exists()
    server.faults.clear()
    get(server, target)


def test_a_folder_is_no_target(server, tmp_path):
    (tmp_path / "a.bin").mkdir()
    for call in (
        lambda: fetch([server.url], tmp_path / "a.bin"),
        lambda: rushlight.hub.download_url_to_file(server.url, str(tmp_path / "a.bin")),
    ):
        with pytest.raises(IsADirectoryError, match="expected the name of a file"):
            call()
    assert not server.requests and os.listdir(tmp_path) == ["a.bin"]


def test_a_link_in_place_of_a_part_is_not_followed(server, tmp_path):
    (tmp_path / "victim").write_bytes(b"mine")
    (tmp_path / "a.bin.part").symlink_to(tmp_path / "victim")
    with pytest.raises(OSError, match="part"):
        fetch([server.url], tmp_path / "a.bin")
    assert (tmp_path / "victim").read_bytes() == b"mine"


def test_one_address_may_be_a_string(server, target):
    fetch(server.url, target, progress=False)
    assert target.read_bytes() == DATA

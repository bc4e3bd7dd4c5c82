"""Machine code is read from and written to folders that nobody else can have written to."""

from __future__ import annotations

import os
import shutil
import stat
import subprocess
import sys
from pathlib import Path

import pytest

from rushlight.machine import code_cache, object_files, owned_folders
from rushlight.machine.owned_folders import Untrusted, opened

pytestmark = pytest.mark.skipif(not hasattr(os, "geteuid"), reason="owners of POSIX")
as_root = pytest.mark.skipif(
    hasattr(os, "geteuid") and os.geteuid() != 0, reason="gives files to another user"
)
OTHER = 65533

PROGRAM = """
import sys
import rushlight
from rushlight.machine import code_cache, elementwise_engine as llvm
x = rushlight.arange(5.0)
assert (x * 2 + x).tolist() == [0, 3, 6, 9, 12]
print(llvm.engine().compiled, code_cache.place())
"""


def run(folder=None, **environment):
    """What a process printed, and its warnings; packs are off, so that it needs the folder."""
    settings = {**os.environ, "RUSHLIGHT_PREBUILT": "", **environment}
    settings.pop("RUSHLIGHT_CACHE_DIR", None)
    if folder is not None:
        settings["RUSHLIGHT_CACHE_DIR"] = str(folder)
    done = subprocess.run(
        [sys.executable, "-c", PROGRAM], env=settings, capture_output=True, text=True
    )
    assert done.returncode == 0, done.stderr
    compiled, where = done.stdout.split(maxsplit=1)
    return int(compiled), where.strip(), done.stderr


def refusal(path):
    with pytest.raises(Untrusted) as caught, opened(path):
        pass
    return str(caught.value)


def test_what_is_missing_is_made_for_this_user_alone(tmp_path):
    with opened(tmp_path / "a" / "b", make=True) as folder:
        assert os.path.sameopenfile(folder, os.open(tmp_path / "a" / "b", os.O_RDONLY))
    assert all(stat.S_IMODE((tmp_path / n).stat().st_mode) == 0o700 for n in ("a", "a/b"))
    with pytest.raises(FileNotFoundError), opened(tmp_path / "c"):
        pass


@pytest.mark.parametrize(("mode", "word"), [(0o777, "everyone"), (0o770, "group")])
def test_folders_that_others_can_write(tmp_path, monkeypatch, mode, word):
    monkeypatch.setattr(owned_folders, "_is_own_group", lambda number: False)
    inner = tmp_path / "open" / "inner"
    inner.mkdir(parents=True)
    inner.parent.chmod(mode)
    assert word in refusal(inner) and "open" in refusal(inner)
    inner.parent.chmod(0o1777)  # as /tmp: nobody can rename what is not theirs
    with opened(inner):
        pass
    inner.chmod(0o1777)  # but anyone can put files into it
    assert "everyone" in refusal(inner)


def test_a_group_of_this_user_alone_is_trusted(tmp_path, monkeypatch):
    monkeypatch.setattr(owned_folders, "_is_own_group", lambda number: True)
    tmp_path.chmod(0o770)
    with opened(tmp_path):
        pass


@as_root
def test_folders_and_links_of_another_user(tmp_path):
    theirs, link = tmp_path / "theirs", tmp_path / "link"
    theirs.mkdir()
    os.chown(theirs, OTHER, OTHER)
    assert f"number {OTHER}" in refusal(theirs)
    mine = tmp_path / "mine"
    mine.mkdir()
    link.symlink_to(mine)
    with opened(link) as folder:
        assert os.path.samestat(os.fstat(folder), mine.stat())
    os.chown(link, OTHER, OTHER, follow_symlinks=False)
    assert "symbolic link" in refusal(link)


def test_links_lead_to_the_end(tmp_path):
    (tmp_path / "a" / "b").mkdir(parents=True)
    (tmp_path / "relative").symlink_to("a/../a/b")
    (tmp_path / "absolute").symlink_to(tmp_path / "relative")
    with opened(tmp_path / "absolute") as folder:
        assert os.path.samestat(os.fstat(folder), (tmp_path / "a" / "b").stat())
    (tmp_path / "round").symlink_to("round")
    with pytest.raises(OSError, match="symbolic links"), opened(tmp_path / "round"):
        pass
    (tmp_path / "file").write_text("")
    with pytest.raises(NotADirectoryError), opened(tmp_path / "file" / "x"):
        pass


# ---- programs ------------------------------------------------------------------------------------


def test_planted_code_is_not_run(tmp_path):
    """Files that lay in a folder while everyone could write there."""
    cache, temporary = tmp_path / "cache", tmp_path / "temporary"
    temporary.mkdir()
    assert run(cache)[0] > 0 and run(cache)[0] == 0
    cache.chmod(0o777)
    compiled, where, warned = run(cache, TMPDIR=str(temporary))
    assert compiled > 0 and where == str(temporary / f"rushlight-{os.geteuid()}")
    assert warned.count("RuntimeWarning") == 1
    assert str(cache) in warned and "everyone" in warned and "RUSHLIGHT_CACHE_DIR" in warned
    assert run(cache, TMPDIR=str(temporary))[0] == 0  # kept in the other one


def test_files_that_others_can_write_are_compiled_anew(tmp_path):
    run(tmp_path / "cache")
    files = sorted((tmp_path / "cache").glob("*/r*.o"))
    files[0].chmod(0o666)
    assert run(tmp_path / "cache")[0] == 1
    assert stat.S_IMODE(files[0].stat().st_mode) == 0o600
    moved = files[1].rename(tmp_path / "moved.o")
    files[1].symlink_to(moved)
    assert run(tmp_path / "cache")[0] == 1 and not files[1].is_symlink()


def _given_to(folder, user):
    for path in (folder, *folder.rglob("*")):
        os.chown(path, user, user)


@as_root
def test_another_user_plants_a_cache(tmp_path):
    """Two users: the one's files under the names that the other's process looks for."""
    cache, temporary = tmp_path / "cache", tmp_path / "temporary"
    run(cache)
    _given_to(cache, OTHER)
    temporary.mkdir(mode=0o1777)
    temporary.chmod(0o1777)
    compiled, where, warned = run(cache, TMPDIR=str(temporary))
    assert compiled > 0 and where != str(cache) and f"number {OTHER}" in warned
    # and the folder that is used instead, made by that user first
    shutil.rmtree(temporary / f"rushlight-{os.geteuid()}")
    shutil.copytree(cache, temporary / f"rushlight-{os.geteuid()}")
    _given_to(temporary / f"rushlight-{os.geteuid()}", OTHER)
    compiled, where, warned = run(cache, TMPDIR=str(temporary))
    assert compiled > 0 and where == "None" and "not kept" in warned


def test_without_a_home_folder(tmp_path):
    """As in containers: the predictable folder is made for this user, and nothing else is left."""
    home = dict(HOME="/nonexistent", XDG_CACHE_HOME="", TMPDIR=str(tmp_path))
    if os.geteuid() == 0:
        home["HOME"] = str(Path("/proc/nonexistent"))  # root could make the other one
    run(**home)
    assert [p.name for p in tmp_path.iterdir()] == [f"rushlight-{os.geteuid()}"]
    assert stat.S_IMODE(next(tmp_path.iterdir()).stat().st_mode) == 0o700
    assert run(**home)[0] == 0


def test_the_folder_of_caches(tmp_path):
    where = run(XDG_CACHE_HOME=str(tmp_path / "xdg"))[1]
    assert where == str(tmp_path / "xdg" / "rushlight")
    where = run(XDG_CACHE_HOME="relative", HOME=str(tmp_path))[1]  # which does not count
    assert where == str(tmp_path / ".cache" / "rushlight")


def test_a_folder_that_can_only_be_read_is_read(tmp_path):
    """The whole program where permissions hold; root's would write all the same: see below."""
    if os.geteuid() == 0:
        pytest.skip("root may write everywhere")
    cache, temporary = tmp_path / "cache", tmp_path / "temporary"
    run(cache)
    temporary.mkdir()
    for path in (cache, *cache.rglob("*")):
        path.chmod(0o500 if path.is_dir() else 0o400)
    compiled, where, warned = run(cache, TMPDIR=str(temporary))
    assert compiled == 0 and "Warning" not in warned
    assert where == str(temporary / f"rushlight-{os.geteuid()}")


def test_entries_of_a_folder_that_can_only_be_read(tmp_path, monkeypatch, recwarn):
    cache, temporary = tmp_path / "cache", tmp_path / "temporary"
    object_files.write(_folder(cache / "version") / "key.o", b"code")

    def refuse(folder, opened):
        if folder == cache:
            raise PermissionError(13, "Permission denied")

    monkeypatch.setattr(code_cache, "_try_to_write", refuse)
    monkeypatch.setattr(code_cache, "places", lambda: code_cache._places(cache, temporary))
    assert code_cache.places() == (cache, temporary) and not recwarn.list
    assert code_cache.read("version", "key") == b"code"
    code_cache.write("version", "other", b"more")
    assert not (cache / "version" / "other.o").exists()
    assert code_cache.read("version", "other") == b"more"


def _folder(path):
    with opened(path, make=True):
        return path

"""Folders that nobody else can have written to: what is in them may be run as machine code.

A path is walked from the root, each step through the open folder above it, so that nothing can be
exchanged meanwhile: every folder on the way belongs to this user or to the system's, and others can
write to none of them (or, as in ``/tmp``, cannot rename what is not theirs). A symbolic link counts
where this user or the system's made it. Where there are no owners of files all is trusted.
"""

from __future__ import annotations

import contextlib
import functools
import os
import stat

_FOLDER = (
    getattr(os, "O_PATH", os.O_RDONLY)
    | getattr(os, "O_DIRECTORY", 0)
    | getattr(os, "O_NOFOLLOW", 0)
    | getattr(os, "O_CLOEXEC", 0)
)
_MOST_LINKS = 40
HAS_OWNERS = hasattr(os, "geteuid")


class Untrusted(Exception):
    """Someone else could have written there; the text says why."""


def is_mine(status, *, shared=False) -> bool:
    """Whether only this user or the system's could write there; `shared`: whether a folder counts
    in which everyone makes files and only owners rename them, as in ``/tmp``."""
    return not HAS_OWNERS or not _fault(status, shared)


def _fault(status, shared):
    if status.st_uid not in (0, os.geteuid()):
        return f"belongs to another user (number {status.st_uid})"
    if shared and status.st_mode & stat.S_ISVTX:
        return ""
    if status.st_mode & stat.S_IWOTH:
        return "can be written by everyone"
    if status.st_mode & stat.S_IWGRP and not _is_own_group(status.st_gid):
        return "can be written by a group"
    return ""


@functools.cache
def _is_own_group(number):
    """Whether a group has no other member: many systems give each user one like that."""
    import grp
    import pwd

    with contextlib.suppress(KeyError):
        user, group = pwd.getpwuid(os.geteuid()), grp.getgrgid(number)
        return user.pw_gid == number and group.gr_name == user.pw_name and not group.gr_mem
    return False


def _target(name, above, path):
    """Where a symbolic link leads; NotADirectoryError if it is none."""
    status = os.stat(name, dir_fd=above, follow_symlinks=False)
    if not stat.S_ISLNK(status.st_mode):
        raise NotADirectoryError(f"{path}: {name} is not a folder")
    if status.st_uid not in (0, os.geteuid()):
        raise Untrusted(f"{name}, a symbolic link, belongs to another user")
    return os.readlink(name, dir_fd=above)


class _Walk:
    """From the root to a folder; `at` is the open folder that it has reached."""

    def __init__(self, path, make):
        self.path, self.make, self.links = os.path.abspath(path), make, 0
        self.names = self.path.split("/")[::-1]
        self.at = os.open("/", _FOLDER)

    def run(self):
        while self.names:
            name = self.names.pop()
            if name not in ("", "."):
                self.step(name)
        fault = _fault(os.fstat(self.at), shared=False)
        if fault:
            raise Untrusted(f"it {fault}")
        return self.at

    def step(self, name):
        try:
            self.enter(os.open(name, _FOLDER, dir_fd=self.at), name)
        except FileNotFoundError:
            if not self.make:
                raise
            with contextlib.suppress(FileExistsError):  # another process was first
                os.mkdir(name, 0o700, dir_fd=self.at)
            self.enter(os.open(name, _FOLDER, dir_fd=self.at), name)
        except NotADirectoryError:
            self.follow(name)

    def enter(self, folder, name):
        os.close(self.at)
        self.at = folder
        fault = _fault(os.fstat(folder), shared=True)
        if fault:
            raise Untrusted(f"{name} {fault}")

    def follow(self, name):
        self.links += 1
        if self.links > _MOST_LINKS:
            raise OSError(f"{self.path}: more than {_MOST_LINKS} symbolic links")
        target = _target(name, self.at, self.path)
        if target.startswith("/"):
            os.close(self.at)
            self.at = os.open("/", _FOLDER)
        self.names += target.split("/")[::-1]


@contextlib.contextmanager
def opened(path, make=False):
    """The folder as a descriptor for ``dir_fd=`` (None where there are no owners).

    `make`: make what is missing, for this user alone. Raises Untrusted if others could have written
    there, OSError if it cannot be reached.
    """
    if not HAS_OWNERS:
        if make:
            os.makedirs(path, exist_ok=True)
        yield None
        return
    walk = _Walk(path, make)
    try:
        yield walk.run()
    finally:
        os.close(walk.at)

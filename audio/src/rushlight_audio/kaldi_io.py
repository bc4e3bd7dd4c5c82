"""Kaldi's archives and scripts as tensors, by the names torchaudio had for them up to 2.8."""

from __future__ import annotations

from collections.abc import Iterator

import rushlight as rl
from rushlight_audio.kaldi import reading
from rushlight_audio.kaldi.reading import Table
from rushlight_audio.kaldi.writing import write_ark

__all__ = [
    "read_mat_ark",
    "read_mat_scp",
    "read_vec_flt_ark",
    "read_vec_flt_scp",
    "read_vec_int_ark",
    "write_ark",
]


def read_vec_int_ark(file_or_fd: Table) -> Iterator[tuple[str, rl.Tensor]]:
    """Names and int32 vectors of an archive.

    Args:
        file_or_fd: a path (``.gz`` too), or a binary file object.

    Raises:
        ValueError: the archive is damaged or holds something else; the message names the entry.
    """
    return _tensors(reading.read_ark(file_or_fd, "integers"))


def read_vec_flt_ark(file_or_fd: Table) -> Iterator[tuple[str, rl.Tensor]]:
    """Names and float vectors of an archive, as :func:`read_vec_int_ark`."""
    return _tensors(reading.read_ark(file_or_fd, "vector"))


def read_mat_ark(file_or_fd: Table) -> Iterator[tuple[str, rl.Tensor]]:
    """Names and float matrices of an archive, compressed ones too, as :func:`read_vec_int_ark`."""
    return _tensors(reading.read_ark(file_or_fd, "matrix"))


def read_vec_flt_scp(file_or_fd: Table) -> Iterator[tuple[str, rl.Tensor]]:
    """Names and float vectors of a script, lines ``name path:offset``."""
    return _tensors(reading.read_scp(file_or_fd, "vector"))


def read_mat_scp(file_or_fd: Table) -> Iterator[tuple[str, rl.Tensor]]:
    """Names and float matrices of a script, lines ``name path:offset`` or with ``[first:last]``
    rows (both included) at the end."""
    return _tensors(reading.read_scp(file_or_fd, "matrix"))


def _tensors(found: Iterator) -> Iterator[tuple[str, rl.Tensor]]:
    return ((key, rl.from_numpy(array)) for key, array in found)

"""Archives written, binary or text, with a script that points into them."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping
from typing import Any

import numpy as np

import rushlight as rl

__all__ = ["write_ark"]

_TOKENS = {rl.float32: "F", rl.float64: "D"}


def write_ark(
    path: str | os.PathLike,
    entries: Mapping[str, rl.Tensor] | Iterable[tuple[str, rl.Tensor]],
    scp: str | os.PathLike | None = None,
    text: bool = False,
) -> None:
    """Write vectors and matrices of float32 or float64, or vectors of int32, by name.

    Args:
        path: of the archive.
        entries: names without blanks, and tensors of one or two dimensions.
        scp: where to write a script with a line ``name path:offset`` for each; None for none.
        text: write numbers that people read.

    Raises:
        ValueError: a name with blanks, or a tensor that Kaldi has no object for.

    Example:
        >>> import os, tempfile, rushlight as rl
        >>> from rushlight_audio.kaldi_io import read_mat_scp
        >>> folder = tempfile.mkdtemp()
        >>> ark, scp = os.path.join(folder, "a.ark"), os.path.join(folder, "a.scp")
        >>> write_ark(ark, {"one": rl.ones(2, 3)}, scp)
        >>> [(name, matrix.shape) for name, matrix in read_mat_scp(scp)]
        [('one', rushlight.Size([2, 3]))]

    """
    lines = []
    with open(path, "wb") as file:
        for name, tensor in entries.items() if isinstance(entries, Mapping) else entries:
            if not name or len(name.split()) != 1 or name.split()[0] != name:
                raise ValueError(f"write_ark(): a name must have no blanks, got {name!r}")
            file.write(f"{name} ".encode())
            lines.append(f"{name} {os.fspath(path)}:{file.tell()}\n")
            file.write(_text(name, tensor) if text else _binary(name, tensor))
    if scp is not None:
        with open(scp, "w") as script:
            script.writelines(lines)


def _known(name: str, tensor: rl.Tensor) -> Any:
    is_float = tensor.dtype in _TOKENS and tensor.dim() in (1, 2)
    if not is_float and not (tensor.dtype is rl.int32 and tensor.dim() == 1):
        raise ValueError(
            f"write_ark(): {name!r}: a float32 or float64 tensor of 1 or 2 dimensions or an int32 "
            f"one of 1 is expected, got {tensor.dtype} of shape {list(tensor.shape)}"
        )
    return tensor.detach().cpu().contiguous().numpy()


def _size(number: int) -> bytes:
    return b"\4" + number.to_bytes(4, "little")


def _binary(name: str, tensor: rl.Tensor) -> bytes:
    array = _known(name, tensor)
    if array.dtype == np.int32:
        return b"\0B" + _size(len(array)) + b"".join(_signed(int(value)) for value in array)
    token = f"{_TOKENS[tensor.dtype]}{'VM'[array.ndim - 1]} ".encode()
    data = array.astype(array.dtype.newbyteorder("<")).tobytes()
    return b"\0B" + token + b"".join(_size(size) for size in array.shape) + data


def _signed(value: int) -> bytes:
    return b"\4" + value.to_bytes(4, "little", signed=True)


def _text(name: str, tensor: rl.Tensor) -> bytes:
    array = _known(name, tensor)
    if array.dtype == np.int32:
        return (" ".join(map(str, array.tolist())) + "\n").encode()
    if array.ndim == 1:
        return f" [ {' '.join(map(repr, array.tolist()))} ]\n".encode()
    rows = "".join("\n  " + " ".join(map(repr, row)) for row in array.tolist())
    return f" [{rows} ]\n".encode()

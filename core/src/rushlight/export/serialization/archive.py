"""The files of a ``.pt2`` archive."""

from __future__ import annotations

import io
import json
import math
import os
import zipfile
from pathlib import Path

from rushlight.export.serialization.reading import checked_structure, program_from_json
from rushlight.export.serialization.sizes import tensor_meta
from rushlight.export.serialization.values import (
    STRIDED,
    FormatError,
    dtype_of,
    whole,
)
from rushlight.export.serialization.writing import program_as_json
from rushlight.machine import np
from rushlight.machine.arrays import BY_CODE
from rushlight.nn.parameter import Parameter
from rushlight.serialization import load as load_tensors
from rushlight.serialization import save as save_tensors
from rushlight.serialization.atomic import replacing
from rushlight.tensor.tensor import Tensor, make_tensor

_MODEL = "models/model.json"
_EXAMPLES = "data/sample_inputs/model.pt"
_WEIGHTS = "data/weights", "model_weights_config.json", "weight_"
_CONSTANTS = "data/constants", "model_constants_config.json", "tensor_"
_PLAIN = {
    "archive_format": "pt2", "archive_version": "0", ".data/version": "6\n", "byteorder": "little",
    ".data/serialization_id": "0" * 40,
}  # fmt: skip


def save(ep, f, *, extra_files=None, opset_version=None, pickle_protocol: int = 2) -> None:
    """Write an exported program to a file that PyTorch 2.13's ``torch.export.load`` reads.

    Args:
        ep: the :class:`~rushlight.export.ExportedProgram`.
        f: a path, or a binary file to write to.
        extra_files: None; other files are not kept.
        opset_version: None; there is one version of ATen here.

    Raises:
        FormatError: the program has what an archive cannot hold, such as a call of a function that
            ATen lacks; the message names the node.
    """
    if not hasattr(ep, "graph_signature"):
        raise TypeError(
            f"save(): argument 'ep' must be an ExportedProgram, not {type(ep).__name__}"
        )
    if extra_files or opset_version:
        raise NotImplementedError("save(): extra_files and opset_version are not available; write "
                                  "other files yourself")  # fmt: skip
    # PyTorch's reader takes the first folder of an archive for its name
    name = Path(f).stem if isinstance(f, str | os.PathLike) else "archive"
    files = _files(ep)
    if not isinstance(f, str | os.PathLike):
        _write(f, name, files)
        return
    with replacing(f) as file:
        _write(file, name, files)


def _files(program):
    files = {}
    _add_tensors(files, program.state_dict, *_WEIGHTS)
    _add_tensors(files, program.constants, *_CONSTANTS)
    files[_MODEL] = json.dumps(program_as_json(program)).encode()
    if program.example_inputs is not None:
        buffer = io.BytesIO()
        save_tensors(program.example_inputs, buffer)
        files[_EXAMPLES] = buffer.getvalue()
    return files | {name: text.encode() for name, text in _PLAIN.items()}


def _add_tensors(files, tensors, folder, config, prefix):
    entries = {}
    for i, (name, tensor) in enumerate(tensors.items()):
        files[f"{folder}/{prefix}{i}"] = _bytes(tensor)
        entries[name] = {
            "path_name": f"{prefix}{i}",
            "is_param": isinstance(tensor, Parameter),
            "use_pickle": False,
            "tensor_meta": tensor_meta(tensor),
        }
    files[f"{folder}/{config}"] = json.dumps({"config": entries}).encode()


def _bytes(tensor):
    array = tensor.detach().cpu().contiguous()._array
    return np.ascontiguousarray(array).reshape(-1).view(np.uint8).tobytes()


def _write(file, name, files):
    with zipfile.ZipFile(file, "w", zipfile.ZIP_STORED) as archive:
        for path, content in files.items():
            archive.writestr(zipfile.ZipInfo(f"{name}/{path}"), content)


# ----------------------------------------------------------------------------------------- reading
def load(f, *, extra_files=None, expected_opset_version=None):
    """Read an exported program that :func:`save` or PyTorch 2.13's ``torch.export.save`` wrote.

    Nothing in the file is run: calls are of ATen's ops alone, and example inputs are read as
    :func:`rushlight.load` reads tensors.

    Args:
        f: a path, or a binary file to read from.

    Raises:
        FormatError: the file is no such archive, is damaged, or has what is not available here; the
            message says which part.
    """
    if extra_files or expected_opset_version:
        raise NotImplementedError("load(): extra_files and expected_opset_version are not "
                                  "available; read other files yourself")  # fmt: skip
    label = f if isinstance(f, str | os.PathLike) else "the file"
    try:
        with zipfile.ZipFile(f) as archive:
            return _read(_Members(archive))
    except FormatError as error:
        raise FormatError(f"{label}: {error}") from None
    except (zipfile.BadZipFile, EOFError) as error:
        raise FormatError(f"{label} is no archive, or is damaged: {error}") from None


class _Members:
    """The members of an archive without its first folder."""

    def __init__(self, archive):
        self.archive = archive
        names = [n for n in archive.namelist() if n.endswith("/archive_format")]
        if not names:
            raise FormatError("there is no 'archive_format' in it: this is no exported program")
        self.folder = names[0].removesuffix("archive_format")
        if self.read("archive_format") != b"pt2":
            raise FormatError("its format is not 'pt2'")
        if self.read("byteorder") != b"little":
            raise FormatError("its numbers are not little-endian, which is not available")

    def read(self, name):
        """The content of a member."""
        try:
            info = self.archive.getinfo(self.folder + name)
        except KeyError:
            raise FormatError(f"'{name}' is missing") from None
        if info.compress_type != zipfile.ZIP_STORED:
            raise FormatError(f"'{name}' is compressed, which exported programs are not")
        try:
            return self.archive.read(info)
        except zipfile.BadZipFile as error:
            raise FormatError(f"'{name}' is damaged: {error}") from None

    def has(self, name):
        """Whether there is such a member."""
        return self.folder + name in self.archive.namelist()

    def json(self, name):
        """The content of a member that is JSON."""
        try:
            return json.loads(self.read(name))
        except ValueError as error:
            raise FormatError(f"'{name}' is no JSON: {error}") from None


def _read(members):
    state, constants = _tensors(members, *_WEIGHTS[:2]), _tensors(members, *_CONSTANTS[:2])
    examples = None
    if members.has(_EXAMPLES):
        examples = load_tensors(io.BytesIO(members.read(_EXAMPLES)), weights_only=True)
    try:
        program = program_from_json(members.json(_MODEL), state, constants, examples)
    except (KeyError, TypeError, ValueError, IndexError, AttributeError) as error:
        raise FormatError(f"'{_MODEL}' is no program: {type(error).__name__}: {error}") from error
    checked_structure(examples, program)
    return program


def _tensors(members, folder, config):
    found = members.json(f"{folder}/{config}")
    try:
        entries = found["config"].items()
        return {name: _tensor(members, folder, name, entry) for name, entry in entries}
    except (KeyError, TypeError, AttributeError) as error:
        raise FormatError(f"'{folder}/{config}' is no list of tensors: {error}") from None


def _tensor(members, folder, name, entry):
    if entry["use_pickle"]:
        raise FormatError(f"the tensor '{name}' is pickled, which is not read")
    meta, path = entry["tensor_meta"], f"{folder}/{entry['path_name']}"
    if meta["layout"] != STRIDED:
        raise FormatError(f"the tensor '{name}' has layout {meta['layout']}: only strided ones are "
                          "available")  # fmt: skip
    what = f"tensor '{name}'"
    dtype = dtype_of(meta["dtype"])
    sizes, steps = ([whole(n, what) for n in meta[key]] for key in ("sizes", "strides"))
    offset = whole(meta["storage_offset"], what)
    data = members.read(path)
    kind = BY_CODE[dtype.code]
    if len(data) % kind.itemsize:
        raise FormatError(f"'{path}' has {len(data)} bytes, which are no whole numbers of {dtype}")
    flat = np.frombuffer(bytearray(data), kind)
    last = offset + sum((n - 1) * s for n, s in zip(sizes, steps, strict=True))
    if min([0, offset, *sizes, *steps]) < 0 or math.prod(sizes) and last >= flat.size:
        raise FormatError(f"'{path}' has {len(data)} bytes: too few for {what} of sizes {sizes}")
    # a copy: strides of a file may show elements twice
    strides = [s * flat.itemsize for s in steps]
    array = np.lib.stride_tricks.as_strided(flat[offset:], sizes, strides).copy()
    tensor: Tensor = make_tensor(array, dtype)
    if entry["is_param"]:
        return Parameter(tensor, meta["requires_grad"])
    return tensor

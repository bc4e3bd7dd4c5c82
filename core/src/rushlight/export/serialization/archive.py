"""The files of a ``.pt2`` archive."""

from __future__ import annotations

import dataclasses
import io
import json
import os
import zipfile
from pathlib import Path

from rushlight import dtypes
from rushlight.export.serialization import generators
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
from rushlight.nn.parameter import Parameter
from rushlight.ops.random.generators import Generator
from rushlight.serialization import load as load_tensors
from rushlight.serialization import save as save_tensors
from rushlight.serialization.atomic import replacing
from rushlight.serialization.rebuild import LoadedStorage, parameter, typed_tensor
from rushlight.serialization.safe_globals import safe_globals
from rushlight.serialization.save import check_protocol
from rushlight.utils import _pytree as pytree

_MODEL = "models/model.json"
_EXTRA = "extra/"
_EXAMPLES = "data/sample_inputs/model.pt"
_WEIGHTS = "data/weights", "model_weights_config.json", "weight_"
_CONSTANTS = "data/constants", "model_constants_config.json", "tensor_"
_PLAIN = {
    "archive_format": "pt2", "archive_version": "0", ".data/version": "6\n", "byteorder": "little",
    ".data/serialization_id": "0" * 40,
}  # fmt: skip


def save(ep, f, *, extra_files=None, opset_version=None, pickle_protocol: int = 2) -> None:
    """Write an exported program to a file that PyTorch 2.13's ``torch.export.load`` reads.

    Generators that the model draws from go with it, in the state that they are in: a program that
    is read goes on from there, by itself.

    Args:
        ep: the :class:`~rushlight.export.ExportedProgram`.
        f: a path, or a binary file to write to.
        extra_files: text to keep beside the program, a dict by file name; None for none.
        opset_version: accepted as in PyTorch, whose archives name one version of ATen.
        pickle_protocol: the protocol of the example inputs and of generators, 2 by default; the
            program is JSON.

    Raises:
        AssertionError: what an extra file holds is no string.
        FormatError: the program has what an archive cannot hold, such as a call of a function that
            ATen lacks, or a generator among its arguments; the message names the node.
    """
    if not hasattr(ep, "graph_signature"):
        raise TypeError(
            f"save(): argument 'ep' must be an ExportedProgram, not {type(ep).__name__}"
        )
    for name, text in (extra_files or {}).items():
        if not isinstance(text, str):
            kind = type(text).__name__
            raise AssertionError(f"save(): the extra file '{name}' must be a str, not {kind}")
    check_protocol(pickle_protocol)
    # PyTorch's reader takes the first folder of an archive for its name
    name = Path(f).stem if isinstance(f, str | os.PathLike) else "archive"
    files = _files(ep, pickle_protocol)
    files |= {_EXTRA + path: text.encode() for path, text in (extra_files or {}).items()}
    if not isinstance(f, str | os.PathLike):
        _write(f, name, files)
        return
    with replacing(f) as file:
        _write(file, name, files)


def _files(program, pickle_protocol):
    files = {_MODEL: json.dumps(program_as_json(program)).encode()}
    _add_tensors(files, program.state_dict, *_WEIGHTS)
    _add_constants(files, program.constants, pickle_protocol)
    if program.example_inputs is not None:
        buffer = io.BytesIO()
        save_tensors(program.example_inputs, buffer, pickle_protocol=pickle_protocol)
        files[_EXAMPLES] = buffer.getvalue()
    return files | {name: text.encode() for name, text in _PLAIN.items()}


def _add_tensors(files, tensors, folder, config, prefix):
    entries, paths = {}, {}  # a tensor with several names is written once
    for name, tensor in tensors.items():
        if id(tensor) not in paths:
            paths[id(tensor)] = f"{prefix}{len(paths)}"
            files[f"{folder}/{paths[id(tensor)]}"] = _bytes(tensor)
        entries[name] = {
            "path_name": paths[id(tensor)],
            "is_param": isinstance(tensor, Parameter),
            "use_pickle": False,
            "tensor_meta": tensor_meta(tensor),
        }
    files[f"{folder}/{config}"] = json.dumps({"config": entries}).encode()


def _add_constants(files, constants, protocol):
    """Tensors as they are, generators pickled."""
    folder, config, _ = _CONSTANTS
    drawn = {name: value for name, value in constants.items() if isinstance(value, Generator)}
    tensors = {name: value for name, value in constants.items() if name not in drawn}
    _add_tensors(files, tensors, *_CONSTANTS)
    found = json.loads(files[f"{folder}/{config}"])
    for i, (name, generator) in enumerate(drawn.items()):
        path = f"{generators.PREFIX}{i}"
        files[f"{folder}/{path}"] = generators.pickled(generator, protocol)
        found["config"][name] = {
            "path_name": path, "is_param": False, "use_pickle": True, "tensor_meta": None,
        }  # fmt: skip
    files[f"{folder}/{config}"] = json.dumps(found).encode()


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

    Nothing in the file is run: calls are of ATen's ops alone, example inputs are read as
    :func:`rushlight.load` reads tensors, and of pickles that make generators no other names.

    Args:
        f: a path, or a binary file to read from.
        extra_files: a dict, which gets the text of all extra files of the archive by their names;
            None to skip them.
        expected_opset_version: accepted as in PyTorch, whose archives name one version of ATen.

    Raises:
        FormatError: the file is no such archive, is damaged, or has what is not available here; the
            message says which part.
    """
    if not isinstance(f, str | os.PathLike):
        program, texts = _opened(f, "the file", extra_files is not None)
    else:
        with open(f, "rb") as file:
            program, texts = _opened(file, os.fspath(f), extra_files is not None)
    if extra_files is not None:
        extra_files.update(texts)
    return program


def _opened(file, label, with_extra):
    """The program of an open file, and its extra files, where they are asked for.

    Damage shows in many ways, and never in an error of its own.
    """
    try:
        with zipfile.ZipFile(file) as archive:
            members = _Members(archive)
            return _read(members), members.texts() if with_extra else {}
    except FormatError as error:
        raise FormatError(f"{label}: {str(error)[:1000]}") from error.__cause__
    except MemoryError:
        raise
    except Exception as error:
        raise FormatError(
            f"{label} is no archive, or is damaged: {type(error).__name__}: {str(error)[:300]}"
        ) from error


class _Members:
    """The members of an archive without its first folder."""

    def __init__(self, archive):
        self.archive, self.storages = archive, {}
        # members may be the same bytes of the file; all together they are no more than it has
        self.left = archive.fp.seek(0, os.SEEK_END)
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
        self.left -= info.file_size
        if self.left < 0:
            raise FormatError(f"'{name}' has more bytes than the file")
        try:
            return self.archive.read(info)
        except zipfile.BadZipFile as error:
            raise FormatError(f"'{name}' is damaged: {error}") from None

    def storage(self, path):
        """The bytes of a member, read once: tensors that have the same path share them."""
        if path not in self.storages:
            data = np.frombuffer(self.read(path), np.uint8).copy()
            self.storages[path] = LoadedStorage(data, dtypes.uint8, len(data))
        return self.storages[path]

    def has(self, name):
        """Whether there is such a member."""
        return self.folder + name in self.archive.namelist()

    def texts(self):
        """The extra files by their names."""
        start = self.folder + _EXTRA
        names = [n for n in self.archive.namelist() if n.startswith(start) and n != start]
        return {n.removeprefix(start): self._text(n.removeprefix(self.folder)) for n in names}

    def _text(self, name):
        try:
            return self.read(name).decode()
        except UnicodeDecodeError as error:
            raise FormatError(f"'{name}' is no text: {error}") from None

    def json(self, name):
        """The content of a member that is JSON."""
        try:
            return json.loads(self.read(name).decode())
        except ValueError as error:
            raise FormatError(f"'{name}' is no JSON: {error}") from None


def _read(members):
    state, constants = _tensors(members, *_WEIGHTS[:2]), _tensors(members, *_CONSTANTS[:2])
    examples = None
    if members.has(_EXAMPLES):
        examples = _examples(members.read(_EXAMPLES))
    try:
        program = program_from_json(members.json(_MODEL), state, constants, examples)
    except (FormatError, MemoryError):
        raise
    except Exception as error:
        raise FormatError(
            f"'{_MODEL}' is no program: {type(error).__name__}: {str(error)[:300]}"
        ) from error
    checked_structure(examples, program)
    return program


def _examples(content):
    registered = [cls for cls in pytree.SUPPORTED_NODES if dataclasses.is_dataclass(cls)]
    try:
        with safe_globals(registered):
            return load_tensors(io.BytesIO(content), weights_only=True)
    except Exception as error:
        raise FormatError(f"'{_EXAMPLES}' cannot be read: {str(error)[:300]}") from error


def _tensors(members, folder, config):
    found = members.json(f"{folder}/{config}")
    tensors, known = {}, {}  # names of one tensor have entries that are alike
    try:
        for name, entry in found["config"].items():
            key = repr(entry)
            if key not in known:
                known[key] = _tensor(members, folder, name, entry)
            tensors[name] = known[key]
        return tensors
    except (KeyError, TypeError, AttributeError) as error:
        raise FormatError(f"'{folder}/{config}' is no list of tensors: {error}") from None


def _tensor(members, folder, name, entry):
    if folder == _CONSTANTS[0] and entry["path_name"].startswith(generators.PREFIX):
        return generators.unpickled(members.read(f"{folder}/{entry['path_name']}"), name)
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
    storage = members.storage(path)
    if storage.count % dtype.itemsize:
        raise FormatError(f"'{path}' has {storage.count} bytes: no whole numbers of {dtype}")
    try:
        tensor = typed_tensor(storage, offset, sizes, steps, dtype=dtype)
        return parameter(tensor, meta["requires_grad"]) if entry["is_param"] else tensor
    except ValueError as error:
        raise FormatError(f"'{path}' is not the {what} of sizes {sizes}: {error}") from None

"""Writes archives of programs, which PyTorch loads, and :func:`rushlight.jit.load`."""

from __future__ import annotations

import io
import os
import sys

from rushlight.jit.callables import ScriptFunction
from rushlight.jit.encoding import Encoder
from rushlight.jit.exporting import Exporter
from rushlight.jit.modules import ScriptModule
from rushlight.jit.tracer.traced_modules import function_module
from rushlight.serialization.archive_writer import ArchiveWriter
from rushlight.serialization.atomic import replacing


def save(m, f, _extra_files=None) -> None:
    """Write a compiled module: its code as TorchScript, its parameters and other attributes; or a
    compiled function, as the ``forward`` of a module.

    `f`: a path, which is written atomically, or a binary file. `_extra_files`: names and texts (or
    bytes) that are kept beside. PyTorch loads the archive in Python and C++. Calls of functions
    marked with :func:`ignore` and layers without a form in TorchScript are a RuntimeError.

    >>> model = rushlight.jit.script(rushlight.nn.Linear(2, 2))
    >>> rushlight.jit.save(model, "linear.pt")  # doctest: +SKIP
    """
    if isinstance(m, ScriptFunction):
        m = function_module(m)
    if not isinstance(m, ScriptModule):
        raise TypeError(
            f"jit.save: expected 'm' to be a ScriptModule or a ScriptFunction, got "
            f"{type(m).__name__}; compile it with jit.script or jit.trace first"
        )
    if isinstance(f, str | os.PathLike):
        name = os.path.splitext(os.path.basename(os.fspath(f)))[0] or "archive"
        program = _Program(m, _extra_files)
        with replacing(f) as file:
            program.write(file, name)
        return
    if not hasattr(f, "write"):
        raise TypeError(
            f"jit.save: expected 'f' to be a path or a binary file, got {type(f).__name__}"
        )
    _Program(m, _extra_files).write(f, "archive")


def save_to_buffer(m, _extra_files=None) -> bytes:
    """The bytes of :func:`save`."""
    file = io.BytesIO()
    save(m, file, _extra_files)
    return file.getvalue()


class _Program:
    """Everything that an archive holds."""

    def __init__(self, module, extra):
        exporter = Exporter()
        self.data = Encoder(exporter)
        self.pickle = self.data.encoded(module)
        self.code = exporter.files()
        self.constants = Encoder(exporter)
        self.constants_pickle = self.constants.encoded(tuple(exporter.constants))
        self.extra = dict(extra or {})

    def write(self, file, name):
        """Write all entries."""
        size = sum(s.array.nbytes for s in (*self.data.storages, *self.constants.storages))
        archive = ArchiveWriter(file, name, size)
        for extra, text in self.extra.items():
            archive.write("extra/" + extra, text.encode() if isinstance(text, str) else text)
        archive.write("data.pkl", self.pickle)
        archive.write("byteorder", sys.byteorder.encode())
        for path, text in self.code.items():
            archive.write("code/" + path, text.encode())
        for part, encoder in (("data", self.data), ("constants", self.constants)):
            for stored in encoder.storages:
                archive.write(f"{part}/{stored.number}", stored.bytes())
        archive.write("constants.pkl", self.constants_pickle)
        archive.write("version", b"10\n")  # of today's operators
        archive.close()

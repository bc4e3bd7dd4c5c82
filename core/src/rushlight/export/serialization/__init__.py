"""Programs as ``.pt2`` archives, which PyTorch 2.13 reads, and reading of those that it writes.

An archive is a zip file of JSON (``models/model.json``), the bytes of tensors and pickled example
inputs. Begin reading at ``archive.py`` (the files), ``writing.py`` (a program as JSON) and
``reading.py`` (back). May import what `rushlight.export` may.
"""

from rushlight.export.serialization.archive import load, save
from rushlight.export.serialization.values import FormatError

__all__ = ["FormatError", "load", "save"]

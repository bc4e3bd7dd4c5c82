"""Tensors made of data, values and ranges; other dtypes and devices; storages.

They import the table. Begin reading at :mod:`.tensors`.
"""

from rushlight.ops._former_paths import names_of

__getattr__ = names_of("tensors", __name__)

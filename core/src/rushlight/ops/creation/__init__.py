"""Tensors made of data, values and ranges; other dtypes and devices; storages.

They import the table. Begin reading at :mod:`.tensors`.
"""

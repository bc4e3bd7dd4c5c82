"""Nested tensors: sequences of different lengths in one tensor.

They import the table and families. Begin reading at :mod:`.tensors`.
"""

"""Tensors of sparse layout: what they are, and the rules of ops on them.

They import the table and families. Begin reading at :mod:`.tensors`.
"""

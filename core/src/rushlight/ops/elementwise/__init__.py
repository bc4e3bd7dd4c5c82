"""Ops of single elements: arithmetic, activations, comparisons, special functions.

They import the table. Begin reading at :mod:`.arithmetic`.
"""

"""Random tensors with PyTorch's numbers for the same seed.

They import the table. Begin reading at :mod:`.sampling` and :mod:`.generators`.
"""

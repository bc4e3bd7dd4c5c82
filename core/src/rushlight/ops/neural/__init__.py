"""Layers of networks: convolution, pooling, normalization, attention, embedding, resizing.

They import the table and families below. Begin reading at :mod:`.convolution`.
"""

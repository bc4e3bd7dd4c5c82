"""Batch, layer, group and root-mean-square normalization, forward and backward.

Arrays in, arrays out; it imports reductions and the machine. Begin reading at
:mod:`.batch_and_layer`.
"""

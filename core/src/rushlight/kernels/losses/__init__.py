"""Losses that are fused with what comes before them, and their gradients.

Arrays in, arrays out; it imports reductions and the machine. Begin reading at
:mod:`.cross_entropy`.
"""

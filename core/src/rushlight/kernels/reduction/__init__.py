"""Sums, extremes, norms and softmax over dimensions.

Arrays in, arrays out; it imports the machine. Begin reading at :mod:`.totals`.
"""

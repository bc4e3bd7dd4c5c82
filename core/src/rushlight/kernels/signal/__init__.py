"""Recursions along time: filters with feedback, frames of a beam search; and along boxes that are
sorted: suppression.

Arrays in, arrays out; it imports launching and the machine. Begin reading at :mod:`.recursion`.
"""

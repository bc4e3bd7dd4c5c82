"""Recursions along time: filters with feedback, frames of a beam search.

Arrays in, arrays out; it imports launching and the machine. Begin reading at :mod:`.recursion`.
"""

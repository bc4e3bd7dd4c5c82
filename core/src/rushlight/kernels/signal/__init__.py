"""Recursions along time: filters with feedback.

Arrays in, arrays out; it imports launching and the machine. Begin reading at :mod:`.recursion`.
"""

"""Maxima and means over windows, and their gradients.

Arrays in, arrays out; it imports the machine. Begin reading at :mod:`.windows`.
"""

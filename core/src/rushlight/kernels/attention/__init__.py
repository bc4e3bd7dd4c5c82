"""Scaled dot-product attention without its matrix in memory.

Arrays in, arrays out; it imports products and the machine. Begin reading at :mod:`.products`.
"""

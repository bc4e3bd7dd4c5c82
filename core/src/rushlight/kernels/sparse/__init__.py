"""Products of, and systems with, sparse matrices.

Arrays in, arrays out; it imports the machine. Begin reading at :mod:`.products`.
"""

"""Products of matrices and vectors, and what runs on their results while they are in a cache.

Arrays in, arrays out; it imports the machine. Begin reading at :mod:`.products`, which picks a way,
then :mod:`.plans` and :mod:`.microkernel`.
"""

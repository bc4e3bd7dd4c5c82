"""Factorizations and solvers of batches of matrices.

Arrays in, arrays out; it imports the machine's OpenBLAS. Begin reading at :mod:`.lapack`.
"""

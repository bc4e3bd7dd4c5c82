"""Products, factorizations, systems, spectra and norms of matrices.

They import the table and families below. Begin reading at :mod:`.products`.
"""

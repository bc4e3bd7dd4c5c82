"""Functions of real numbers written in few words, once for every vector width and executor.

They import the compiler's graph alone. Begin reading at :mod:`.exponentials`.
"""

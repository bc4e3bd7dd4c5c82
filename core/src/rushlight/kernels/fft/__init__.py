"""Fast Fourier transforms of rows and columns.

Arrays in, arrays out; it imports the machine. Begin reading at :mod:`.rows_and_columns`.
"""

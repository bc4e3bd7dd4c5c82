"""Rows and elements read, written and added at indices.

Arrays in, arrays out; it imports the machine. Begin reading at :mod:`.indices`.
"""

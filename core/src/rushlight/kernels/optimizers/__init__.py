"""Optimizer steps over lists of arrays: one launch for all of them.

Arrays in, arrays out; it imports the machine. Begin reading at :mod:`.step_formulas`.
"""

"""The kernel language: a typed subset of Python in which the CPU kernels are written.

It imports the machine's other files alone. Begin reading at :mod:`.functions`, what a kernel's
author writes, then :mod:`.lowering`, what becomes of it.
"""

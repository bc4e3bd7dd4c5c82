"""Stubs for type checkers and editors, written from what the packages say at run time.

Begin reading at :mod:`.modules`.
"""

"""Memory filled, copied, converted and checked.

Arrays in, arrays out; it imports the machine. Begin reading at :mod:`.blocks` and :mod:`.moving`.
"""

"""Convolution over one to three spatial dims, in as many ways as shapes ask for.

Arrays in, arrays out; it imports the other kernels' families and the machine. Begin reading at
:mod:`.choice`, which picks a way, and :mod:`.reference`, the definition.
"""

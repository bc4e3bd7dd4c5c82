"""Programs of elementwise ops, and array code itself, for GPUs.

It imports the compiler, the kernels' CUDA sides and the machine. Begin reading at :mod:`.text`,
what a program becomes, then :mod:`.translation`, how functions of arrays run on device arrays.
"""

"""GPUs: the libraries that run kernels on them, or the emulation, and the kernels' texts.

It imports the machine's other files alone. Begin reading at :mod:`.runtime`; arrays on a GPU are
:mod:`rushlight.compiler.cuda.device_array`.
"""

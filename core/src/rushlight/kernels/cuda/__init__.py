"""Kernels on CUDA devices: the counterparts of :mod:`rushlight.kernels` for device arrays.

A function here has the name, parameters and results of the one in the module of the same name
there. Text of the kernels: ``rushlight/backends/cuda/kernels``. Nothing waits for the device
unless its result's shape depends on data.
"""

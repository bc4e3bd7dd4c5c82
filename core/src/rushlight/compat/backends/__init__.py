"""``torch.backends``: switches of PyTorch's libraries. None of them is used here.

The settings can be read and written, as on a PyTorch without GPU, and change nothing: Rushlight's
results do not depend on a library's choice of algorithm.
"""

from rushlight.compat.backends import cpu, cuda, cudnn, mkl, mkldnn, mps, openmp

__all__ = ["cpu", "cuda", "cudnn", "mkl", "mkldnn", "mps", "openmp"]

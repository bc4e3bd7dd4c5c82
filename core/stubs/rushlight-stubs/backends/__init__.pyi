# Written by ci/stubs.py from what the package says at run time: do not edit.
from __future__ import annotations


from rushlight.backends import cpu as cpu
from rushlight.backends import cuda as cuda
from rushlight.backends import cudnn as cudnn
from rushlight.backends import mkl as mkl
from rushlight.backends import mkldnn as mkldnn
from rushlight.backends import mps as mps
from rushlight.backends import openmp as openmp

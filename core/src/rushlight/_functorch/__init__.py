"""PyTorch's path to graphs of a function and of its gradients, which compilers of programs get:
begin reading at ``aot_autograd.py``; `partitioners` divides a joint graph, `compile` has all names.
"""

from __future__ import annotations

from rushlight.refusals import rest_of

__getattr__ = rest_of(__name__, parts="aot_autograd compile partitioners")

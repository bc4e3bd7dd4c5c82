"""The interface of LLVM for what emits its IR; imported at first kernel need."""

import llvmlite.binding as binding
from llvmlite import ir

__all__ = ["binding", "ir"]

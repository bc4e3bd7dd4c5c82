"""How a declaration works: the table of ops, and everything that is derived from a declaration.

It imports the fast path, tensor, autograd, kernels and the compiler, and no family of ops. Begin
reading at :mod:`.op`, then :mod:`.bindings`.
"""

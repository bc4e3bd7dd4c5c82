"""The reference of all five packages, written from what the packages say of themselves: signatures
by the stubs' writer, docstrings by their parts, examples of ops from their declarations."""

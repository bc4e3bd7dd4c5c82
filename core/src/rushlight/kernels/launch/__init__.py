"""How kernels run: compiled or by their reference text, prepared for layouts, on a GPU.

It imports the machine. Begin reading at :mod:`.execution`, then :mod:`.prepared`.
"""

"""Programs of elementwise ops as machine code of this CPU.

It imports the compiler and the machine. Begin reading at :mod:`.programs`, then :mod:`.emitter` and
:mod:`.drivers`.
"""

"""What makes a warm call short: calls of known layouts by machine code, from tensors to tensors.

It knows the slots of tensors and nodes, and imports tensor, autograd, the compiler and the machine.
Begin reading at :mod:`.known_layouts`; `docs/pages/fast_path.md` draws the ladder.
"""

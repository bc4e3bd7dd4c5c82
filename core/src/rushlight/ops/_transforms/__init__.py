"""Function transforms of the table: vmap, forward mode, reverse mode by levels.

They import the table and families. Begin reading at :mod:`.wrappers`, then :mod:`.batching`.
"""

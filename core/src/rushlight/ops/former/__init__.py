"""Names from earlier days of PyTorch, and those that it keeps for its own layers.

They import the table and families. Begin reading at :mod:`.former_methods`.
"""

"""Parts of tensors read and written by index, mask or index tensors.

They import the table. Begin reading at :mod:`.items` and :mod:`.gathering`.
"""

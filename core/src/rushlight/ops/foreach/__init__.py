"""Steps over lists of tensors, one kernel launch for all of them.

They import the table. Begin reading at :mod:`.steps`.
"""

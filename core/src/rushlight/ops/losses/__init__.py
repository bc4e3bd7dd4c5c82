"""Loss functions.

They import the table and families below. Begin reading at :mod:`.pointwise_losses`.
"""

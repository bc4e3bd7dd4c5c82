"""Kullback-Leibler divergences between pairs of distributions.

They import distributions. Begin reading at :mod:`.same_family`.
"""

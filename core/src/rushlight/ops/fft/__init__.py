"""Fourier transforms and spectrograms.

They import the table and families below. Begin reading at :mod:`.fourier`.
"""

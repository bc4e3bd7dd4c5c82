"""Ops over dimensions: sums, extremes, order, scans, counts.

They import the table and families below. Begin reading at :mod:`.sums_and_extremes`.
"""

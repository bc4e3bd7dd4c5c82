"""Ops over dimensions: sums, extremes, order, scans, counts.

They import the table and families below. Begin reading at :mod:`.sums_and_extremes`.
"""

from rushlight.ops._former_paths import names_of

__getattr__ = names_of("sums_and_extremes", __name__)

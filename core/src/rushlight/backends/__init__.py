"""The only layer that imports array libraries and compilers; everything above asks here."""

import ml_dtypes
import numpy as np

__all__ = ["ml_dtypes", "np"]

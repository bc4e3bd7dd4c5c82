"""Compare complex32 with PyTorch, over the samples of its op table.

Every sample of every entry runs on both sides (limited.py says how). Of the entries that the
table claims for complex32, inputs with gaps, gradients and variants (method, in-place, ``out=``)
are compared, too. Entries known to differ stand in ci/pytorch/complex32_known.toml with their
reasons.

Usage: python ci/pytorch/complex32.py [NAME ...] [--samples N] [--verbose]
"""

from __future__ import annotations

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

import limited

KNOWN = Path(__file__).with_name("complex32_known.toml")
KIN = ("complex64", "float16", "float32")
CHECKS = ("noncontiguous", "gradient", "second", "variants")


def claimed(info, dtype, most):
    """Lines of what differs in the checks that only entries claimed for the dtype undergo."""
    import table_checks as checks
    import torch

    if getattr(torch, dtype) not in info.supported_dtypes("cpu"):
        return []
    results = [(name, checks.run_check(info, name, dtype, most)) for name in CHECKS]
    return [f"{name}: {result}" for name, result in results if result not in ("ok", "skip")]


if __name__ == "__main__":
    sys.exit(limited.main(__doc__, KNOWN, "complex32", KIN, claimed))

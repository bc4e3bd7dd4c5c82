"""Compare uint16, uint32 and uint64 with PyTorch, over the samples of its op table.

Every sample of every entry runs on both sides (limited.py says how). Entries known to differ
stand in ci/pytorch/unsigned_known.toml with their reasons.

Usage: python ci/pytorch/unsigned.py [NAME ...] [--dtypes uint16,uint64] [--samples N] [--verbose]
"""

from __future__ import annotations

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

import limited

KNOWN = Path(__file__).with_name("unsigned_known.toml")

if __name__ == "__main__":
    sys.exit(limited.main(__doc__, KNOWN, "uint16,uint32,uint64", ("uint8",)))

"""IBM LSF's ``jsrun``: which host is the first that computes."""

from __future__ import annotations

import os


def first_host() -> str:
    """The second host of LSB_DJOB_RANKFILE (the first runs the job's script), the first where it
    is the only one; empty where the file cannot be read."""
    try:
        with open(os.environ.get("LSB_DJOB_RANKFILE", ""), encoding="utf-8") as file:
            hosts = file.read().split()
    except OSError:
        return ""
    return (hosts[1:2] or hosts or [""])[0]

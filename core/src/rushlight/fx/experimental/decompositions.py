"""What ops that are made of others come to, where a graph has their parts."""

from __future__ import annotations


def implicit() -> dict:
    """Overloads that are made of others -> functions that run the others."""
    return {}

"""All tests: arrays between fences (:mod:`fences`)."""

from __future__ import annotations

import importlib.machinery
import pathlib
import sys

import pytest

sys.path.insert(0, str(pathlib.Path(__file__).parent))

import fences  # noqa: E402

FENCES = fences.Fences() if fences.wanted() else None


def pytest_collection_finish(session):
    """Processes that tests spawn import these files as ``tests.…``: no other ``tests`` may stand
    before this folder on `sys.path`, or they end at once and are waited for."""
    found = importlib.machinery.PathFinder.find_spec("tests")
    if found is not None and found.origin is not None:
        raise pytest.UsageError(f"a test file has put {found.origin} on sys.path")

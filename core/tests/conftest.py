"""All tests: arrays between fences (:mod:`fences`)."""

from __future__ import annotations

import importlib.machinery
import pathlib
import sys

import pytest

sys.path.insert(0, str(pathlib.Path(__file__).parent))

import fences  # noqa: E402

FENCES = fences.Fences() if fences.wanted() else None


def _other_tests():
    """A `tests` before this folder on `sys.path`: processes that tests spawn import these files as
    ``tests.…``, would end at once and be waited for."""
    found = importlib.machinery.PathFinder.find_spec("tests")
    return None if found is None else found.origin


def pytest_collection_finish(session):
    if _other_tests() is not None:
        raise pytest.UsageError(f"a test file has put {_other_tests()} on sys.path")


@pytest.fixture(scope="module", autouse=True)
def no_other_tests(request):
    """Also when the tests of a file have run."""
    yield
    if _other_tests() is not None:
        pytest.fail(f"{request.node.name} has left {_other_tests()} on sys.path")

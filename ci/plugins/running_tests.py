"""A pytest plugin: a file that says which tests run now, for whoever watches from outside.

With several worker processes the plugin works in the one that hands out the tests.
"""

from __future__ import annotations

import os

VARIABLE = "RUSHLIGHT_RUNNING_TESTS"  # where to write


class _RunningTests:
    """The file stays open and is written over: to open and empty it twice a test took half of the
    processor time of the process that hands out tests."""

    def __init__(self, path: str):
        self.file = os.open(path, os.O_CREAT | os.O_TRUNC | os.O_WRONLY)
        self.names, self.length = {}, 0

    def pytest_runtest_logstart(self, nodeid):
        self.names[nodeid] = None
        self._write()

    def pytest_runtest_logfinish(self, nodeid):
        self.names.pop(nodeid, None)
        self._write()

    def pytest_unconfigure(self):
        os.close(self.file)

    def _write(self):
        """One name a line; empty lines up to the end of what was longer before."""
        data = "\n".join(self.names).encode()
        os.pwrite(self.file, data.ljust(self.length, b"\n"), 0)
        self.length = max(self.length, len(data))


def pytest_configure(config):
    path = os.environ.get(VARIABLE)
    if path and not hasattr(config, "workerinput"):
        config.pluginmanager.register(_RunningTests(path))

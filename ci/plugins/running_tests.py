"""A pytest plugin: a file that says which tests run now, for whoever watches from outside.

With several worker processes the plugin works in the one that hands out the tests.
"""

from __future__ import annotations

import os
from pathlib import Path

VARIABLE = "RUSHLIGHT_RUNNING_TESTS"  # where to write


class _RunningTests:
    def __init__(self, path: Path):
        self.path, self.names = path, {}

    def pytest_runtest_logstart(self, nodeid):
        self.names[nodeid] = None
        self._write()

    def pytest_runtest_logfinish(self, nodeid):
        self.names.pop(nodeid, None)
        self._write()

    def _write(self):
        self.path.write_text("\n".join(self.names))


def pytest_configure(config):
    path = os.environ.get(VARIABLE)
    if path and not hasattr(config, "workerinput"):
        config.pluginmanager.register(_RunningTests(Path(path)))

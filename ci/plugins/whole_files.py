"""A pytest plugin: pytest-xdist's ``--dist loadfile`` whose work does not grow with the number of
tests that there are or were.

pytest-xdist 3.8 looks for each test in the list of all of them to hand it out, and counts all tests
of a worker whenever one has ended.
"""

from __future__ import annotations

import pytest
from xdist.scheduler import LoadFileScheduling


class _WholeFiles(LoadFileScheduling):
    """`assigned_work` holds only what a worker has yet to do, so that counting it is short."""

    def __init__(self, config, log):
        super().__init__(config, log)
        self._indices = {}

    def mark_test_complete(self, node, item_index, duration=0):
        nodeid = self.registered_collections[node][item_index]
        file, work = self._split_scope(nodeid), self.assigned_work[node]
        work[file].pop(nodeid)
        if not work[file]:
            del work[file]
        self._reschedule(node)

    def _pending_of(self, workload):
        return sum(map(len, workload.values()))

    def _assign_work_unit(self, node):
        file, tests = self.workqueue.popitem(last=False)
        self.assigned_work[node][file] = tests
        if node not in self._indices:
            names = self.registered_collections[node]
            self._indices[node] = {name: index for index, name in enumerate(names)}
        indices = self._indices[node]
        node.send_runtest_some([indices[name] for name in tests])


@pytest.hookimpl
def pytest_xdist_make_scheduler(config, log):
    if config.getvalue("dist") == "loadfile":
        return _WholeFiles(config, log)
    return None

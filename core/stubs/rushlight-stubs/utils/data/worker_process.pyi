# Written by ci/stubs.py from what the package says at run time: do not edit.
from __future__ import annotations

from rushlight._words import _bool
from rushlight._words import _int
from rushlight._words import _str
from typing import Any

class Plan:
    def __init__(self, number: _int, count: _int, dataset: Any, make_fetcher: Any, base_seed: _int, worker_init_fn: Any, main_process: _int, with_dataset_state: _bool) -> None: ...
    number: _int
    count: _int
    dataset: Any
    make_fetcher: Any
    base_seed: _int
    worker_init_fn: Any
    main_process: _int
    with_dataset_state: _bool
def exception_text(report: Any) -> _str: ...
def work(plan: Plan, channel: Any, inherited: Any) -> None: ...

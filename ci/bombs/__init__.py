"""Structured bombs: small checkpoints that ask for memory or time out of proportion.

`bombs()` yields ``(label, build)``, where ``build()`` gives the file. Most are generated: every
name that a restricted load allows is called thousands of times, by each instruction that calls, on
every large object that a small file can share; the rest are forms of tensors, keys, texts and
archives, one builder each. `python ci/fuzz.py` loads them under a limit of memory and of time.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator

from bombs import archives, calls, forms, keys, values  # noqa: F401 - they register their builders
from bombs.assembler import BUILDERS

_SAMPLE = 97


def bombs(wanted: str = "all") -> Iterator[tuple[str, Callable[[], bytes]]]:
    """All of them, the generated ones last; those with a word in their label; or ``"few"``: one of
    each builder, and a sample of the generated ones."""
    generated = calls.every_call()
    if wanted == "few":
        generated = itertools.islice(generated, None, None, _SAMPLE)
    for label, build in itertools.chain(BUILDERS.items(), generated):
        if wanted in ("all", "few") or wanted in label:
            yield label, build

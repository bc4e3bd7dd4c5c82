"""Random number generators of a run: seeding them together, writing them down, bringing them back.

There are up to four: Python's `random`, NumPy's global generator (if NumPy was imported),
Rushlight's CPU generator and one per CUDA device.
"""

from __future__ import annotations

import os
import random
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import rushlight as rl
from lightning_lite.messages import info

LARGEST_SEED = 2**32 - 1
SEED_VARIABLE = "PL_GLOBAL_SEED"
WORKERS_VARIABLE = "PL_SEED_WORKERS"


def _numpy_random() -> Any:
    """NumPy's random module, if the program has NumPy at all."""
    numpy = sys.modules.get("numpy")
    return None if numpy is None else numpy.random


def seed_everything(seed: int | None = None, workers: bool = False, verbose: bool = True) -> int:
    """Seed every random number generator of the program and return the seed.

    Without a seed, the environment variable `PL_GLOBAL_SEED` gives it, else 0. `workers` is kept
    for Lightning's signature: the data loader always seeds its worker processes from the main
    process's generator, so they are reproducible either way.

    Args:
        seed: the number; by default that of PL_GLOBAL_SEED, or 0.

    >>> import rushlight as rl
    >>> seed_everything(3, verbose=False)
    3
    >>> first = rl.rand(1)
    >>> _ = seed_everything(3, verbose=False)
    >>> bool(rl.rand(1) == first)
    True
    """
    if seed is None:
        text = os.environ.get(SEED_VARIABLE, "0")
        try:
            seed = int(text)
        except ValueError:
            raise ValueError(
                f"seed_everything: the variable {SEED_VARIABLE} holds {text!r}, expected an integer"
            ) from None
    elif not isinstance(seed, int):
        seed = int(seed)
    if not 0 <= seed <= LARGEST_SEED:
        raise ValueError(f"seed_everything: seed {seed} is not between 0 and {LARGEST_SEED}")
    if verbose:
        info(f"Seed set to {seed}")
    os.environ[SEED_VARIABLE] = str(seed)
    os.environ[WORKERS_VARIABLE] = str(int(workers))
    random.seed(seed)
    numpy_random = _numpy_random()
    if numpy_random is not None:
        numpy_random.seed(seed)
    rl.manual_seed(seed)
    return seed


def snapshot() -> tuple[Any, ...]:
    """The state of every generator as the generators give it: quick, for `plain` to write down."""
    numpy_random = _numpy_random()
    return (
        random.getstate(),
        rl.get_rng_state(),
        None if numpy_random is None else numpy_random.get_state(),
        list(rl.cuda.get_rng_state_all()) if rl.cuda.is_available() else None,
    )


def plain(taken: tuple[Any, ...]) -> dict[str, Any]:
    """A snapshot in plain types and tensors."""
    (version, words, gauss), own, numpy_state, cuda = taken
    state: dict[str, Any] = {
        "python": {"version": version, "words": list(words), "gauss": gauss},
        "rushlight": own,
    }
    if numpy_state is not None:
        name, keys, position, has_gauss, cached = numpy_state
        state["numpy"] = {
            "name": str(name),
            "keys": [int(key) for key in keys],
            "position": int(position),
            "has_gauss": int(has_gauss),
            "cached": float(cached),
        }
    if cuda is not None:
        state["cuda"] = cuda
    return state


def capture() -> dict[str, Any]:
    """The state of every generator, in plain types and tensors."""
    return plain(snapshot())


def restore(state: dict[str, Any]) -> None:
    """Set every generator to a state that `capture` returned."""
    python = state["python"]
    random.setstate((python["version"], tuple(python["words"]), python["gauss"]))
    rl.set_rng_state(state["rushlight"])
    numpy_random = _numpy_random()
    if numpy_random is not None and "numpy" in state:
        saved = state["numpy"]
        words = sys.modules["numpy"].array(saved["keys"], dtype="uint32")
        numpy_random.set_state(
            (saved["name"], words, saved["position"], saved["has_gauss"], saved["cached"])
        )
    if "cuda" in state and rl.cuda.is_available():
        rl.cuda.set_rng_state_all(state["cuda"])


@contextmanager
def isolated() -> Iterator[None]:
    """Leave every generator, at the end of the block, as it was at its start."""
    state = capture()
    try:
        yield
    finally:
        restore(state)

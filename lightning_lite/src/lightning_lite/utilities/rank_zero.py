"""What only the first of several processes does: messages, warnings, functions of the user's."""

from __future__ import annotations

import functools
import os
import warnings
from collections.abc import Callable
from typing import Any

from lightning_lite.messages import info, log

# Set by launchers: torchrun, SLURM, LSF, MPI.
RANK_VARIABLES = ("RANK", "LOCAL_RANK", "SLURM_PROCID", "JSM_NAMESPACE_RANK")


class LightningDeprecationWarning(DeprecationWarning):
    """Something of the trainer's will go away."""


def rank_of_environment() -> int:
    """The number of this process, as its launcher tells; 0 without a launcher."""
    for name in RANK_VARIABLES:
        text = os.environ.get(name, "")
        if text.isdigit():
            return int(text)
    return 0


class RankZeroOnly:
    """`rank_zero_only(function, default=None)`: a function that does its work in process 0 and
    returns `default` in all others. `rank` is the number of this process; programs may set it."""

    def __init__(self) -> None:
        self.rank = rank_of_environment()

    def __call__(self, function: Callable, default: Any = None) -> Callable:
        """See the class."""

        @functools.wraps(function)
        def only(*args: Any, **kwargs: Any) -> Any:
            return function(*args, **kwargs) if self.rank == 0 else default

        return only


rank_zero_only = RankZeroOnly()


def rank_prefixed_message(message: str, rank: int | None) -> str:
    """A message with the number of the process before it; unchanged for None."""
    return message if rank is None else f"[rank: {rank}] {message}"


@rank_zero_only
def rank_zero_info(message: Any, *args: Any, **kwargs: Any) -> None:
    """Tell the user something, once."""
    info(str(message) % args if args else str(message))


@rank_zero_only
def rank_zero_debug(message: Any, *args: Any, **kwargs: Any) -> None:
    """Tell the user something that only a search for a fault needs, once."""
    log.debug(message, *args)


@rank_zero_only
def rank_zero_warn(
    message: Any, stacklevel: int = 4, category: type[Warning] = UserWarning, **kwargs: Any
) -> None:
    """Warn the user, once; by default as seen from two callers up."""
    warnings.warn(str(message), category, stacklevel=stacklevel)


@rank_zero_only
def rank_zero_deprecation(message: Any, stacklevel: int = 5, **kwargs: Any) -> None:
    """Warn that something will go away."""
    warnings.warn(str(message), LightningDeprecationWarning, stacklevel=stacklevel)

"""Exception types of the trainer."""

from __future__ import annotations


class MisconfigurationException(Exception):
    """The parts of a run do not fit together; the text says which, and what was expected.

    >>> import lightning_lite as L
    >>> try:
    ...     L.Trainer(max_epochs=1, accelerator="cpu", devices=0)
    ... except MisconfigurationException as error:
    ...     print("expected" in str(error))
    True
    """


class SIGTERMException(SystemExit):
    """SIGTERM ended the run; the state was written down before, and the exit code is 143."""


class Interrupted(KeyboardInterrupt):
    """Ctrl-C was seen between two batches, where the state is whole and can be written down."""

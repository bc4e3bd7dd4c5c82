"""Exception types of the trainer."""

from __future__ import annotations


class MisconfigurationException(Exception):
    """The parts of a run do not fit together; the text says which, and what was expected."""


class SIGTERMException(SystemExit):
    """The scheduler ended the run with SIGTERM; the state was written down before."""


class Interrupted(KeyboardInterrupt):
    """Ctrl-C was seen between two batches, where the state is whole and can be written down."""

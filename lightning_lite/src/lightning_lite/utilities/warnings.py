"""Warnings that may be about nothing."""

from __future__ import annotations

import warnings


class PossibleUserWarning(UserWarning):
    """A warning of something that is often, but not always, a mistake."""


def disable_possible_user_warnings(module: str = "") -> None:
    """Show no `PossibleUserWarning` of modules whose names begin with `module`."""
    warnings.filterwarnings("ignore", category=PossibleUserWarning, module=module)

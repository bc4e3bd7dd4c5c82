"""What is raised where a program asks for something that Rushlight does not have."""

from __future__ import annotations

from rushlight import refusals
from rushlight.compat.paths import DISTRIBUTIONS, PACKAGES, declared, is_available


class MissingModule(ModuleNotFoundError, NotImplementedError):
    """An imported module or name that Rushlight does not have; it is named in the message."""


class MissingName(AttributeError, NotImplementedError):
    """An attribute of a module that Rushlight does not have; it is named in the message."""


def advice(name: str) -> str:
    """What to do instead of using `name`, such as ``torch.fx``; empty where nothing is known."""
    top, _, rest = name.partition(".")
    if top != "torch":
        return declared(top, "ADVICE").get(name, "")
    known = refusals.advice_for(rest)
    return "" if known == refusals.advice_for("") else known


def describe(name: str) -> str:
    """The sentence that says that `name` is missing, and what to do."""
    top = name.partition(".")[0]
    if not is_available(top):
        return (
            f"{name} needs Rushlight's {DISTRIBUTIONS[top]} package ({PACKAGES[top]}), "
            "which is not installed"
        )
    instead = advice(name)
    return f"{name} is not available in Rushlight" + (f". Instead: {instead}." if instead else "")

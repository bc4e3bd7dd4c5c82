"""Whether a full name such as ``torch.nn.Linear`` is present here, missing or different."""

from __future__ import annotations

import importlib
import types
from dataclasses import dataclass
from functools import cache

from rushlight import refusals
from rushlight.compat.missing import advice
from rushlight.compat.modules import Alias, _read
from rushlight.compat.paths import DISTRIBUTIONS, PACKAGES, is_available, module_behind

PRESENT, DIFFERENT, MISSING = "present", "different", "missing"

# What is there and behaves otherwise; the longest prefix that fits is quoted.
DIFFERENCES = {
    "torch.backends": "the switch can be set and changes nothing",
    "torch.cuda": "there is no GPU: `is_available()` is False",
    "torch.get_num_threads": "results do not depend on it, bit for bit",
    "torch.set_num_threads": "results do not depend on it, bit for bit",
    "torch.use_deterministic_algorithms": "on the CPU results are always deterministic",
    "torch.version.cuda": "None, as in a PyTorch without GPU",
    "torch.Tensor.cuda": "there is no GPU; `to(device)` with the device 'cpu' works everywhere",
}


@dataclass(frozen=True)
class Verdict:
    """What was found: the state, the name it holds for (a prefix of the one asked), and a note."""

    state: str
    name: str
    note: str = ""


def _difference(name: str) -> str | None:
    parts = name.split(".")
    for count in range(len(parts), 1, -1):
        found = DIFFERENCES.get(".".join(parts[:count]))
        if found is not None:
            return found
    return None


def _module(name: str) -> Alias:
    """An alias as `import` would give it, without installing the finder."""
    home = module_behind(name)
    if home is None:
        raise ModuleNotFoundError(f"no module stands behind {name}")
    return Alias(name, importlib.import_module(home))


@cache
def judge(name: str) -> Verdict:
    """Look a full name up; the objects on the way are imported, none is called."""
    parts = name.split(".")
    top = parts[0]
    if not is_available(top):
        return Verdict(MISSING, top, f"{DISTRIBUTIONS[top]} ({PACKAGES[top]}) is not installed")
    found, full = _module(top), top
    for part in parts[1:]:
        if not isinstance(found, types.ModuleType | type):
            break  # an attribute of a value: not judged
        full = f"{full}.{part}"
        if top == "torch" and refusals.is_absent(full.partition(".")[2]):
            return Verdict(MISSING, full, advice(full))
        try:
            found = _attribute(found, full, part)
        except (AttributeError, ImportError, NotImplementedError):
            return Verdict(MISSING, full, advice(full))
        # Some names exist so that the head of a program can be read, and refuse to be used.
        if type(found) is refusals.Refused or getattr(found, "refuses", False) is True:
            return Verdict(MISSING, full, advice(full))
    note = _difference(name)
    return Verdict(PRESENT, name) if note is None else Verdict(DIFFERENT, name, note)


def _attribute(found, full, part):
    if not isinstance(found, Alias):
        return getattr(found, part)
    if module_behind(full) is None:
        return vars(found)[part] if part in vars(found) else _read(found, part)
    value = vars(found.__dict__["__home__"]).get(part)
    # PyTorch has functions that are named like their files.
    return _module(full) if value is None or isinstance(value, types.ModuleType) else value

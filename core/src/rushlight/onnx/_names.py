"""Names of values as Python and state dicts can have them."""

from __future__ import annotations

import keyword


def identifier(name):
    """A name as Python and state dicts can have it."""
    found = "".join(c if f"_{c}".isidentifier() else "_" for c in name)
    if not found.isidentifier() or keyword.iskeyword(found):
        found = f"_{found}"
    return found


def free(root, name):
    """A name that the root does not have yet."""
    count, found = 0, name
    while hasattr(root, found):
        count += 1
        found = f"{name}_{count}"
    return found

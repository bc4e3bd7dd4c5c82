"""Which module is being called while a model is traced: every call of a submodule has a key.

The key of the model is ``L__self__``, that of a submodule's first call ``L__self__`` and its path;
further calls of it end in ``@1``, ``@2`` and so on. Nodes keep the calls that they are made in,
from the model's to the innermost, as ``meta["nn_module_stack"]``: ``{key: (path, class)}``.
"""

from __future__ import annotations

import collections
import contextlib

ROOT = "L__self__"


class Calls:
    """The calls of one run of a model; `stack` has those in progress."""

    def __init__(self, module):
        self.module = module
        self.stack: dict[str, tuple[str, str]] = {}
        self._paths = _paths(module)
        self._counts: collections.Counter[str] = collections.Counter()

    @contextlib.contextmanager
    def apart(self):
        """A submodule with several names is, but for the first, a twin under each of them: nothing
        else tells in a call by which name it was reached. Twins share all attributes."""
        replaced, seen = [], set()
        for parent in list(self.module.modules()):
            for name, child in parent._modules.items():
                if id(child) in seen:
                    replaced.append((parent._modules, name, child))
                elif child is not None:
                    seen.add(id(child))
        for table, name, child in replaced:
            table[name] = _twin(child)
        self._paths = _paths(self.module)
        try:
            yield
        finally:
            for table, name, child in replaced:
                table[name] = child

    def enter(self, module, args):
        """A call begins: a hook before ``forward``."""
        path = self._path(module)
        count = self._counts[path]
        self._counts[path] += 1
        kind = f"{type(module).__module__}.{type(module).__qualname__}"
        self.stack[ROOT + path + (f"@{count}" if count else "")] = path, kind

    def leave(self, module, args, output):
        """The call ends: a hook after ``forward``."""
        self.stack.popitem()

    def _path(self, module):
        """The module's name; of several, one below the caller. A module that is made during the
        call is a part of its caller."""
        caller = next(reversed(self.stack.values()))[0] if self.stack else ""
        names = self._paths.get(id(module), [caller])
        below = [name for name in names if name.startswith(f"{caller}." if caller else "")]
        return (below or names)[0]


def _paths(module):
    """The names of each submodule, by its identity."""
    found = collections.defaultdict(list)
    for name, each in module.named_modules(remove_duplicate=False):
        found[id(each)].append(name)
    return dict(found)


def _twin(module):
    made = object.__new__(type(module))
    object.__setattr__(made, "__dict__", module.__dict__)
    return made

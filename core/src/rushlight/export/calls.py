"""Which module is being called while a model is traced: every call of a submodule has a key.

The key of the model is ``L__self__``, that of a submodule's first call ``L__self__`` and its path;
further calls of it end in ``@1``, ``@2`` and so on. Nodes keep the calls that they are made in,
from the model's to the innermost, as ``meta["nn_module_stack"]``: ``{key: (path, class)}``.
Of the submodules in `preserve_module_call_signature` the arguments and results are kept, too.
"""

from __future__ import annotations

import collections
import contextlib

from rushlight.export.graph_signature import ModuleCallSignature

ROOT = "L__self__"


class Calls:
    """The calls of one run of a model; `stack` has those in progress.

    `kept` names the submodules whose calls are described in `signatures`, by name, further calls
    with their number; ``describe(tree)`` gives the leaves and the structure of what they exchange.
    """

    def __init__(self, module, kept=(), describe=None):
        self.module, self.kept, self._describe = module, frozenset(kept), describe
        self.stack: dict[str, tuple[str, str]] = {}
        self.signatures: dict[str, ModuleCallSignature] = {}
        self._open: list = []  # paths and signatures of the calls of kept submodules in progress
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
        """The call ends: a hook after ``forward``. What is written to the model's buffers behind
        it belongs to the model's call, too."""
        if len(self.stack) > 1:
            self.stack.popitem()

    @contextlib.contextmanager
    def described(self):
        """The calls of the kept submodules add to `signatures`."""
        modules = {id(m): m for m in map(self.module.get_submodule, self.kept)}.values()
        handles = []
        for module in modules:
            handles += [
                module.register_forward_pre_hook(self._begin, with_kwargs=True),
                module.register_forward_hook(self._end),
            ]
        try:
            yield
        finally:
            for handle in handles:
                handle.remove()

    def _begin(self, module, args, kwargs):
        key, (path, _) = next(reversed(self.stack.items()))
        signature = None  # of a call by another name than the one that is kept
        if path in self.kept:
            inputs, in_spec = self._describe(path, (args, kwargs))
            signature = ModuleCallSignature(inputs, [], in_spec, in_spec)
            self.signatures[key.removeprefix(ROOT)] = signature
        self._open.append((path, signature))

    def _end(self, module, args, result):
        path, signature = self._open.pop()
        if signature is not None:
            signature.outputs, signature.out_spec = self._describe(path, result)

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

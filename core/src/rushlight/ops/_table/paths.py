"""What the fast path remembers of an op: one object with its caches, and one way to forget.

A call that fell back to the general path leaves here what calls like it need: a prepared function,
a native one, a recipe by which machine code records it. `docs/pages/fast_path.md` draws who reads
what.
"""

from __future__ import annotations

import weakref

from rushlight.dtypes import ALL, default

__all__ = ["COUNTS", "UNKNOWN", "Paths", "forget_all", "not_prepared"]

COUNTS = 8  # calls of fewer positional arguments, and no keywords, find their function by number
UNKNOWN = (None,) * len(ALL)  # of a table by dtype code
_every: weakref.WeakSet = weakref.WeakSet()


def not_prepared(*args):
    """Instead of a prepared call that has not been made."""
    return NotImplemented


class Paths:
    """The caches of one op.

    Prepared calls, made for a form: a number of positional arguments, or a tuple of that and the
    names of keywords. None stands for a form that has no prepared call.

    ``forms``, ``gpu_forms``                  of the function, on the CPU and on a GPU
    ``inplace_forms``, ``inplace_gpu_forms``  of ``x.op_()``
    ``by_count``                              those of `forms` without keywords, by their number

    Native calls of elementwise ops on arrays; None where the op's signature allows none.

    ``same``, ``mixed``       ``(function, result dtype)`` by dtype code: for tensors of one dtype
                              alone, and for a tensor and a number
    ``into``, ``into_mixed``  functions that write into their last argument, likewise
    ``into_numbers``          by dtype code and types of numbers: function, check, largest number
    ``offered``               keys of `kernels` that have been entered in these
    ``pointwise``             by parameters of a prepared call: the native call it asks first

    Native calls of known layouts: :meth:`tables`, objects with a ``forget()`` of their own, which
    stand at the kernel or the declaration; ``shared`` are those of a composite's body.

    Compiled once, whatever the settings: ``kernels`` and ``gpu_kernels`` of elementwise ops by
    dtypes and constants, ``plans`` of the backward pass by the pattern of tensors that need a
    gradient, and what machine code must know to record a call, ``recipes`` by the same pattern and
    ``recipe``, the latest.
    """

    __slots__ = (
        "__weakref__", "by_count", "forms", "gpu_forms", "gpu_kernels", "inplace_forms",
        "inplace_gpu_forms", "into", "into_mixed", "into_numbers", "kernels", "mixed", "offered",
        "op", "plans", "pointwise", "recipe", "recipes", "same", "shared",
    )  # fmt: skip

    def __init__(self, op):
        self.op = op
        self.forms, self.gpu_forms = {}, {}
        self.inplace_forms, self.inplace_gpu_forms = {}, {}
        self.by_count = [not_prepared] * COUNTS
        self.same = self.mixed = self.into = self.into_mixed = self.into_numbers = None
        self.offered, self.pointwise, self.shared = set(), {}, ()
        self.kernels, self.gpu_kernels, self.plans = {}, {}, {}
        self.recipe, self.recipes = None, {}
        _every.add(self)

    def takes_tensors(self, two):
        """Have the tables of an elementwise op of one tensor or, if `two`, of `two`."""
        if self.same is None:
            self.same, self.mixed = [*UNKNOWN], [*UNKNOWN] if two else None

    def writes_into(self):
        """Have the tables of an op that may write into its first tensor."""
        if self.into is None:
            self.into, self.into_mixed, self.into_numbers = [*UNKNOWN], [*UNKNOWN], {}

    def tables(self):
        """The tables of known layouts that calls of the op look into."""
        own = getattr(self.op.cpu_kernel, "short", None), self.op.options.get("known")
        return [*(table for table in own if table is not None), *self.shared]

    def forget(self, compiled=False):
        """Forget what calls have left, since it no longer holds: result dtypes follow from the
        default dtype, and kernels from what tests put in their place. With `compiled`, kernels and
        backward plans as well."""
        for found in (
            self.forms, self.gpu_forms, self.inplace_forms, self.inplace_gpu_forms, self.offered
        ):  # fmt: skip
            found.clear()
        for by_code in (self.same, self.mixed, self.into, self.into_mixed):
            if by_code is not None:
                by_code[:] = UNKNOWN
        if self.into_numbers is not None:
            self.into_numbers.clear()
        self.by_count[:] = [not_prepared] * COUNTS
        for table in (*self.tables(), *self.pointwise.values()):
            table.forget()
        if compiled:
            for found in (self.kernels, self.gpu_kernels, self.plans, self.recipes):
                found.clear()
            self.recipe = None


def forget_all(compiled=False):
    """Have the fast path of every op forget."""
    for paths in list(_every):
        paths.forget(compiled)


default.watchers.append(forget_all)

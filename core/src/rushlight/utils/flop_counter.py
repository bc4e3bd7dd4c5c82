"""`FlopCounterMode`: multiplications and additions of matrix products, convolutions and attention.

A multiply-add counts as two. The backward pass counts for every input that gets a gradient as much
as the forward op, which is exact for products and convolutions.
"""

from __future__ import annotations

import math
from collections import defaultdict
from functools import partial

from rushlight.autograd import observer
from rushlight.nn import global_hooks
from rushlight.nn.module import Module
from rushlight.ops._table.op import TABLE
from rushlight.tensor.dispatch import Interpreter, stack
from rushlight.tensor.tensor import EXACT, Tensor


def _product(arguments, result):
    return 2 * result.numel() * arguments[0].shape[-1]


def _added_product(arguments, result):
    return 2 * result.numel() * arguments[1].shape[-1]


def _summed_products(arguments, result):
    return 2 * arguments[1].shape[0] * result.numel() * arguments[1].shape[-1]


def _vector_product(arguments, result):
    return 2 * arguments[0].numel()


def _convolution(arguments, result):
    return 2 * result.numel() * math.prod(arguments[1].shape[1:])


def _transposed_convolution(arguments, result):
    return 2 * arguments[0].numel() * math.prod(arguments[1].shape[1:])


def _attention(arguments, result):
    query, key, value = arguments[:3]
    rows = math.prod(query.shape[:-1])
    return 2 * rows * key.shape[-2] * (query.shape[-1] + value.shape[-1])


def _recurrence(arguments, result):
    gates, weight = arguments[0], arguments[3]
    return 2 * math.prod(gates.shape[:-1]) * weight.numel()


def _bilinear(arguments, result):
    left, _, weight = arguments[:3]
    return 2 * math.prod(left.shape[:-1]) * weight.numel()


# What ops declare (``flops=``) -> the count from the arguments and result, and which of the first
# tensors have gradients that cost as much.
_FORMULAS = {
    "product": (_product, (0, 1)),
    "added product": (_added_product, (1, 2)),
    "summed products": (_summed_products, (1, 2)),
    "vector product": (_vector_product, (0, 1)),
    "convolution": (_convolution, (0, 1)),
    "transposed convolution": (_transposed_convolution, (0, 1)),
    "attention": (_attention, (0, 1, 2)),
    "recurrence": (_recurrence, (0, 3)),
    "two-sided product": (_bilinear, (0, 1, 2)),
}


def _formula(name):
    """The formula of an op of the table by its name, or None."""
    op = TABLE.get(name)
    return None if op is None else _FORMULAS.get(op.options.get("flops"))


def flops_of(name, args, kwargs, result) -> int:
    """The floating-point operations of one call of an op, 0 where they are not counted."""
    found = _formula(name)
    if found is None:
        return 0
    tensors = [a for a in (*args, *kwargs.values())]
    first = result[0] if isinstance(result, tuple | list) else result
    return int(found[0](tensors, first)) if isinstance(first, Tensor) else 0


def opens(function, args, kwargs):
    """Whether a composite op's body can be run here: no variant, plain tensors."""
    if function.variant is not None or kwargs.get("out") is not None or function.op.run is None:
        return False
    for value in (*args, *kwargs.values()):
        for item in value if type(value) in (list, tuple) else (value,):
            if isinstance(item, Tensor) and type(item) not in EXACT:
                return False
            if not isinstance(item, Tensor) and hasattr(type(item), "__torch_function__"):
                return False
    return True


class FlopCounterMode(Interpreter):
    """Counts what runs inside a ``with`` block, by module and op, forward and backward.

    - `mods`: a module or modules, whose inner modules get rows of their own; without it every
      module that is called does.
    - `depth`: how many levels of modules the table shows; it is printed at the end unless
      ``display=False``.
    - `custom_mapping`: op name or function -> ``formula(*args, out_val=result, **kwargs)``.

    >>> counter = rushlight.utils.flop_counter.FlopCounterMode(display=False)
    >>> with counter:
    ...     _ = rushlight.ones(2, 3) @ rushlight.ones(3, 4)
    >>> counter.get_total_flops()
    48
    """

    def __init__(self, mods=None, depth: int = 2, display: bool = True, custom_mapping=None):
        if mods is not None and not isinstance(mods, Module | list | tuple):
            raise TypeError(
                f"FlopCounterMode: expected 'mods' to be a module or modules, got "
                f"{type(mods).__name__}"
            )
        self.depth, self.display = depth, display
        self.custom = {
            getattr(getattr(k, "op", None), "name", k): v for k, v in (custom_mapping or {}).items()
        }
        self.flop_counts: dict = defaultdict(lambda: defaultdict(int))
        self._names: dict = {}
        roots = [mods] if isinstance(mods, Module) else list(mods or ())
        for root in roots:
            for name, module in root.named_modules():
                label = type(root).__name__
                self._names.setdefault(module, f"{label}.{name}" if name else label)
        self._inside: list[str] = []
        self._nodes: dict = {}
        self._hooks: list = []
        self._before = None

    # ---------------------------------------------------------------------------------- on and off
    def __enter__(self):
        self.flop_counts.clear()
        self._hooks = [
            global_hooks.register_module_forward_pre_hook(self._enter_module),
            global_hooks.register_module_forward_hook(self._leave_module),
        ]
        self._before, observer.around_node = observer.around_node, self._node
        return super().__enter__()

    def __exit__(self, *exc):
        super().__exit__(*exc)
        observer.around_node = self._before
        for hook in self._hooks:
            hook.remove()
        self._nodes.clear()
        self._inside.clear()
        if self.display:
            print(self.get_table(self.depth))

    def _enter_module(self, module, args):
        name = self._names.get(module)
        if name is None:
            parent = self._inside[-1] if self._inside else ""
            own = type(module).__name__
            if parent:
                holder = next((m for m, n in self._names.items() if n == parent), None)
                children = () if holder is None else holder.named_children()
                own = next((n for n, child in children if child is module), own)
            name = self._names[module] = f"{parent}.{own}" if parent else own
        self._inside.append(name)

    def _leave_module(self, module, args, result):
        if self._inside:
            self._inside.pop()

    # ------------------------------------------------------------------------------------ counting
    def process(self, function, types, args, kwargs):
        """Count one op, or the ops inside of it."""
        op = getattr(function, "op", None)
        name = getattr(op, "name", None)
        formula = self.custom.get(name)
        counted = formula is not None or _formula(name) is not None
        if op is not None and op.kind == "composite" and not counted:
            if not opens(function, args, kwargs):
                return function(*args, **kwargs)
            with _Again(self):
                return op.run(op.bind(args, dict(kwargs)))
        result = function(*args, **kwargs)
        if formula is not None:
            count = int(formula(*args, out_val=result, **kwargs))
        else:
            count = flops_of(name, args, kwargs, result)
        if count:
            self._add(list(self._inside), f"aten.{name}", count)
            self._remember(name, args, result, count)
        return result

    def _add(self, inside, key, count):
        for module in ("Global", *inside):
            self.flop_counts[module][key] += count

    def _remember(self, name, args, result, count):
        """Which inputs will get gradients, so that the backward pass can be counted."""
        first = result[0] if isinstance(result, tuple | list) else result
        if getattr(first, "_node", None) is None:
            return
        places = (_formula(name) or (None, (0, 1)))[1]
        wanted = sum(
            isinstance(args[p], Tensor) and args[p].requires_grad for p in places if p < len(args)
        )
        below, waiting = [args[p] for p in places if p < len(args)], [first._node]
        ends = {getattr(t, "_node", None) for t in below if isinstance(t, Tensor)}
        nodes = []
        while waiting:  # a composite op's nodes, down to its inputs
            node = waiting.pop()
            if node in ends or node in nodes or not hasattr(node, "edges"):
                continue
            nodes.append(node)
            waiting.extend(edge for edge in node.edges if edge is not None)
        if nodes and wanted:
            for node in nodes:  # counted with the first of them
                self._nodes[node.sequence] = None
            key = f"aten.{name}_backward"
            own = len(nodes) == 1 and (_formula(nodes[0].op.name) or (None, ()))[1] == places
            self._nodes[nodes[0].sequence] = (
                list(self._inside), key, count, wanted, places if own else None
            )  # fmt: skip

    def _node(self, node, grads, create, run):
        """Run a node of the backward pass: counted as a whole, or by the ops it runs."""
        known = node.sequence in self._nodes
        if self._before is not None:
            run = partial(self._before, run=run)
        if not known or self not in stack.interpreters:
            return run(node, grads, create)
        place = stack.interpreters.index(self)
        stack.interpreters.remove(self)
        try:
            pieces = run(node, grads, create)
        finally:
            stack.interpreters.insert(place, self)
        found = self._nodes[node.sequence]
        if found is not None:
            inside, key, count, wanted, places = found
            if places is not None:  # a pass may ask for some of the gradients
                wanted = sum(pieces[p] is not None for p in places if p < len(pieces))
            self._add(inside, key, count * wanted)
        return pieces

    # -------------------------------------------------------------------------------------- results
    def get_total_flops(self) -> int:
        """All that was counted."""
        return sum(self.flop_counts["Global"].values())

    def get_flop_counts(self) -> dict:
        """Module -> op -> count; ``"Global"`` for everything."""
        return {module: dict(counts) for module, counts in self.flop_counts.items()}

    def get_table(self, depth: int | None = None) -> str:
        """Rows for modules and their ops, with their share of everything."""
        depth = self.depth if depth is None else depth
        total = self.get_total_flops()
        rows = []
        for module in sorted(self.flop_counts, key=lambda name: (name != "Global", name)):
            level = 0 if module == "Global" else module.count(".") + 1
            if level > depth:
                continue
            counts = self.flop_counts[module]
            rows.append((" " * level + module, sum(counts.values())))
            rows += [(" " * (level + 1) + f"- {key}", count) for key, count in counts.items()]
        lines = [(name, _short(count), f"{100 * count / total:.2f}%" if total else "0%")
                 for name, count in rows]  # fmt: skip
        titles = ("Module", "FLOP", "% Total")
        sizes = [max(map(len, column)) for column in zip(titles, *lines, strict=True)]
        text = ["  ".join(c.ljust(s) for c, s in zip(row, sizes, strict=True)) for row in
                (titles, tuple("-" * s for s in sizes), *lines)]  # fmt: skip
        return "\n".join(text)


class _Again:
    """Puts an interpreter back for the parts of a composite op."""

    def __init__(self, interpreter):
        self.interpreter = interpreter

    def __enter__(self):
        return Interpreter.__enter__(self.interpreter)

    def __exit__(self, *exc):
        Interpreter.__exit__(self.interpreter, *exc)


def _short(count) -> str:
    for size, unit in ((10**12, "T"), (10**9, "B"), (10**6, "M"), (10**3, "K")):
        if count >= size:
            return f"{count / size:.3f}{unit}"
    return str(count)

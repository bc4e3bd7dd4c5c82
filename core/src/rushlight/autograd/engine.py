"""The backward pass: nodes reachable from the roots, newest first.

A node's inputs always exist before it, so descending sequence numbers are a topological order.
A leaf is accumulated as soon as its last contribution is in: optimizers that step during backward
and data-parallel overlap hang on that.
"""

from __future__ import annotations

import sys
import warnings
from functools import partial

from rushlight.autograd import observer
from rushlight.autograd.accumulation import accumulate, summed, takeable
from rushlight.autograd.anomaly import anomaly, run_in_anomaly
from rushlight.autograd.handle import in_order
from rushlight.autograd.later import later
from rushlight.autograd.mode import mode
from rushlight.autograd.node import (
    NODES,
    AccumulateGrad,
    GradientEdge,
    arrangement_of,
    gradient_edge,
)
from rushlight.autograd.ordinary_pass import by_sequence, deliver, formulas, ordinary_pass
from rushlight.dtypes import COMPLEX
from rushlight.machine import np
from rushlight.machine.meta_array import meta_array
from rushlight.tensor import tensor as _tensor_module
from rushlight.tensor.dispatch import captured_part, is_dispatching, stack
from rushlight.tensor.tensor import EXACT, Tensor, make_tensor


def backward(
    tensors,
    grad_tensors=None,
    retain_graph=None,
    create_graph=False,
    grad_variables=None,
    inputs=None,
):
    """Add the gradients of `tensors` into ``.grad`` of the leaves they were computed from.

    See :meth:`rushlight.Tensor.backward`; here several roots may be given at once.
    """
    if grad_variables is not None:
        grad_tensors = _former_name(grad_tensors, grad_variables)
    if type(tensors) is Tensor and (grad_tensors is None or isinstance(grad_tensors, Tensor)):
        root = _root(tensors, grad_tensors, create_graph)
        if inputs is None and not create_graph and ordinary_pass(root, retain_graph):
            return
        roots = (root,)
    else:
        tensors = _sequence(tensors)
        gradients = _sequence(grad_tensors, len(tensors))
        roots = [_root(t, g, create_graph) for t, g in zip(tensors, gradients, strict=True)]
    retain = create_graph if retain_graph is None else retain_graph
    targets = None
    if inputs is not None:
        targets = _sequence(inputs)
        if not targets:
            raise RuntimeError("`inputs` argument to `backward()` cannot be empty.")
        for target in targets:
            if isinstance(target, Tensor):
                target.retain_grad()
    _Run(roots, retain, create_graph, targets, accumulate=True).go()


def _former_name(grad_tensors, grad_variables):
    warnings.warn(
        "`grad_variables` is deprecated. Use `grad_tensors` instead.", FutureWarning, stacklevel=3
    )
    if grad_tensors is not None:
        raise RuntimeError(
            "`grad_tensors` and `grad_variables` (deprecated) arguments both passed to "
            "`backward()`. Please only use `grad_tensors`."
        )
    return grad_variables


def grad(
    outputs,
    inputs,
    grad_outputs=None,
    retain_graph=None,
    create_graph=False,
    only_inputs=True,
    allow_unused=None,
    is_grads_batched=False,
    materialize_grads=False,
):
    """The sum of gradients of `outputs` with respect to each of `inputs`, as a tuple.

    An input the outputs do not depend on is an error, unless `allow_unused` (it then gets None) or
    `materialize_grads` (it then gets zeros). Both may be :class:`graph.GradientEdge`s in place of
    tensors. For a dictionary of inputs there is one of gradients.
    """
    if materialize_grads and allow_unused is False:
        raise ValueError(
            "Expected allow_unused to be True or not passed when materialize_grads=True, but got: "
            "allow_unused=False."
        )
    if isinstance(inputs, dict):
        found = grad(
            outputs, tuple(inputs.values()), grad_outputs, retain_graph, create_graph,
            only_inputs, allow_unused, is_grads_batched, materialize_grads,
        )  # fmt: skip
        return dict(zip(inputs, found, strict=True))
    if not only_inputs:
        warnings.warn(
            "only_inputs argument is deprecated and is ignored now (defaults to True). To "
            "accumulate gradient for other parts of the graph, please use backward().",
            FutureWarning,
            stacklevel=2,
        )
    outputs, inputs = _sequence(outputs), _sequence(inputs)
    if not inputs:
        raise RuntimeError("`inputs` argument to `grad()` cannot be empty.")
    gradients = _sequence(grad_outputs, len(outputs))
    if is_grads_batched or stack.levels:
        found = _transformed(
            outputs, inputs, gradients, is_grads_batched,
            retain_graph=retain_graph, create_graph=create_graph, allow_unused=allow_unused,
            materialize_grads=materialize_grads,
        )  # fmt: skip
        if found is not None:
            return found
    roots = [_root(t, g, create_graph) for t, g in zip(outputs, gradients, strict=True)]
    for tensor in inputs:
        if type(tensor) is not Tensor and tensor._node is None and hasattr(tensor, "_elements"):
            return _by_elements(outputs, inputs, gradients, retain_graph=retain_graph,
                                create_graph=create_graph, allow_unused=allow_unused,
                                materialize_grads=materialize_grads)  # fmt: skip
        if not tensor.requires_grad:
            raise RuntimeError("One of the differentiated Tensors does not require grad")
    retain = create_graph if retain_graph is None else retain_graph
    taken = None if len(roots) != 1 or create_graph else dict.fromkeys(inputs)
    if taken is not None and ordinary_pass(roots[0], retain, taken):
        values = [taken[tensor] for tensor in inputs]
    else:
        found = _Run(roots, retain, create_graph, inputs, accumulate=False).go()
        values = [found.get(gradient_edge(tensor)) for tensor in inputs]
    allow_unused = materialize_grads if allow_unused is None else allow_unused
    results = []
    for number, (tensor, value) in enumerate(zip(inputs, values, strict=True)):
        if value is None and not allow_unused:
            raise RuntimeError(
                f"The differentiated Tensor at index {number} appears to not have been used in the "
                "graph. Set allow_unused=True if this is the desired behavior."
            )
        if value is None and materialize_grads:
            value = _filled(tensor, 0).requires_grad_(create_graph)
        results.append(value)
    return tuple(results)


def _transformed(outputs, inputs, gradients, rows, **options):
    """Gradients where function transforms have a part in it; None where they have none."""
    if rows:
        vmap = later("func").vmap

        used: list = []

        def one(*row):
            found = grad(outputs, inputs, row, **options)
            used[:] = [g is not None for g in found]
            return tuple(g for g in found if g is not None)

        present = [g for g in gradients if g is not None]
        if len(present) != len(gradients):
            raise RuntimeError("grad: is_grads_batched=True needs a gradient for every output")
        found = iter(vmap(one)(*gradients))
        return tuple(next(found) if there else None for there in used)
    for tensor in (*outputs, *inputs):
        if getattr(tensor, "_level", None) is not None and tensor._node is None:
            return type(tensor).gradients(tensor._level, outputs, inputs, gradients, options)
    return None


def _by_elements(outputs, inputs, gradients, **options):
    """Gradients of sparse inputs: those of their elements, in the same positions."""
    dense = [t if t._node is not None else getattr(t, "_elements", t) for t in inputs]
    found = grad(outputs, dense, gradients, **options)
    return tuple(
        t.with_elements(g) if g is not None and t is not d else g
        for t, d, g in zip(inputs, dense, found, strict=True)
    )


def _sequence(value, length=None):
    if value is None:
        return (None,) * length
    if isinstance(value, Tensor):
        return (value,)
    if isinstance(value, GradientEdge):
        value = (value,)
    # The edge of a leaf is the leaf; others have what the engine asks of a tensor.
    values = tuple(
        v.node.variable if isinstance(v, GradientEdge) and type(v.node) is AccumulateGrad else v
        for v in value
    )
    if length is not None and len(values) != length:
        raise RuntimeError(f"got {length} tensors and {len(values)} gradients")
    return values


def _root(tensor, gradient, create_graph):
    """One starting point: where its gradient goes and the gradient itself."""
    edge, number = gradient_edge(tensor)
    if edge is None:
        raise RuntimeError("element 0 of tensors does not require grad and does not have a grad_fn")
    if isinstance(tensor, GradientEdge):
        if not isinstance(gradient, Tensor):
            raise RuntimeError("a GradientEdge as output needs its gradient: give grad_outputs")
        return edge, number, gradient if create_graph else gradient.detach()
    if gradient is None:
        if tensor._array.size != 1:
            raise RuntimeError("grad can be implicitly created only for scalar outputs")
        if tensor._dtype.category == COMPLEX:
            raise RuntimeError(
                f"grad can be implicitly created only for real scalar outputs but got "
                f"{tensor._dtype}"
            )
        if stack.levels and (found := captured_part(tensor)) is not None:
            return edge, number, found.new_ones(tuple(tensor._array.shape))
        return edge, number, _first(tensor)
    elif not isinstance(gradient, Tensor):
        raise TypeError(
            f"gradients can be either Tensors or None, but got {type(gradient).__name__}"
        )
    elif gradient._array.shape != tensor._array.shape:
        raise RuntimeError(
            f"Mismatch in shape: grad_output[0] has a shape of {gradient.shape} and output[0] has "
            f"a shape of {tensor.shape}."
        )
    if gradient._dtype is not tensor._dtype and type(gradient) is Tensor:
        if COMPLEX in (gradient._dtype.category, tensor._dtype.category):
            raise RuntimeError(
                "For complex Tensors, both grad_output and output are required to have the same "
                f"dtype. Mismatch in dtype: grad_output[0] has a dtype of {gradient._dtype} and "
                f"output[0] has a dtype of {tensor._dtype}."
            )
        gradient = gradient.to(tensor._dtype)
    if create_graph or gradient._node is None and type(gradient) is Tensor:
        return edge, number, gradient
    return edge, number, gradient.detach()


def _first(tensor):
    return tensor._first_gradient() if is_dispatching(tensor) else _filled(tensor, 1)


def _filled(tensor, value):
    if tensor._device.type == "meta":
        array = meta_array(tensor._array.shape, tensor._array.dtype)
    elif tensor._device.type == "cuda":
        array = np.full_like(tensor._array, value)
    else:
        array = np.empty(tensor._array.shape, tensor._array.dtype)
        array.fill(value)
    return make_tensor(array, tensor._dtype, tensor._device)


def queue_callback(callback) -> None:
    """Call ``callback()`` at the end of the backward pass that is going on, the outermost one."""
    if not mode.runs:
        raise RuntimeError("Final callbacks can only be installed during backward pass.")
    mode.runs[0].callbacks.append(callback)


class _Run:
    """One backward pass."""

    def __init__(self, roots, retain, create, targets, accumulate):
        self.roots, self.retain, self.create = roots, retain, create
        self.accumulate = accumulate
        self.pending, self.owned = {}, set()
        self.leaf_pending, self.leaf_counts, self.ready = {}, {}, []
        self.wanted, self.needed, self.captured = None, None, ()
        self.callbacks = []
        if targets is not None:
            self.wanted = {gradient_edge(t): None for t in targets}

    def go(self):
        previous = mode.recording, mode.runs
        mode.recording, mode.runs = self.create, (*mode.runs, self)
        try:
            self._run()
            for callback in self.callbacks:  # which may add further ones
                callback()
        finally:
            mode.recording, mode.runs = previous
        return self.wanted

    def reaches(self, edge, number):
        """Whether a gradient comes to an edge in this pass."""
        wanted = self.wanted
        if type(edge) not in NODES:
            return edge in self.leaf_counts and (wanted is None or (edge, 0) in wanted)
        if edge not in self.nodes:
            return False
        return wanted is None or edge in self.needed or edge in self.captured

    def _run(self):
        nodes = self.nodes = self._reachable()
        plain = self.wanted is None
        if not plain:
            self._choose(nodes)
        needed = self.needed
        for edge, number, gradient in self.roots:
            self._deliver(edge, number, gradient)
        self._finish()
        retain, create, pending = self.retain, self.create, self.pending
        watch = observer.around_node
        if stack.interpreters:
            watch = _as_recorded(watch)
        for node in sorted(nodes, key=by_sequence, reverse=True):
            grads = pending.pop(node, None)
            runs = plain or node in needed
            if node.tensor_hooks is not None or not plain:
                grads = self._observe(node, grads, runs)
            if not runs:
                self._skip(node)
                continue
            if watch is not None or node.pre_hooks or node.hooks or anomaly.enabled:
                pieces = self._watched(node, grads, watch)
            elif grads is not None or getattr(node.op, "of_user", False):
                run = node.op.backward if plain else self._formulas(node)
                pieces = run(node, grads, create)
            else:
                pieces = (None,) * len(node.edges)
            if not retain and node.saved != ():  # nodes that saved nothing run again
                node.saved = None
            numbers = node.numbers
            for i, edge in enumerate(node.edges):
                if edge is not None:
                    self._deliver(edge, 0 if numbers is None else numbers[i], pieces[i])
            if self.ready:
                pieces = None  # a finished leaf may take over a gradient nobody else holds
                self._finish()

    def _watched(self, node, grads, watch):
        """Run one node with its hooks, and whoever watches."""
        if node.pre_hooks:
            grads = _run_prehooks(node, grads)
        run = self._formulas(node)
        if watch is not None:
            run = partial(watch, run=run)
        if grads is None and not getattr(node.op, "of_user", False):
            pieces = (None,) * len(node.edges)
        elif anomaly.enabled:
            pieces = run_in_anomaly(run, node, grads, self.create)
        else:
            pieces = run(node, grads, self.create)
        return _run_hooks(node, pieces, grads) if node.hooks else pieces

    def _formulas(self, node):
        """What gives the gradients of a node's inputs: of those alone that this pass is about."""
        if self.wanted is None:
            return node.op.backward
        needed, targets = self.needed, self.targets
        return formulas(node, tuple([edge in needed or edge in targets for edge in node.edges]))

    def _reachable(self):
        """Every node below the roots, and how many contributions each leaf will get."""
        counts = self.leaf_counts
        seen, stack = set(), []
        get = counts.get
        for edge, _, _ in self.roots:
            if type(edge) not in NODES:
                counts[edge] = counts.get(edge, 0) + 1
            elif edge not in seen:
                seen.add(edge)
                stack.append(edge)
        while stack:
            for edge in stack.pop().edges:
                if type(edge) in NODES:
                    if edge not in seen:
                        seen.add(edge)
                        stack.append(edge)
                elif edge is not None:
                    counts[edge] = get(edge, 0) + 1
        return seen

    def _choose(self, nodes):
        """Which nodes must run so that the wanted inputs get their gradients, and of which ones
        the gradients are taken: `backward` keeps those by a hook where they come by."""
        targets = self.targets = {edge for edge, _ in self.wanted}
        if self.accumulate:
            needed = {edge for edge in targets if type(edge) in NODES and edge in nodes}
        else:
            needed, self.captured = set(), targets
        for node in sorted(nodes, key=by_sequence):
            if any(e is not None and (e in needed or e in targets) for e in node.edges):
                needed.add(node)
        self.needed = needed

    def _deliver(self, edge, number, piece):
        if type(edge) in NODES:
            deliver(self.pending, self.owned, edge, number, piece, self.create)
        else:
            self._deliver_leaf(edge, piece)

    def _deliver_leaf(self, leaf, piece):
        waiting = self.leaf_pending
        if piece is not None:
            old = waiting.get(leaf)
            if old is not None:
                piece = summed(self.owned, leaf, old, piece, self.create)
            waiting[leaf] = piece
        left = self.leaf_counts[leaf] = self.leaf_counts[leaf] - 1
        if not left and (leaf in waiting or leaf._hooks or leaf._post_hooks):
            self.ready.append(leaf)

    def _finish(self):
        ready = self.ready
        if len(ready) == 1:
            self._finish_leaf(ready.pop())
            return
        finished = ready[:]
        ready.clear()
        for leaf in finished:
            self._finish_leaf(leaf)

    def _skip(self, node):
        for edge in node.edges:
            if edge is not None and type(edge) not in NODES:
                self._deliver_leaf(edge, None)
        if self.ready:
            self._finish()

    def _observe(self, node, grads, runs):
        """Run tensor hooks on complete gradients and note the ones that were asked for: before the
        hooks where the node runs as well, after them where the pass ends here."""
        captured = node in self.captured
        if not (runs or captured):
            return None
        many = node.outputs > 1
        values = grads if many and grads is not None else [grads] * node.outputs
        hooks = node.tensor_hooks or {}
        for number, value in enumerate(values):
            wanted = captured and (node, number) in self.wanted
            if wanted and runs:
                self.wanted[node, number] = value
            if number in hooks:
                value = values[number] = _call_hooks(hooks[number], value)
            if wanted and not runs:
                self.wanted[node, number] = value
        if not many:
            return values[0]
        return None if all(value is None for value in values) else values

    def _finish_leaf(self, leaf):
        total = self.leaf_pending.pop(leaf, None)
        if self.wanted is not None and (leaf, 0) not in self.wanted:
            return
        lone = total is not None and sys.getrefcount(total) <= 2 and takeable(total)
        if leaf._hooks:
            total, lone = _call_hooks(leaf._hooks, total), False
        if self.wanted is not None:
            self.wanted[leaf, 0] = total
            if not self.accumulate:
                return
        if leaf._node is None and type(leaf) in EXACT:
            return  # it stopped requiring gradients after it was used
        if total is not None:
            accumulate(leaf, total, self.create, lone)
        for hook in in_order(leaf._post_hooks):
            result = hook(leaf)
            if result is not None:
                raise TypeError(
                    "post accumulate grad hooks must return None, but hook "
                    f"'{_hook_name(hook)}' returned '{type(result).__name__}'"
                )


def _as_recorded(watch):
    """How nodes run in a region whose ops are cast: formulas take tensors in the dtypes of their
    forward, so no cast has a part in them; functions of users see the region, as in PyTorch."""
    if not any(getattr(interpreter, "casts", False) for interpreter in stack.interpreters):
        return watch

    def around(node, grads, create, run):
        if watch is not None:
            run = partial(watch, run=run)
        if getattr(node.op, "of_user", False):
            return run(node, grads, create)
        kept = stack.interpreters
        stack.interpreters = [i for i in kept if not getattr(i, "casts", False)]
        try:
            return run(node, grads, create)
        finally:
            stack.interpreters = kept

    return around


def _call_hooks(hooks, grad):
    for hook in in_order(hooks):  # retain_grad's comes last
        result = hook(grad)
        if result is not None:
            grad = _replaced(hook, grad, result)
    return grad


def _replaced(hook, value, result):
    """What a hook returned in place of a gradient, if it may stand there."""
    if not isinstance(result, Tensor):
        raise TypeError(f"expected Variable, but hook returned '{type(result).__name__}'")
    if value is None:
        raise RuntimeError(
            f"hook '{_hook_name(hook)}' can't replace a None gradient with a non-None value"
        )
    if result._dtype is not value._dtype:
        raise RuntimeError(
            f"hook '{_hook_name(hook)}' has changed the type of value (was {value._dtype} got "
            f"{result._dtype})"
        )
    if result.shape != value.shape:
        raise RuntimeError(
            f"hook '{_hook_name(hook)}' has changed the size of value: from "
            f"{list(value.shape)} to {list(result.shape)}"
        )
    return result


def _hook_name(hook):
    return getattr(hook, "__name__", type(hook).__name__)


def _hook_results(hook, result, values):
    """What a hook of a node returned in place of `values`, of which there are as many."""
    if not isinstance(result, tuple):
        raise TypeError(f"expected tuple, but hook returned '{type(result).__name__}'")
    if len(result) != len(values):
        raise RuntimeError(
            f"hook '{_hook_name(hook)}' has returned an incorrect number of values (got "
            f"{len(result)}, but expected {len(values)})"
        )
    return tuple(
        None if new is None else _replaced(hook, old, new)
        for old, new in zip(values, result, strict=True)
    )


def _run_prehooks(node, grads):
    many = node.outputs > 1
    values = _outputs_of(node, grads)
    for hook in in_order(node.pre_hooks):
        result = hook(values)
        if result is not None:
            values = _hook_results(hook, result, values)
    if all(value is None for value in values):
        return None
    return list(values) if many else values[0]


def _outputs_of(node, grads):
    """The gradients of a node's outputs as hooks get them."""
    if grads is None or node.outputs == 1:
        return (grads,) * node.outputs
    return tuple(grads)


def _run_hooks(node, pieces, grads):
    outputs, order, count = _outputs_of(node, grads), arrangement_of(node), len(pieces)
    pieces = tuple(pieces) if order is None else order.shown(pieces)
    for hook in in_order(node.hooks):
        result = hook(pieces, outputs)
        if result is not None:
            pieces = _hook_results(hook, result, pieces)
    return pieces if order is None else order.taken(pieces, count)


_tensor_module._engine = sys.modules[__name__]

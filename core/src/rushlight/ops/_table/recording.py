"""Recording a call, and running its gradient formulas.

A plan is made once for every pattern of "which tensor arguments need a gradient, which are tensors
at all": what to save and one generated function that evaluates the formulas. Formulas run on
tensors, unrecorded in an ordinary backward pass and recorded under ``create_graph``; elementwise
formulas are first tried as one fused kernel each.
"""

from __future__ import annotations

from functools import partial

from rushlight.autograd import saving
from rushlight.autograd.anomaly import anomaly, note_line
from rushlight.autograd.node import LEAF, NODES, STALE, Node, gradient_edge, next_sequence
from rushlight.devices import cpu, meta
from rushlight.dtypes import FLOAT
from rushlight.machine import np
from rushlight.machine.generated_python import function_of
from rushlight.ops._calls import quick_pull as _quick_pull
from rushlight.ops._table.fusion import FusedFormula
from rushlight.ops._table.op import TENSORS, Op
from rushlight.ops._table.restoring import prepare, restorations, restored
from rushlight.ops._table.second_order import history_of
from rushlight.tensor import construction as make
from rushlight.tensor.storage import storage_of
from rushlight.tensor.tensor import make_tensor

_new = object.__new__
_ndarray = np.ndarray


class Plan:
    """What one gradient pattern saves and computes."""

    __slots__ = ("history", "inputs", "key", "needs_shapes", "outputs", "parts", "pull", "quick",
                 "recipes", "restores", "spares")  # fmt: skip


def record(op, tensors, values, outs, complete=True):
    """Make the node of a call. `tensors` are its tensor arguments in order (None where a number or
    nothing was given), lists flattened; `values` all bound arguments, or None when every attribute
    has its default; `outs` the results, which get the node. Where they are not `complete` yet,
    hooks get what is saved from :func:`resave`."""
    if not outs:  # no pieces of a dimension without elements
        return None
    edges, numbers, shapes, metadata = [], None, None, None
    first = outs[0]
    shape, dtype = first._array.shape, first._dtype
    key = 1  # in base 3: no tensor, a tensor, one that needs a gradient
    for tensor in tensors:
        if tensor is None:
            edges.append(None)
            key *= 3
            continue
        node = tensor._node
        if node is LEAF:
            node = tensor
            key = 3 * key + 2
        elif node is None:
            key = 3 * key + 1
        else:
            if node is STALE:
                tensor._refresh()
                node, _ = gradient_edge(tensor)
            if tensor._index:
                numbers = numbers or [0] * len(tensors)
                numbers[len(edges)] = tensor._index
            key = 3 * key + (1 if node is None else 2)
        edges.append(node)
        if tensor._array.shape != shape:
            shapes = True
        if tensor._dtype is not dtype:
            metadata = True
    node = _new(Node)
    node.op, node.edges, node.outputs = op, edges, op.outputs or len(outs)
    if numbers is not None:
        node.numbers = numbers
    node.sequence = next_sequence()
    plan = op.paths.plans.get(key)
    if plan is None:
        plan = _planned(op, key, tensors, edges, values)
    node.plan = plan
    if values is not None:
        node.values = values
    if shapes is not None:
        node.shapes = tuple([None if t is None else t._array.shape for t in tensors])
    elif plan.needs_shapes:
        node.shapes = (shape,) * len(tensors)
    if metadata is not None:
        node.dtypes = tuple([None if t is None else t._dtype for t in tensors])
    if plan.inputs or plan.outputs:
        _save(node, plan, tensors, outs)
    else:
        node.saved = ()
    if node.outputs == 1:
        first._node = node
    else:
        _attach(node, outs)
    if anomaly.enabled:
        note_line(node)
    if saving.active.count and complete:
        saving.pack(node)
    return node


def record_one(op, input, out):
    """:func:`record` for the fast path: one tensor, default attributes, one output like it."""
    edge = input._node
    if edge is LEAF:
        edge = input
    plan = op.paths.plans.get(2)
    if (
        plan is None
        or type(edge) not in NODES
        and edge is not input
        or edge is not input
        and (edge.outputs != 1)
    ):
        node = record(op, (input,), None, (out,))
        op.paths.plans[2] = node.plan
        op.paths.recipe = _recipe(op, node.plan, 1)
        return
    node = _new(Node)
    node.op, node.edges, node.plan, node.outputs = op, (edge,), plan, 1
    node.sequence = next_sequence()
    if plan.inputs:
        storage = input._storage
        if plan.outputs or storage is not None and storage.version or input._inference:
            _save(node, plan, (input,), (out,))
        else:
            node.saved = (input,)
    elif plan.outputs:
        _save(node, plan, (input,), (out,))
    else:
        node.saved = ()
    if plan.needs_shapes:
        node.shapes = (out._array.shape,)
    out._node = node


_in_recipes: list[Plan] = []  # recipes hold addresses: two threads may make a plan, one is kept


def _recipe(op, plan, marks):
    """What machine code must know to record calls like this one, where tensors of these bits need
    a gradient; None where it cannot."""
    if plan.needs_shapes or plan.outputs not in ([], [0]):
        return None
    found = plan.recipes.get(marks)
    if found is None:
        words = [id(op), id(plan), marks, len(plan.outputs), len(plan.inputs), *plan.inputs]
        found = plan.recipes[marks] = np.array(words, np.int64)
        _in_recipes.append(plan)
    return found


def _planned(op, key, tensors, edges, values):
    """The plan of a new pattern, whose key it is."""
    marks = [(t is not None) + (e is not None) for t, e in zip(tensors, edges, strict=True)]
    plan = op.paths.plans[key] = make_plan(op, tuple(marks))
    if op.outputs == 1:
        op.paths.recipes[key] = _recipe_of(op, plan)
    return plan


def _recipe_of(op, plan):
    """What :func:`note` must know of a pattern."""
    words = [id(op), id(plan), int(plan.needs_shapes), len(plan.outputs), len(plan.inputs)]
    _in_recipes.append(plan)
    return np.array([*words, *plan.inputs, *plan.outputs], np.int64)


def note(op, tensors, values, outs):
    """:func:`record`, by machine code where nothing is unusual."""
    if (
        saving.active.count
        or anomaly.enabled
        or make.noted(op.paths.recipes, tensors, values, outs) is NotImplemented
    ):
        record(op, tensors, values, outs)


def record_view(op, input, values, out):
    """:func:`record` for a view: one tensor, no saved values, an output of another shape."""
    plan = op.paths.plans.get(5)  # the key of one tensor that needs a gradient
    if plan is None or plan.inputs or plan.outputs:
        record(op, (input,), values, (out,))
        return
    if make.viewed(op, plan, input, values, out) is NotImplemented:
        edge = input._node
        if edge is LEAF:
            edge = input
        if edge is not input and (type(edge) not in NODES or edge.outputs != 1):
            record(op, (input,), values, (out,))
            return
        node = _new(Node)
        node.op, node.edges, node.plan, node.outputs = op, (edge,), plan, 1
        node.sequence = next_sequence()
        node.values, node.saved = values, ()
        node.shapes = (input._array.shape,)
        out._node = node
    if anomaly.enabled:
        note_line(out._node)


def record_two(op, input, other, out):
    """:func:`record` for the fast path: two tensors of one dtype; most have the output's shape."""
    shape = out._array.shape
    if input._array.shape != shape or other._array.shape != shape:
        record(op, (input, other), None, (out,))
        return
    a, b = input._node, other._node
    if a is LEAF:
        a = input
    if b is LEAF:
        b = other
    plan = op.paths.plans.get((a is not None) + 2 * (b is not None))
    if (
        plan is None
        or a is not None
        and a is not input
        and (a is STALE or a.outputs != 1)
        or b is not None
        and b is not other
        and (b is STALE or b.outputs != 1)
    ):
        node = record(op, (input, other), None, (out,))
        marks = (a is not None) + 2 * (b is not None)
        op.paths.plans[marks] = node.plan
        op.paths.recipe = _recipe(op, node.plan, marks)
        return
    node = _new(Node)
    node.op, node.edges, node.plan, node.outputs = op, (a, b), plan, 1
    node.sequence = next_sequence()
    if plan.inputs or plan.outputs:
        _save(node, plan, (input, other), (out,))
    else:
        node.saved = ()
    if plan.needs_shapes:
        node.shapes = (shape, shape)
    out._node = node
    recipe, marks = op.paths.recipe, (a is not None) + 2 * (b is not None)
    if recipe is None or recipe[2] != marks:
        op.paths.recipe = _recipe(op, plan, marks)


def _save(node, plan, tensors, outs):
    saved, versions = [], None
    for position in plan.inputs:
        tensor = tensors[position]
        if tensor.is_inference():
            saving.refuse_inference()
        storage = tensor._storage
        if storage is not None and storage.version:
            versions = versions or {}
            versions[len(saved)] = storage.version
        saved.append(tensor)
    for number in plan.outputs:
        out = outs[number]
        storage = storage_of(out)
        if storage.version:
            versions = versions or {}
            versions[len(saved)] = storage.version
        saved.append((out._array, out._dtype, storage, number))
    node.saved = saved
    if versions is not None:
        node.versions = versions


def _attach(node, outs):
    for number, out in enumerate(outs[: node.outputs]):
        if out is not None and out._dtype.category >= FLOAT and out._node is None:
            out._node = node
            if number:
                out._index = number


def resave(node, out):
    """After an in-place write the saved output is the tensor that was written to."""
    count = len(node.plan.inputs)
    for i in range(count, len(node.saved)):
        storage = storage_of(out)
        node.saved[i] = (out._array, out._dtype, storage, 0)
        node.versions = {**(node.versions or {}), i: storage.version}
    if saving.active.count:
        saving.pack(node)


def unpack(node, create):
    """The saved values as tensors, each checked against later in-place writes."""
    saved = node.saved
    if saved is None:
        raise RuntimeError(
            f"Trying to backward through the graph a second time: the saved tensors of "
            f"{node.name()} have already been freed. Specify retain_graph=True if you need to "
            "backward through the graph a second time or if you need to access saved tensors "
            "after calling backward."
        )
    if node.packed:
        return saving.unpacked(node, create, _unpack_one)
    values, versions, modified = [], node.versions, None
    for item in saved:
        if type(item) is not tuple:
            storage = item._storage
            if storage is None or not storage.version:
                values.append(item)
                continue
        i = len(values)
        if type(item) is tuple:
            array, dtype, storage, number = item
            version = storage.version
            item = make_tensor(array, dtype, cpu if type(array) is _ndarray else meta)
            item._storage = storage
            if create and dtype.category >= FLOAT:
                item._node, item._index = node, number
        else:
            version = storage.version
        if version and (versions is None or version != versions.get(i)):
            modified = modified or {}
            modified[i] = _modified(node, i, item, version)
        values.append(item)
    return values if modified is None else restored(node, values, modified)


def _is_same(node, i, version):
    """Whether a saved value has the version it was saved at, which is not 0."""
    versions = node.versions
    return versions is not None and versions.get(i) == version


def _unpack_one(node, i, create):
    """One saved value as a tensor; None of those that no formula reads."""
    if i in node.plan.spares:
        return None
    alone = _new(Node)
    alone.op, alone.edges, alone.plan, alone.saved = node.op, node.edges, node.plan, [node.saved[i]]
    version = (node.versions or {}).get(i)
    if version is not None:
        alone.versions = {0: version}
    (found,) = unpack(alone, create)
    if create and found._node is alone:
        found._node = node
    return found


def _modified(node, i, tensor, version):
    inputs = node.plan.inputs
    name = argument_name(node.op, inputs[i], len(node.edges)) if i < len(inputs) else "its output"
    return RuntimeError(
        "one of the variables needed for gradient computation has been modified by an inplace "
        f"operation: {node.op.name} saved {name}, a {tensor._dtype} tensor of shape "
        f"{list(tensor._array.shape)}, at version {(node.versions or {}).get(i, 0)}; it is at "
        f"version {version} now. Hint: clone it before the in-place operation."
    )


def argument_name(op, position, count):
    """The declared name of the tensor argument at a flattened position."""
    if op.list_position >= 0:
        return op.names[op.list_position]
    return op.names[op.tensor_positions[position]]


def backward(op, node, grad, create, plan=None):
    """The gradients of a node's tensor arguments, in the order of its edges; None where `plan`, a
    part of the node's own, has no formula."""
    plan = plan or node.plan
    pieces = NotImplemented if create else plan.quick(node, grad)
    if pieces is NotImplemented:
        saved = node.saved
        if saved != ():
            saved = unpack(node, create)
        pieces = plan.pull(node, grad, saved, node.values or op.defaults)
        if create and plan.history is not None:
            pieces = plan.history.add(node, grad, pieces)
    if node.shapes is None and node.dtypes is None:
        return pieces
    return fitted(node, pieces)


def fitted(node, pieces):
    """Gradients in the shapes and dtypes of the tensors that they are of."""
    shapes = node.shapes
    if make.fits(pieces, shapes, node.dtypes) is None:
        return pieces
    fitted = []
    for i, piece in enumerate(pieces):
        if piece is not None:
            if shapes is not None and piece._array.shape != shapes[i]:
                piece = piece.sum_to_size(shapes[i])
            if node.dtypes is not None and piece._dtype is not node.dtypes[i]:
                piece = _match_dtype(piece, node.dtypes[i])
        fitted.append(piece)
    return fitted


def narrowed(op, node, uses):
    """:func:`backward` for the tensor arguments of which `uses` is true."""
    return partial(op.backward, plan=part(op, node.plan, uses))


Op.backward = backward
Op.narrowed = narrowed
Op.fitted = staticmethod(fitted)
Op.unpack_saved = staticmethod(lambda node: unpack(node, True))


def _match_dtype(piece, dtype):
    if piece._dtype.is_complex and not dtype.is_complex:
        piece = piece.real
    return piece.to(dtype)


def part(op, plan, uses):
    """The plan of the same saved values with the formulas of those arguments alone of which `uses`
    is true."""
    found = plan.parts.get(uses)
    if found is None:
        pairs = zip(plan.key, uses, strict=True)
        key = tuple([mark if used else min(mark, 1) for mark, used in pairs])
        found = plan if key == plan.key else make_plan(op, key, plan.inputs, plan.outputs)
        plan.parts[uses] = found
    return found


def make_plan(op, key, inputs=(), outputs=()):
    """Which values to save, `inputs` and `outputs` in any case, and a function ``pull(node, grad,
    saved, values)``. `key`: of every tensor argument whether it is there, 1, and needs a gradient,
    2."""
    plan = Plan()
    plan.inputs, plan.outputs, plan.key, plan.parts = [*inputs], [*outputs], key, {}
    writer = _Writer(op, key, plan)
    plan.pull = writer.joint_pull() if op.joint is not None else writer.single_pull()
    plan.quick, plan.recipes = writer.quick, {}
    plan.needs_shapes, plan.history = writer.needs_shapes, history_of(op)
    return plan


class _Writer:
    """Writes the source of one `pull`: a call per formula with its arguments looked up in place."""

    def __init__(self, op, key, plan):
        self.op, self.key, self.plan = op, key, plan
        self.needs_shapes = False
        self.names = {}
        self.fused = []  # of an elementwise op: per tensor argument what calls its kernel

    def flat_positions(self):
        """Argument position of every flattened tensor argument."""
        op = self.op
        if op.list_position < 0:
            return list(op.tensor_positions)
        extra = len(self.key) - len(op.tensor_positions) + 1
        return [
            p for p in op.tensor_positions for _ in range(extra if op.kinds[p] == TENSORS else 1)
        ]

    def argument(self, name):
        """Source text for one formula parameter."""
        op = self.op
        if name == "grad" or name == "grads":
            return "grad"
        if name == "out" or (name.startswith("out") and name[3:].isdigit()):
            return f"saved[{self._output(int(name[3:] or 0))}]"
        if name in op.index:
            position = op.index[name]
            if position not in op.tensor_positions:
                return f"values[{position}]"
            if position == op.list_position:
                return f"saved[{self._list()}]"
            flat = op.tensor_positions.index(position)
            if flat >= len(self.key) or not self.key[flat]:
                return f"values[{position}]"
            return f"saved[{self._input(flat)}]"
        return self._derived(name)

    def _derived(self, name):
        op = self.op
        if name.endswith("_shape") and name[:-6] in op.index:
            position = op.index[name[:-6]]
            self.needs_shapes = True
            if position == op.list_position:
                first = op.tensor_positions.index(position)
                last = first + len(self.key) - len(op.tensor_positions) + 1
                return f"node.shapes[{first}:{last}]"
            return f"node.shapes[{op.tensor_positions.index(position)}]"
        raise TypeError(f"{op.name}: a gradient formula asks for unknown {name!r}")

    def _input(self, flat):
        if flat not in self.plan.inputs:
            self.plan.inputs.append(flat)
        return f"@{flat}"

    def _list(self):
        first = self.op.tensor_positions.index(self.op.list_position)
        last = first + len(self.key) - len(self.op.tensor_positions) + 1
        for flat in range(first, last):
            self._input(flat)
        return f"@{first}:@{last - 1}+1"

    def _output(self, number):
        if number not in self.plan.outputs:
            self.plan.outputs.append(number)
        return f"#{number}"

    def single_pull(self):
        op, parts, fused = self.op, [], [None] * len(self.key)
        for flat, position in enumerate(self.flat_positions()):
            name = op.names[position]
            if self.key[flat] != 2:
                parts.append("None")
                continue
            formula = op.formulas.get(name)
            if formula is None:
                parts.append(self._missing(name))
                fused = []
                continue
            parameters = _parameters(formula)
            arguments = [self.argument(p) for p in parameters]
            tensors = [a == "grad" or a.startswith("saved") for a in arguments]
            if op.kind == "elementwise":
                kernel = FusedFormula(op, name, formula, parameters, tensors)
                formula = kernel.short()
                if fused:
                    fused[flat] = f"f{flat}", kernel, arguments
            self.names[f"f{flat}"] = formula
            parts.append(f"f{flat}({', '.join(arguments)})")
        if op.kind == "elementwise":
            self.fused = fused
        return self._compile(f"({', '.join(parts)},)")

    def _missing(self, name):
        if self.op.options.get("differentiable", True) is False:
            return "None"
        self.names["undefined"] = _undefined
        return f"undefined({self.op.name!r}, {name!r})"

    def joint_pull(self):
        op = self.op
        names, function = op.joint
        flats = self.flat_positions()
        order = [op.index[n] for n in names]
        needs = []
        for position in order:
            marks = [self.key[i] == 2 for i, p in enumerate(flats) if p == position]
            needs.append(tuple(marks) if position == op.list_position else marks[0])
        self.names["joint"], self.names["needs"] = function, tuple(needs)
        self.names["scatter"] = _scatterer(flats, order, op.list_position)
        arguments = ["needs" if p == "needs" else self.argument(p) for p in _parameters(function)]
        return self._compile(f"scatter(joint({', '.join(arguments)}))")

    def _placed(self, text):
        """`text` with the positions of saved values in it."""
        inputs, outputs = self.plan.inputs, self.plan.outputs
        for i, flat in sorted(enumerate(inputs), key=lambda p: -p[1]):
            text = text.replace(f"@{flat}", str(i))
        for i, number in enumerate(outputs):
            text = text.replace(f"#{number}", str(len(inputs) + i))
        return text

    def _compile(self, text):
        texts, names = restorations(self.op, self.plan, self.argument)
        text = self._placed(text)
        texts = {flat: self._placed(source) for flat, source in texts.items()}
        prepare(self.op, self.plan, text, texts, names)
        lines = f"def pull(node, grad, saved, values):\n    return {text}"
        pull = function_of(lines, "pull", f"{self.op.name} gradients", self.names)
        fused = [f and (*f[:2], [*map(self._placed, f[2])]) for f in self.fused]
        self.quick = _quick_pull.written(self.op, self.plan, self.names, text, fused, _is_same)
        return pull


def _parameters(formula):
    code = formula.__code__
    return code.co_varnames[: code.co_argcount]


def _scatterer(flats, order, list_position):
    """Put a joint formula's results, one per name, where their edges are."""
    simple = order == flats and list_position not in flats
    if simple:
        return lambda results: results

    def scatter(results):
        by_position = dict(zip(order, results, strict=True))
        lists = {p: iter(v) for p, v in by_position.items() if p == list_position}
        return [(next(lists[p]) if p in lists else by_position.get(p)) for p in flats]

    return scatter


def _undefined(op, name):
    raise NotImplementedError(
        f"the derivative of '{op}' with respect to '{name}' is not implemented"
    )

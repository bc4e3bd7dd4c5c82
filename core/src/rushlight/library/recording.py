"""The autograd function of an operator: lists of tensors are spread out, the user's formula is
called with the arguments as the schema has them."""

from __future__ import annotations

import contextlib

from rushlight.autograd.function import Function
from rushlight.library.schema import REQUIRED
from rushlight.ops.shape.joining import stack as stack_tensors


def generated_function(operator):
    """A class whose ``call(values)`` runs and records `operator`."""
    schema = operator._schema
    name = operator.name().replace("::", "_").replace(".", "_")
    if not schema.overload:
        name += "_default"
    layout = Layout(schema)

    def forward(*flat):
        return layout.flat_result(operator.run(layout.values(flat, flat[-1])))

    def setup_context(ctx, inputs, output):
        ctx._lengths = inputs[-1]
        if operator.setup_context is None:
            return
        values = layout.values(inputs, inputs[-1])
        given = {"ctx": ctx, "inputs": tuple(values[: layout.positional])}
        given["output"] = layout.result(output)
        if layout.positional < len(values):
            names = [a.name for a in schema.arguments[layout.positional :]]
            given["keyword_only_inputs"] = dict(
                zip(names, values[layout.positional :], strict=True)
            )
        with _needs(ctx, layout):
            operator.setup_context(**given)

    def backward(ctx, *grads):
        if operator.backward is None:
            raise RuntimeError(
                f"Trying to backward through {operator} but no autograd formula was registered. "
                "Please use register_autograd to add one."
            )
        if schema.returns == ("Tensor[]",):
            grads = (list(grads),)
        with _needs(ctx, layout):
            found = operator.backward(ctx, *grads)
        found = _padded(operator, found, layout.positional)
        return layout.flat_gradients(operator, found, ctx._lengths)

    def vmap(info, in_dims, *flat):
        values, dims = layout.values(flat, flat[-1]), layout.values(in_dims, flat[-1])
        if operator.vmap is None:
            return _by_loop(operator, info, dims, values)
        arguments = values[: layout.positional]
        names = [a.name for a in schema.arguments[layout.positional :]]
        rest = dict(zip(names, values[layout.positional :], strict=True))
        found = operator.vmap(info, tuple(dims[: layout.positional]), *arguments, **rest)
        if not isinstance(found, tuple) or len(found) != 2:
            return found  # refused where a `vmap` of any function is called
        return layout.flat_result(found[0]), found[1]

    members = {"forward": forward, "setup_context": setup_context, "backward": backward,
               "vmap": vmap}  # fmt: skip
    made = type(
        f"GeneratedBackwardFor_{name}",
        (Function,),
        {k: staticmethod(v) for k, v in members.items()},
    )

    def call(values):
        return layout.result(made.apply(*layout.flat(values)))

    made.call = staticmethod(call)
    return made


def _padded(operator, found, expected):
    """The gradients of a formula, one for each of the `expected` arguments: trailing options need
    not be mentioned."""
    found = list(found) if isinstance(found, tuple) else [found]
    rest = operator._schema.arguments[len(found) : expected]
    if all(a.type != "Tensor" and a.default is not REQUIRED for a in rest):
        found += [None] * len(rest)
    if len(found) != expected:
        raise RuntimeError(
            f"{operator}: the autograd formula returned {len(found)} gradients; expected "
            f"{expected}, one for each positional argument"
        )
    return found


@contextlib.contextmanager
def _needs(ctx, layout):
    """Inside, `needs_input_grad` is laid out as the positional arguments are: a list for a list."""
    flat = ctx.needs_input_grad
    ctx.needs_input_grad = tuple(layout.values(flat, ctx._lengths)[: layout.positional])
    try:
        yield
    finally:
        ctx.needs_input_grad = flat


class Layout:
    """How the arguments of a schema are in a flat tuple: the lengths of its lists go last."""

    def __init__(self, schema):
        self.lists = [a.is_tensor_list for a in schema.arguments]
        self.positional = sum(not a.keyword_only for a in schema.arguments)
        self.returns = schema.returns

    def flat(self, values):
        """Lists of tensors spread out; their lengths behind all."""
        flat, lengths = [], []
        for value, many in zip(values, self.lists, strict=True):
            if many:
                items = () if value is None else value
                flat.extend(items)
                lengths.append(None if value is None else len(items))
            else:
                flat.append(value)
        return (*flat, tuple(lengths))

    def values(self, flat, lengths):
        """The arguments again, or what stands for them in a tuple laid out alike."""
        lengths, items = iter(lengths), iter(flat)
        values = []
        for many in self.lists:
            if not many:
                values.append(next(items))
                continue
            length = next(lengths)
            values.append(None if length is None else [next(items) for _ in range(length)])
        return values

    def flat_result(self, result):
        """Results as a tensor or a tuple of tensors."""
        return tuple(result) if isinstance(result, list) else result

    def result(self, result):
        """Results as the schema has them."""
        return list(result) if self.returns == ("Tensor[]",) else result

    def flat_gradients(self, operator, found, lengths):
        """One gradient for each position of the flat tuple."""
        flat, lengths = [], iter(lengths)
        for position, many in enumerate(self.lists):
            grad = found[position] if position < len(found) else None
            if not many:
                flat.append(grad)
                continue
            length = next(lengths) or 0
            if grad is None:
                flat.extend([None] * length)
                continue
            if not isinstance(grad, list | tuple) or len(grad) != length:
                raise RuntimeError(
                    f"{operator}: expected the gradient of the list at position {position} to be a "
                    f"list of {length} tensors or None"
                )
            flat.extend(grad)
        return (*flat, None)


def _by_loop(operator, info, dims, values):
    """One call for each example, the results stacked."""

    def pick(value, dim, index):
        if isinstance(value, list):
            return [pick(v, d, index) for v, d in zip(value, dim, strict=True)]
        return value if dim is None else value.select(dim, index).clone()

    results = [
        operator._split_call(operator, [pick(v, d, i) for v, d in zip(values, dims, strict=True)])
        for i in range(info.batch_size)
    ]
    if isinstance(results[0], tuple | list):
        stacked = tuple(stack_tensors([r[k] for r in results]) for k in range(len(results[0])))
        return stacked, (0,) * len(stacked)
    return stack_tensors(results), 0

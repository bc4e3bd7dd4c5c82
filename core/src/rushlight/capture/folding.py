"""Graph passes over layers: batch norm folded into convolutions, activations as epilogues of
convolutions and linear layers, weights packed once.

What they make are steps of :mod:`rushlight.capture.layers`.
"""

from __future__ import annotations

import inspect
import operator

from rushlight.capture.fusion import Chain, as_chain, elementwise_op, fits
from rushlight.capture.layers import (
    Activation,
    Convolution,
    FrozenLinear,
    FrozenRecurrence,
    Linear,
)
from rushlight.dtypes import float32
from rushlight.nn import functional as F
from rushlight.ops.neural.epilogues import MOST_NUMBERS, joins_linear
from rushlight.ops.neural.recurrence import _recurrence

_CONVOLUTIONS = {F.conv1d: 1, F.conv2d: 2, F.conv3d: 3}
_NORM, _LINEAR = inspect.signature(F.batch_norm), inspect.signature(F.linear)


def fused(graph, constants, freezing):
    """Rewrite a graph without writes; the steps that have to be refreshed when weights are written
    to. Only with `freezing` is anything computed from weights and kept."""
    found = []
    for node in list(graph.nodes):
        if node.op != "call_function":
            continue
        step = None
        if node.target is F.linear:
            step = _linear_at(graph, node, constants, freezing)
        elif node.target in _CONVOLUTIONS and not node.kwargs:
            if all(map(_is_constant, node.args[1:3])):
                step = _convolution_at(graph, node, constants, freezing)
        elif node.target is _recurrence and freezing:
            step = _recurrence_at(graph, node, constants)
        if step is not None and freezing:
            found.append(step)
    return found


def weights_of(steps):
    """The tensors that steps compute what they keep from, each once."""
    found = {id(t): t for step in steps for t in step.sources() if t is not None}
    return list(found.values())


def _is_constant(value):
    return value is None or getattr(value, "op", None) == "get_attr"


def _only_user(node):
    return next(iter(node.users)) if len(node.users) == 1 else None


def _tensor(node, constants):
    return None if node is None else constants[node.target]


def _convolution_at(graph, node, constants, freezing):
    """The step that a convolution and what stands behind it become, or None."""
    count, end = _CONVOLUTIONS[node.target], node
    norm = _norm_behind(node, constants) if freezing else None
    if norm is not None:
        end = _only_user(node)
    activation = _activation_behind(graph, end)
    if norm is None and activation is None and not freezing:
        return None
    parameters = [_tensor(a, constants) for a in (*node.args[1:3], None)[:2]]
    settings = tuple(node.args[3:])
    if len(settings) != 4 or type(settings[1]) is not tuple:
        return None
    step = Convolution(count, parameters, settings, norm, activation, freezing)
    end = end if activation is None else _only_user(end)
    _replace(graph, node, end, step, node.args[:1])
    return step


def _replace(graph, first, end, step, args):
    """Replace a node and those behind it, each the only user of the one before, up to
    `end`, by one step."""
    with graph.inserting_before(end):
        made = graph.create_node("call_function", step, args, {})
    made.meta = dict(end.meta)
    end.replace_all_uses_with(made)
    while end is not first:
        before = end.args[0]
        graph.erase_node(end)
        end = before
    graph.erase_node(first)


def _norm_behind(node, constants):
    """``(mean, var, weight, bias, eps)`` of a batch norm in eval mode that alone reads a value."""
    user = _only_user(node)
    if user is None or user.target is not F.batch_norm or user.args[:1] != (node,):
        return None
    given = _NORM.bind(*user.args, **user.kwargs)
    given.apply_defaults()
    values = given.arguments
    names = ("running_mean", "running_var", "weight", "bias")
    parts = [values[name] for name in names]
    if values["training"] or parts[0] is None or not all(map(_is_constant, parts)):
        return None
    return (*[_tensor(p, constants) for p in parts], values["eps"])


def _linear_at(graph, node, constants, freezing):
    """The step that a linear layer and the activation behind it become, or None."""
    given = _LINEAR.bind(*node.args, **node.kwargs)
    given.apply_defaults()
    value, (input, *parameters) = node.meta["val"], given.args
    if value._dtype is not float32 or not value.ndim:
        return None
    if not joins_linear(input.meta["val"].numel(), value.shape[-1]):
        return None
    activation = _activation_behind(graph, node)
    end = node if activation is None else _only_user(node)
    if freezing and all(map(_is_constant, parameters)):
        step = FrozenLinear(*[_tensor(p, constants) for p in parameters], activation)
        _replace(graph, node, end, step, (input,))
        return step
    if activation is not None:
        _replace(graph, node, end, Linear(activation), given.args)
    return None


def _recurrence_at(graph, node, constants):
    """The step that a recurrent layer of float32 becomes whose states alone are read, or None."""
    gates, hidden, cell, *parameters = node.args[:5]
    if node.kwargs or not all(map(_is_constant, parameters)):
        return None
    if not all(_index_of(user) in (0, 1) for user in node.users):
        return None
    step = FrozenRecurrence(*[_tensor(p, constants) for p in parameters], *node.args[5:])
    _replace(graph, node, node, step, (gates, hidden, cell))
    return step


def _index_of(user):
    """The number of the result that a step takes, or None."""
    return user.args[1] if user.target is operator.getitem else None


def _activation_behind(graph, node):
    """The elementwise call of one tensor that alone reads a value, as an :class:`Activation`."""
    user = _only_user(node)
    if user is None:
        return None
    op = elementwise_op(user)
    given = (*user.args[1:], *user.kwargs.values())
    if op is not None and len(op.tensor_positions) == 1 and len(given) <= MOST_NUMBERS:
        if user.args[:1] == (node,) and all(type(a) in (int, float, str) for a in given):
            return Activation(user.target, tuple(user.args[1:]), dict(user.kwargs))
    if op is not None and fits(user) and user.all_input_nodes == [node]:
        user = as_chain(graph, user)
    if type(user.target) is Chain and user.args == (node,):
        return Activation(user.target.op.function)
    return None

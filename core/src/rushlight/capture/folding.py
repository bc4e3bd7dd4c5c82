"""Graph passes over weights: batch norm folded into convolutions, activations as epilogues.

A folded step holds weights that were computed from those of the program; :meth:`Folded.refresh`
computes them anew when the guards say that some were written to.
"""

from __future__ import annotations

import inspect

from rushlight.autograd.mode import no_grad
from rushlight.nn import functional as F
from rushlight.ops._table.op import TABLE
from rushlight.ops.neural.epilogues import convolution_then, epilogue_of
from rushlight.ops.neural.folded_weights import folded_weights

_CONVOLUTIONS = {F.conv1d: 1, F.conv2d: 2, F.conv3d: 3}
_NORM = inspect.signature(F.batch_norm)


def fused(graph, constants, freezing):
    """Rewrite a graph without writes; the steps whose weights have to be refreshed. Only with
    `freezing` are weights computed from others: writes through ``.data`` cannot be noticed."""
    found = []
    for node in list(graph.nodes):
        if node.op != "call_function" or node.target not in _CONVOLUTIONS:
            continue
        if not all(_is_constant(a) for a in node.args[1:3]) or node.kwargs:
            continue
        step = _fused_at(graph, node, constants, freezing)
        if step is not None and step.norm is not None:
            found.append(step)
    return found


def _is_constant(value):
    return value is None or getattr(value, "op", None) == "get_attr"


def _only_user(node):
    return next(iter(node.users)) if len(node.users) == 1 else None


def _fused_at(graph, node, constants, freezing):
    """The step that a convolution and what stands behind it become, or None."""
    count, end = _CONVOLUTIONS[node.target], node
    norm = _norm_behind(node, constants) if freezing else None
    if norm is not None:
        end = _only_user(node)
    activation = _activation_behind(end)
    if norm is None and activation is None:
        return None
    weight, bias = (_tensor(a, constants) for a in (*node.args[1:], None)[:2])
    settings = tuple(node.args[3:])
    if len(settings) != 4 or type(settings[1]) is not tuple:
        return None
    step = Folded(count, weight, bias, settings, norm, activation)
    end = _only_user(end) if activation is not None else end
    with graph.inserting_before(end):
        made = graph.create_node("call_function", step, (node.args[0],), {})
    end.replace_all_uses_with(made)
    while end is not node:
        before = end.args[0]
        graph.erase_node(end)
        end = before
    graph.erase_node(node)
    return step


def _tensor(node, constants):
    return None if node is None else constants[node.target]


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


def _activation_behind(node):
    """``(function, attributes, keywords)`` of an elementwise op that alone reads a value."""
    user = _only_user(node)
    op = getattr(getattr(user, "target", None), "op", None)
    if op is None or op.kind != "elementwise" or TABLE.get(op.name) is not op:
        return None
    if user.args[:1] != (node,) or getattr(user.target, "variant", None) is not None:
        return None
    given = (*user.args[1:], *user.kwargs.values())
    if len(op.tensor_positions) != 1 or any(type(a) not in (int, float, str) for a in given):
        return None
    return user.target, tuple(user.args[1:]), dict(user.kwargs)


class Folded:
    """A convolution with the batch norm and the activation behind it, in one step."""

    def __init__(self, count, weight, bias, settings, norm, activation):
        self.__name__ = "convolution"
        self.count, self.settings, self.norm, self.activation = count, settings, norm, activation
        self.source = weight, bias
        self.epilogue = None
        if activation is not None:
            function, attributes, keywords = activation
            self.epilogue = epilogue_of(function, *attributes, **keywords)
        self.function = {1: F.conv1d, 2: F.conv2d, 3: F.conv3d}[count]
        self.refresh()

    def refresh(self):
        """Take the weights as they are now."""
        self.weight, self.bias = self.source
        self.norm_left = None
        if self.norm is not None:
            mean, var, gamma, beta, eps = self.norm
            with no_grad():
                found = folded_weights(
                    self.weight, self.weight, self.bias, mean, var, gamma, beta, eps
                )
            if found is None:
                self.norm_left = self.norm
            else:
                self.weight, self.bias = found

    def __call__(self, input):
        """The step, where the kernels cannot do it at once one by one."""
        if self.norm_left is None and self.epilogue is not None:
            found = convolution_then(
                self.count, input, self.weight, self.bias, self.settings, self.epilogue
            )
            if found is not None:
                return found
        out = self.function(input, self.weight, self.bias, *self.settings)
        if self.norm_left is not None:
            mean, var, gamma, beta, eps = self.norm_left
            out = F.batch_norm(out, mean, var, gamma, beta, False, 0.1, eps)
        if self.activation is None:
            return out
        function, attributes, keywords = self.activation
        return function(out, *attributes, **keywords)

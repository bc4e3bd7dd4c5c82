"""Steps of graphs that do what several calls did: a layer, the batch norm and the activation behind
it.

With `frozen` weights (``compile(options={"freezing": True})``) steps hold what they compute from
them, folded and packed; `refresh` computes it anew when guards say that some were written to.
"""

from __future__ import annotations

from rushlight.autograd.mode import no_grad
from rushlight.nn import functional as F
from rushlight.ops.neural.epilogues import convolution_then, epilogue_of, linear_then
from rushlight.ops.neural.folded_weights import folded_weights
from rushlight.ops.neural.packed_weights import (
    packed_convolution,
    packed_linear,
    packed_recurrence,
)
from rushlight.ops.neural.recurrence import _recurrence

_FUNCTIONS = {1: F.conv1d, 2: F.conv2d, 3: F.conv3d}


class Activation:
    """An elementwise call of one tensor, and the epilogue of kernels that it can be."""

    def __init__(self, function, attributes=(), keywords=None):
        self.function, self.attributes, self.keywords = function, attributes, keywords or {}
        self.epilogue = epilogue_of(function, *self.attributes, **self.keywords)

    def __call__(self, input):
        """The call."""
        return self.function(input, *self.attributes, **self.keywords)


class Linear:
    """A linear layer with the activation behind it, in one step."""

    def __init__(self, activation):
        self.__name__ = "linear_step"
        self.activation, self.epilogue = activation, activation.epilogue

    def __call__(self, input, weight, bias=None):
        """The step, as two where the kernels cannot do it at once."""
        found = linear_then(input, weight, bias, self.epilogue)
        return self.activation(F.linear(input, weight, bias)) if found is None else found


class _Frozen:
    """A step whose weights were packed at its first call, until they are written to."""

    activation = epilogue = weight = bias = None
    packed = None  # False: there is nothing to pack

    def sources(self):
        """The tensors, or None, that what is kept is computed from."""
        return self.weight, self.bias

    def pack(self, input):
        """What runs the layer on inputs like this one with its weight packed, or None."""
        raise NotImplementedError

    def _by_packed(self, input):
        """The step by the packed weight, or None."""
        if self.packed is None:
            self.packed = self.pack(input) or False
        if self.packed is False:
            return None
        found = self.packed(input, self.epilogue)
        if found is None or self.activation is None or self.epilogue is not None:
            return found
        return self.activation(found)


class FrozenLinear(_Frozen):
    """A linear layer with a frozen weight and the activation behind it, if there is one."""

    def __init__(self, weight, bias, activation):
        self.__name__ = "linear_step"
        self.weight, self.bias, self.activation = weight, bias, activation
        self.epilogue = None if activation is None else activation.epilogue

    def refresh(self):
        """Take the weight as it is now, at the next call."""
        self.packed = None

    def pack(self, input):
        """The layer with its weight packed."""
        return packed_linear(input, self.weight, self.bias)

    def __call__(self, input):
        """The step."""
        found = self._by_packed(input)
        if found is not None:
            return found
        if self.activation is None:
            return F.linear(input, self.weight, self.bias)
        found = linear_then(input, self.weight, self.bias, self.epilogue)
        if found is None:
            found = self.activation(F.linear(input, self.weight, self.bias))
        return found


class FrozenRecurrence(_Frozen):
    """A recurrent layer with frozen weights over a whole sequence; it gives its states and the last
    cell alone, nothing for a backward pass."""

    def __init__(self, weight, bias, kind, backwards):
        self.__name__ = "recurrence_step"
        self.weight, self.bias, self.settings = weight, bias, (kind, backwards)

    def refresh(self):
        """Take the weight as it is now, at the next call."""
        self.packed = None

    def __call__(self, gates, hidden, cell):
        """The step."""
        if self.packed is None:
            found = packed_recurrence(gates, hidden, cell, self.weight, self.bias, self.settings)
            self.packed = found or False
        if self.packed is not False:
            found = self.packed(gates, hidden, cell)
            if found is not None:
                return found
        return _recurrence(gates, hidden, cell, self.weight, self.bias, *self.settings)[:2]


class Convolution(_Frozen):
    """A convolution with the batch norm (of `frozen` weights) and the activation behind it."""

    def __init__(self, count, parameters, settings, norm, activation, frozen=False):
        self.__name__ = "convolution"
        self.count, self.settings, self.norm, self.activation = count, settings, norm, activation
        self.source, self.frozen = parameters, frozen
        self.epilogue = None if activation is None else activation.epilogue
        self.refresh()

    def refresh(self):
        """Take the weights as they are now."""
        self.weight, self.bias = self.source
        self.norm_left, self.packed = self.norm, None if self.frozen else False
        if self.norm is None:
            return
        mean, var, gamma, beta, eps = self.norm
        with no_grad():
            found = folded_weights(self.weight, *self.source, mean, var, gamma, beta, eps)
        if found is None:
            self.packed = False
        else:
            self.norm_left = None
            self.weight, self.bias = found

    def sources(self):
        """Weight and bias of the convolution, and what the batch norm has."""
        return *self.source, *(self.norm or ())[:4]

    def pack(self, input):
        """The convolution with its weight packed."""
        if self.count != 2:
            return None
        F.conv2d(input, self.weight, self.bias, *self.settings)  # shapes in order are remembered
        return packed_convolution(input, self.weight, self.bias, self.settings)

    def __call__(self, input):
        """The step, where the kernels cannot do it at once one by one."""
        found = self._by_packed(input)
        if found is not None:
            return found
        if self.norm_left is None and self.epilogue is not None:
            found = convolution_then(
                self.count, input, self.weight, self.bias, self.settings, self.epilogue
            )
            if found is not None:
                return found
        out = _FUNCTIONS[self.count](input, self.weight, self.bias, *self.settings)
        if self.norm_left is not None:
            mean, var, gamma, beta, eps = self.norm_left
            out = F.batch_norm(out, mean, var, gamma, beta, False, 0.1, eps)
        return out if self.activation is None else self.activation(out)

"""What the layers of Rushlight return, where it is not one tensor."""

from __future__ import annotations

from rushlight.jit import kinds
from rushlight.jit.kinds import NONE, TENSOR, UNKNOWN, ClassType, Type

_PAIR = Type("Tuple", TENSOR, TENSOR)
_RETURNED = {
    "LSTM": Type("Tuple", TENSOR, _PAIR),
    "GRU": _PAIR,
    "RNN": _PAIR,
    "LSTMCell": _PAIR,
    "MultiheadAttention": Type("Tuple", TENSOR, kinds.optional(TENSOR)),
    "AdaptiveLogSoftmaxWithLoss": UNKNOWN,
}
_NOTHING = ("ModuleList", "ModuleDict", "ParameterList", "ParameterDict")


def returned(kind, name):
    """The type of what a method of a layer returns."""
    scope = kind.scope[0]
    layer = next((c.__name__ for c in scope.python.__mro__ if c.__name__ in _RETURNED), None)
    if name != "forward":
        return UNKNOWN
    if layer is not None:
        return _RETURNED[layer]
    if getattr(scope.sample, "return_indices", False):
        return _PAIR
    if scope.python.__name__ in _NOTHING:
        return NONE
    if scope.python.__name__ == "Sequential" and scope.children:
        last = kind.attributes[scope.children[-1]]
        if isinstance(last, ClassType):
            found = last.scope[0].method(last, "forward")
            return UNKNOWN if found is None else found.returns
    return TENSOR

"""Types of tensors by their sizes, for annotations of programs that are traced."""

from __future__ import annotations


class TensorType:
    """The type of tensors with these sizes; a size that is not known is :data:`Dyn`.

    >>> from rushlight.fx.tensor_type import Dyn, TensorType, is_consistent
    >>> TensorType((1, Dyn))
    TensorType[(1, Dyn)]
    >>> is_consistent(TensorType((1, Dyn)), TensorType((1, 3)))
    True
    """

    # Two that are equal are not the same annotation.
    __hash__ = None  # type: ignore[assignment]

    def __init__(self, dim):
        self.__origin__, self.__args__ = TensorType, dim

    def __repr__(self) -> str:
        return f"TensorType[{self.__args__}]"

    def __eq__(self, other) -> bool:
        return isinstance(other, TensorType) and list(self.__args__) == list(other.__args__)

    @staticmethod
    def __class_getitem__(sizes):
        """``TensorType[1, 2]``."""
        return TensorType(sizes if isinstance(sizes, tuple) else (sizes,))


class _DynType:
    """A size or a type of which nothing is known."""

    __hash__ = None  # type: ignore[assignment]

    def __init__(self):
        self.__name__ = "_DynType"

    def __eq__(self, other) -> bool:
        return isinstance(other, _DynType)

    def __repr__(self) -> str:
        return "Dyn"


Dyn = _DynType()


def is_consistent(t1, t2) -> bool:
    """Whether two types, or sizes, may be one: they are equal, or what differs is not known."""
    if t1 == t2 or isinstance(t1, _DynType) or isinstance(t2, _DynType):
        return True
    return _sizes_are(is_consistent, t1, t2)


def is_more_precise(t1, t2) -> bool:
    """Whether the first type, or size, is the second or says more."""
    if t1 == t2 or isinstance(t2, _DynType):
        return True
    return _sizes_are(is_more_precise, t1, t2)


def _sizes_are(relation, t1, t2):
    if not (isinstance(t1, TensorType) and isinstance(t2, TensorType)):
        return False
    pairs = zip(t1.__args__, t2.__args__, strict=False)
    return len(t1.__args__) == len(t2.__args__) and all(relation(a, b) for a, b in pairs)


__all__ = ["Dyn", "TensorType", "is_consistent", "is_more_precise"]

"""The types of TorchScript as objects, which programs name in annotations and compare."""

from __future__ import annotations


class _Type:
    """A type of TorchScript; two of one kind over the same parts are equal."""

    _name = ""

    def __init__(self):
        raise TypeError(f"{type(self).__name__} has one object: {type(self).__name__}.get()")

    @property
    def annotation_str(self) -> str:
        """The type as it is written in a program."""
        return str(self)

    def kind(self) -> str:
        """The name of the class."""
        return type(self).__name__

    def _parts(self) -> tuple:
        return ()

    def __eq__(self, other):
        return type(self) is type(other) and self._parts() == other._parts()

    def __hash__(self):
        return hash((type(self), self._parts()))

    def __repr__(self):
        parts = ", ".join(map(repr, self._parts()))
        return f"{self._name}[{parts}]" if parts else self._name


class _Single(_Type):
    """A type without parts."""

    @classmethod
    def get(cls):
        """The one object."""
        if "_object" not in cls.__dict__:
            cls._object = object.__new__(cls)
        return cls._object


def _single(kind: str, name: str):
    """The class of a type without parts."""
    text = f"TorchScript's type ``{name}``; ``{kind}.get()`` is its one object."
    return type(kind, (_Single,), {"_name": name, "__doc__": text, "__module__": __name__})


AnyType = _single("AnyType", "Any")
BoolType = _single("BoolType", "bool")
ComplexType = _single("ComplexType", "complex")
DeviceObjType = _single("DeviceObjType", "Device")
FloatType = _single("FloatType", "float")
IntType = _single("IntType", "int")
NoneType = _single("NoneType", "NoneType")
NumberType = _single("NumberType", "number")
PyObjectType = _single("PyObjectType", "PyObject")
StreamObjType = _single("StreamObjType", "Stream")
StringType = _single("StringType", "str")
SymBoolType = _single("SymBoolType", "bool")
SymIntType = _single("SymIntType", "int")
TensorType = _single("TensorType", "Tensor")


class _OfOne(_Type):
    """A type with one part."""

    def __init__(self, a):
        self._element = a

    def getElementType(self):  # noqa: N802 - PyTorch's name
        """The type of what it holds."""
        return self._element

    def _parts(self):
        return (self._element,)


class ListType(_OfOne):
    """The type of lists of a type, ``ListType(IntType.get())``."""

    _name = "List"


class OptionalType(_OfOne):
    """A type or None, ``OptionalType(IntType.get())``."""

    _name = "Optional"


class TupleType(_Type):
    """The type of tuples of several types, ``TupleType([IntType.get(), StringType.get()])``."""

    _name = "Tuple"

    def __init__(self, a):
        self._elements = tuple(a)

    def elements(self) -> list:
        """The types of its items."""
        return list(self._elements)

    def _parts(self):
        return self._elements


class DictType(_Type):
    """The type of dicts from a type to another, ``DictType(StringType.get(), IntType.get())``."""

    _name = "Dict"

    def __init__(self, key, value):
        self._key, self._value = key, value

    def getKeyType(self):  # noqa: N802 - PyTorch's name
        """The type of the keys."""
        return self._key

    def getValueType(self):  # noqa: N802 - PyTorch's name
        """The type of the values."""
        return self._value

    def _parts(self):
        return (self._key, self._value)

"""TVTensor: tensors that say what they hold, and when results of operations keep that."""

from __future__ import annotations

from typing import Any

import rushlight as rl

_RETURN = {"type": "Tensor"}


class set_return_type:
    """Choose whether operations on TVTensors give plain tensors or TVTensors.

    As a function it holds from now on, as a context manager inside of the block.

    Parameters
    ----------
    return_type : "Tensor" (the default) or "TVTensor"

    Raises
    ------
    ValueError
        For any other `return_type`.

    Example
    -------
    >>> image = Image(rl.zeros(3, 4, 4))
    >>> with set_return_type("TVTensor"):
    ...     type(image + 1).__name__
    'Image'
    """

    def __init__(self, return_type: str) -> None:
        found = {"tensor": "Tensor", "tvtensor": "TVTensor"}.get(return_type.lower())
        if found is None:
            raise ValueError(f"return_type must be 'TVTensor' or 'Tensor', got {return_type}")
        self.previous, _RETURN["type"] = _RETURN["type"], found

    def __enter__(self) -> None:
        return None

    def __exit__(self, *exc: object) -> None:
        _RETURN["type"] = self.previous


def plain(tensor: rl.Tensor) -> rl.Tensor:
    """The same memory as an ordinary tensor without metadata; an ordinary tensor itself."""
    if not isinstance(tensor, TVTensor):
        return tensor
    result = tensor.as_subclass(rl.Tensor)
    result.__dict__.clear()
    return result


def _each(value: Any, change: Any) -> Any:
    """`value`, each tensor in it changed; tuples and lists of tensors keep their type."""
    if isinstance(value, rl.Tensor):
        return change(value)
    if isinstance(value, (tuple, list)):
        items = [_each(item, change) for item in value]
        return type(value)(*items) if hasattr(value, "_fields") else type(value)(items)
    return value


class TVTensor(rl.Tensor):
    """The base of all tensors of this module.

    `clone`, `to`, `detach` and `requires_grad_` keep class and metadata; other operations give a
    plain tensor unless :func:`set_return_type` says otherwise.
    """

    # What says how a tensor is, and gives none, asks no class: transforms read it often.
    shape, ndim, dtype, device = rl.Tensor.shape, rl.Tensor.ndim, rl.Tensor.dtype, rl.Tensor.device
    size, dim, numel, stride = rl.Tensor.size, rl.Tensor.dim, rl.Tensor.numel, rl.Tensor.stride
    requires_grad, is_cuda = rl.Tensor.requires_grad, rl.Tensor.is_cuda
    is_floating_point, is_contiguous = rl.Tensor.is_floating_point, rl.Tensor.is_contiguous

    @staticmethod
    def _tensor(data: Any, dtype: Any, device: Any, requires_grad: bool | None) -> rl.Tensor:
        """`data` as a tensor; memory is shared where no conversion is asked for."""
        if requires_grad is None:
            requires_grad = data.requires_grad if isinstance(data, rl.Tensor) else False
        tensor = rl.as_tensor(data, dtype=dtype, device=device)
        if isinstance(tensor, TVTensor):
            tensor = plain(tensor)
        if tensor.requires_grad == requires_grad:
            return tensor
        return tensor.detach().requires_grad_(requires_grad)

    @classmethod
    def _wrap_like(cls, tensor: rl.Tensor, like: Any, **changes: Any) -> Any:
        """`tensor` as an instance of this class, with the metadata of `like` save for `changes`."""
        return tensor.as_subclass(cls)

    @classmethod
    def __torch_function__(
        cls, function: Any, types: Any, args: Any = (), kwargs: Any = None
    ) -> Any:
        """Run `function` on plain tensors; its result is plain, or of this class if so chosen."""
        if not all(issubclass(cls, each) for each in types):
            return NotImplemented
        result = super().__torch_function__(function, types, args, kwargs)
        if _RETURN["type"] == "Tensor":
            return _each(result, plain)
        like = next((each for each in args if isinstance(each, cls)), None)
        if like is None:
            return result
        return _each(result, lambda each: cls._wrap_like(plain(each), like))

    def _kept(self, result: rl.Tensor) -> Any:
        return type(self)._wrap_like(plain(result), self)

    def clone(self, **options: Any) -> Any:
        """A copy of the same class with the same metadata."""
        return self._kept(plain(self).clone(**options))

    def to(self, *args: Any, **options: Any) -> Any:
        """The values in another dtype or on another device, of the same class."""
        return self._kept(plain(self).to(*args, **options))

    def detach(self) -> Any:
        """The same memory without its history, of the same class."""
        return self._kept(plain(self).detach())

    def requires_grad_(self, requires_grad: bool = True) -> Any:
        """Record operations on this tensor, or stop; returns the tensor itself."""
        super().requires_grad_(requires_grad)
        return self

    @property
    def data(self) -> rl.Tensor:
        """The same memory without its history, as a plain tensor; what is written to it becomes
        the values."""
        return plain(self).detach()

    @data.setter
    def data(self, values: rl.Tensor) -> None:
        vars(rl.Tensor)["data"].__set__(self, plain(values))

    def __deepcopy__(self, memo: dict[int, Any]) -> Any:
        copied = plain(self).detach().clone().requires_grad_(self.requires_grad)
        return self._kept(copied)

    def __reduce_ex__(self, protocol: Any) -> Any:
        return _rebuilt, (type(self), plain(self), dict(self.__dict__))

    def _described(self, **fields: Any) -> str:
        name = type(self).__name__
        body = repr(plain(self))
        body = body[body.index("(") + 1 : body.rindex(")")]
        body = body.replace("\n       ", "\n" + " " * (len(name) + 1))
        shown = ", ".join(f"{key}={value}" for key, value in fields.items())
        return f"{name}({body}, {shown})"

    def __repr__(self, **_: Any) -> str:
        return self._described()


def _rebuilt(cls: Any, tensor: rl.Tensor, metadata: dict[str, Any]) -> Any:
    result = tensor.as_subclass(cls)
    result.__dict__.update(metadata)
    return result


def wrap(wrappee: rl.Tensor, *, like: rl.Tensor, **changes: Any) -> rl.Tensor:
    """`wrappee` as the class of `like`, with its metadata; a plain `like` changes nothing.

    `changes` are metadata that differ: `format`, `canvas_size` and `clamping_mode` of
    :class:`BoundingBoxes`, `canvas_size` of :class:`KeyPoints`.

    Example
    -------
    >>> wrap(rl.zeros(3, 2, 2), like=Image(rl.zeros(3, 4, 4))).shape
    rushlight.Size([3, 2, 2])
    """
    return (
        type(like)._wrap_like(wrappee, like, **changes) if isinstance(like, TVTensor) else wrappee
    )


# Conversions that core makes of `to`, which keeps the class where these do not.
CONVERSIONS = (
    "bfloat16", "bool", "byte", "char", "cpu", "cuda", "double", "float", "half", "int", "long",
    "short",
)  # fmt: skip


def _conversion(name: str) -> Any:
    def convert(self: TVTensor, *args: Any, **options: Any) -> Any:
        result = getattr(plain(self), name)(*args, **options)
        return self._kept(result) if _RETURN["type"] == "TVTensor" else result

    convert.__name__ = name
    convert.__doc__ = f"`Tensor.{name}`, of the class that `set_return_type` says."
    return convert


for _name in CONVERSIONS:
    setattr(TVTensor, _name, _conversion(_name))

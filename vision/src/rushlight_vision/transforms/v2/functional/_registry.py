"""Which kernel a functional runs for which type of input."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import Any

import PIL.Image

import rushlight as rl
from rushlight_vision import tv_tensors
from rushlight_vision.tv_tensors._base import TVTensor, plain

Kernel = Callable[..., Any]
KERNELS: dict[Any, dict[type, Kernel]] = {}
METADATA = ("format", "canvas_size", "clamping_mode")
INPUT = rl.Tensor | PIL.Image.Image
BUILT_IN = (
    tv_tensors.Image,
    tv_tensors.Video,
    tv_tensors.Mask,
    tv_tensors.BoundingBoxes,
    tv_tensors.KeyPoints,
)


def is_pure_tensor(inpt: object) -> bool:
    """Whether this is a tensor and no TVTensor."""
    return isinstance(inpt, rl.Tensor) and not isinstance(inpt, TVTensor)


def register_kernel(
    functional: str | Callable[..., Any], tv_tensor_cls: type[TVTensor]
) -> Callable[[Kernel], Kernel]:
    """A decorator that makes a function the kernel of `functional` for a class of TVTensors.

    The kernel gets the input and all further arguments of the functional. `functional` may be
    given by its name.

    Raises
    ------
    ValueError
        For what is no functional of this module, for a class that is no TVTensor, and for a class
        of the package, whose kernels stand.
    """
    if isinstance(functional, str):
        found = [each for each in KERNELS if each.__name__ == functional]
        if not found:
            raise ValueError(f"register_kernel: there is no functional named {functional!r}")
        functional = found[0]
    elif functional not in KERNELS:
        raise ValueError(f"register_kernel: {functional!r} is no functional of transforms.v2")
    if not (isinstance(tv_tensor_cls, type) and issubclass(tv_tensor_cls, TVTensor)):
        raise ValueError(f"register_kernel: {tv_tensor_cls!r} is no subclass of TVTensor")
    if tv_tensor_cls in BUILT_IN:
        raise ValueError(f"register_kernel: the kernels of {tv_tensor_cls.__name__} are fixed")
    return lambda kernel: KERNELS[functional].setdefault(tv_tensor_cls, kernel)


def kernel_of(functional: Any, kind: type, passthrough: bool = False) -> Kernel:
    """The kernel for inputs of type `kind`; with `passthrough` one that changes nothing if there
    is none, else TypeError."""
    kernels = KERNELS[functional]
    if kind in kernels:
        return kernels[kind]
    for base in kind.__mro__:
        if base is TVTensor:
            break
        if base in kernels:
            return kernels[base]
    if passthrough:
        return lambda inpt, *args, **options: inpt
    names = ", ".join(each.__name__ for each in kernels)
    raise TypeError(
        f"{functional.__name__}: inputs are one of {names}; got {kind.__module__}.{kind.__name__}"
    )


def _described(call: Kernel, model: Kernel, name: str, kind: Any) -> Kernel:
    """`call` with the signature and annotations of `model`; the first parameter is called `name`
    and of type `kind`, and so is the result where both are of one type."""
    told = inspect.signature(model)
    parameters = list(told.parameters.values())
    result = told.return_annotation
    if result == parameters[0].annotation:
        result = kind
    parameters[0] = parameters[0].replace(name=name, annotation=kind)
    signature = inspect.Signature(parameters, return_annotation=result)
    call.__dict__.update(__signature__=signature, __wrapped__=model)
    return call


def first_named(function: Kernel, name: str, public: str, doc: str) -> Kernel:
    """`function`, as one of tensors, under a public name, its first parameter called `name`."""

    def call(*args: Any, **options: Any) -> Any:
        if not args and name in options:
            args = (options.pop(name),)
        return function(*args, **options)

    call.__name__ = call.__qualname__ = public
    call.__doc__ = doc
    call.__module__ = "rushlight_vision.transforms.v2.functional"
    return _described(call, function, name, rl.Tensor)


def dispatcher(name: str, model: Kernel, doc: str, first: str = "inpt") -> Kernel:
    """A functional with the parameters of `model`, the first one called `first`, that asks the
    registry for a kernel."""

    def functional(inpt: Any, *args: Any, **options: Any) -> Any:
        return kernel_of(call, type(inpt))(inpt, *args, **options)

    call = _described(first_named(functional, first, name, doc), model, first, INPUT)
    KERNELS[call] = {}
    return call


def _rewrapped(result: Any, like: Any) -> Any:
    if isinstance(result, rl.Tensor):
        return tv_tensors.wrap(result, like=like)
    return tuple(tv_tensors.wrap(each, like=like) for each in result)


def on_pixels(kernel: Kernel) -> Kernel:
    """A kernel of plain tensors for images, videos and masks, which it gives back."""
    return lambda inpt, *args, **options: _rewrapped(kernel(plain(inpt), *args, **options), inpt)


def by_name(functional: Kernel, kernel: Kernel, rewrap: bool = True) -> Kernel:
    """A kernel that gets from the functional's arguments, and from the metadata of its input, what
    it names; a result with a size is wrapped with that size."""
    signature = inspect.signature(functional)
    wanted = list(inspect.signature(kernel).parameters)[1:]

    def call(inpt: Any, *args: Any, **options: Any) -> Any:
        given = signature.bind(inpt, *args, **options).arguments
        chosen = {name: given[name] for name in wanted if name in given}
        for name in METADATA:
            if name in wanted and hasattr(inpt, name):
                chosen[name] = getattr(inpt, name)
        result = kernel(plain(inpt) if isinstance(inpt, TVTensor) else inpt, **chosen)
        if not rewrap or not isinstance(inpt, TVTensor):
            return result
        if isinstance(result, tuple):
            return tv_tensors.wrap(result[0], like=inpt, canvas_size=result[1])
        return tv_tensors.wrap(result, like=inpt)

    return call


PICTURE = PIL.Image.Image


def pixel_family(
    name: str, function: Kernel, doc: str, video: bool = True, first: str = "inpt"
) -> tuple[Kernel, ...]:
    """The functional `name` and its kernels `name_image` and, with `video`, `name_video`, all made
    of one function of PIL images and tensors. `first`: the functional's first parameter."""
    functional = dispatcher(name, function, doc, first)
    image = first_named(function, "image", f"{name}_image", f"`{name}` of image tensors.")
    kernels = KERNELS[functional]
    kernels[PICTURE] = kernels[rl.Tensor] = function
    kernels[tv_tensors.Image] = on_pixels(function)
    if not video:
        return functional, image
    kernels[tv_tensors.Video] = on_pixels(function)
    frames = first_named(function, "video", f"{name}_video", f"`{name}` of video tensors.")
    return functional, image, frames


def space_family(
    name: str, function: Kernel, mask: Kernel, boxes: Kernel, points: Kernel, doc: str
) -> tuple[Kernel, ...]:
    """`pixel_family` with kernels of masks, bounding boxes and key points, which take the
    functional's arguments by name."""
    functional, image, video = pixel_family(name, function, doc)
    kernels = KERNELS[functional]
    kernels[tv_tensors.Mask] = by_name(functional, mask)
    kernels[tv_tensors.BoundingBoxes] = by_name(functional, boxes)
    kernels[tv_tensors.KeyPoints] = by_name(functional, points)
    return functional, image, video

"""Questions about tensors and settings that are functions of the package itself."""

from __future__ import annotations

import importlib
import warnings
from typing import TYPE_CHECKING

from rushlight import devices, dtypes
from rushlight.machine import determinism, threads
from rushlight.ops._table.numpy_names import numpy_names
from rushlight.ops.elementwise.comparison import where
from rushlight.tensor.dispatch import captured_part, innermost_capture, readable
from rushlight.tensor.overriding import overridable
from rushlight.tensor.tensor import Tensor

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from types import ModuleType
    from typing import Any


def is_tensor(obj: object) -> bool:
    """Whether an object is a tensor."""
    return isinstance(obj, Tensor)


def numel(input) -> int:
    """The number of elements."""
    return input.numel()


@numpy_names
def is_floating_point(input) -> bool:
    """Whether the dtype is a float type."""
    return input.is_floating_point()


@numpy_names
def is_complex(input) -> bool:
    """Whether the dtype is a complex type."""
    return input.is_complex()


@numpy_names
def is_nonzero(input) -> bool:
    """Whether a one-element tensor is not zero."""
    return bool(input)


# What PyTorch calls the two by the kinds of its overloads: (tensor, other), (scalar, tensor), ...
_OPERANDS = ("tensor1 tensor2", "tensor other", "scalar tensor", "scalar1 scalar2")


def _operands(args, kwargs):
    for names in map(str.split, _OPERANDS):
        if len(args) + len(kwargs) == 2 and kwargs.keys() == set(names[len(args) :]):
            return (*args, *(kwargs[name] for name in names[len(args) :]))
    raise TypeError(
        f"result_type(): expected two tensors or numbers, got {len(args)} and the keywords "
        f"{sorted(kwargs)}; they are named {' or '.join(map(repr, _OPERANDS))}"
    )


def result_type(*args, **kwargs) -> dtypes.dtype:
    """The dtype an operation on both (tensors or numbers) would compute in."""
    from rushlight.ops._table import rules as _rules

    tensor1, tensor2 = _operands(args, kwargs)
    tensors = [t for t in (tensor1, tensor2) if isinstance(t, Tensor)]
    numbers = [n for n in (tensor1, tensor2) if not isinstance(n, Tensor)]
    return _rules.result_type(tensors, numbers)


def get_num_threads() -> int:
    """How many threads kernels use."""
    return threads.get_num_threads()


def set_num_threads(int: int) -> None:
    """Set how many threads kernels use; results do not depend on it."""
    threads.set_num_threads(int)


def use_deterministic_algorithms(mode: bool, *, warn_only: bool = False) -> None:
    """Ask for deterministic algorithms. On the CPU all of them are, with any number of threads; on
    a GPU it is cuDNN that would take others."""
    determinism.asked[:] = [bool(mode), bool(warn_only)]


def are_deterministic_algorithms_enabled() -> bool:
    """What `use_deterministic_algorithms` was given."""
    return determinism.asked[0]


def set_default_tensor_type(t) -> None:
    """Set the default dtype by a legacy type name such as ``"torch.DoubleTensor"``."""
    from rushlight.ops.creation.conversion import _FROM_LEGACY

    warnings.warn(
        "set_default_tensor_type is deprecated; use set_default_dtype and set_default_device.",
        stacklevel=2,
    )
    name = t if isinstance(t, str) else t.__name__
    if name.startswith(("torch.cuda.", "rushlight.cuda.")) or getattr(t, "is_cuda", False):
        raise TypeError(
            f"set_default_tensor_type: {name} needs a GPU, and this version computes on the CPU "
            "only; guard it with rushlight.cuda.is_available()"
        )
    dtypes.set_default_dtype(_FROM_LEGACY[name.rsplit(".", 1)[-1]])


def is_deterministic_algorithms_warn_only_enabled() -> bool:
    """Whether `use_deterministic_algorithms` was asked only to warn."""
    return determinism.asked[1]


_DEBUG_MODES = ("default", "warn", "error")


def set_deterministic_debug_mode(debug_mode: int | str) -> None:
    """`use_deterministic_algorithms` by number or name: default (0), warn (1), error (2)."""
    level = _DEBUG_MODES.index(debug_mode) if debug_mode in _DEBUG_MODES else debug_mode
    if level not in (0, 1, 2):
        raise RuntimeError(
            "invalid value of debug_mode, expected one of `default`, `warn`, `error`, 0, 1, 2, "
            f"but got {debug_mode!r}"
        )
    use_deterministic_algorithms(level > 0, warn_only=level == 1)


def get_deterministic_debug_mode() -> int:
    """0, 1 or 2, as :func:`set_deterministic_debug_mode` counts."""
    return (1 if determinism.asked[1] else 2) if determinism.asked[0] else 0


def set_float32_matmul_precision(precision: str) -> None:
    """Say how exact products of float32 matrices must be: "highest", "high" or "medium".

    Processors with matrix units (Intel AMX) compute them from bfloat16 pieces of the operands:
    "highest" (the default) from three pieces a value, as exact as float32 arithmetic; "high" from
    two (16 bits), "medium" from one (8 bits), which is faster. Other processors always compute in
    float32. Also sets ``backends.cuda.matmul.allow_tf32``. Raises RuntimeError for other words.
    """
    if precision not in ("highest", "high", "medium"):
        raise RuntimeError(
            "set_float32_matmul_precision: expected 'highest', 'high' or 'medium', got "
            f"{precision!r}"
        )
    from rushlight.backends import cuda
    from rushlight.kernels.gemm.precision import set_float32_precision

    cuda.matmul.precision = precision
    set_float32_precision(precision)


def get_float32_matmul_precision() -> str:
    """What :func:`set_float32_matmul_precision` was given; "highest" until then."""
    from rushlight.backends import cuda

    return cuda.matmul.precision


def get_device_module(device=None) -> ModuleType:
    """The module of a device's kind: ``rushlight.cpu`` or ``rushlight.cuda``."""
    kind = devices.as_device(None).type if device is None else devices.device(device).type
    if kind not in ("cpu", "cuda"):
        raise RuntimeError(f"Device '{kind}' does not have a module of its own; cpu and cuda have")
    return importlib.import_module("rushlight." + kind)


def typename(obj: object) -> str:
    """The name of an object's type: for tensors the former one, ``"rushlight.FloatTensor"``."""
    if isinstance(obj, Tensor):
        return obj.type()
    kind = obj if hasattr(obj, "__qualname__") else type(obj)
    module = getattr(kind, "__module__", None)
    prefix = "" if module in (None, "builtins") else module + "."
    return prefix + kind.__qualname__


@overridable(as_given=True)
@overridable(as_given=True)
def _assert(condition, message) -> None:
    """``assert condition, message`` that ``python -O`` keeps."""
    if not condition:
        raise AssertionError(message)


def _raise_unless(cond, message, kind):
    if not isinstance(cond, bool):
        _assume(cond)
    elif not cond:
        if message is not None and not callable(message):
            raise TypeError("message must be a callable")
        raise kind("Expected cond to be True, but got False." if message is None else message())


def _assume(cond):
    """Let a program that is captured keep to a comparison of numbers that it reads."""
    if isinstance(cond, Tensor):
        raise TypeError(
            "cond must be a bool, but got a Tensor: rushlight._check_tensor_all() checks that all "
            "elements are True"
        )
    assume = getattr(cond, "assume", None)
    if assume is None:
        raise TypeError(f"cond must be a bool, but got {type(cond)}")
    assume()


def _check(cond, message=None) -> None:
    """RuntimeError with ``message()`` unless `cond`."""
    _raise_unless(cond, message, RuntimeError)


def _check_value(cond, message=None) -> None:
    """ValueError with ``message()`` unless `cond`."""
    _raise_unless(cond, message, ValueError)


def _check_index(cond, message=None) -> None:
    """IndexError with ``message()`` unless `cond`."""
    _raise_unless(cond, message, IndexError)


def _check_type(cond, message=None) -> None:
    """TypeError with ``message()`` unless `cond`."""
    _raise_unless(cond, message, TypeError)


def _check_is_size(i, message=None, *, max=None) -> None:
    """RuntimeError unless a number can be a size: not negative and at most `max`."""
    _check(i >= 0, message)
    if max is not None:
        _check(i <= max, message)


@numpy_names
def is_signed(input) -> bool:
    """Whether the dtype has negative numbers."""
    return input.is_signed()


@numpy_names
def is_inference(input) -> bool:
    """Whether a tensor was made in inference mode."""
    return input.is_inference()


@numpy_names
def is_distributed(input) -> bool:
    """False: tensors that are spread over processes are of another class."""
    return False


def is_storage(obj: object) -> bool:
    """Whether an object is a storage."""
    from rushlight.ops.creation.storages import TypedStorage, UntypedStorage

    return isinstance(obj, TypedStorage | UntypedStorage)


def get_device(input) -> int:
    """The number of the GPU a tensor is on, -1 for the CPU."""
    return input.get_device()


@numpy_names
def detach(input):
    """The tensor without its history; it shares the memory."""
    return input.detach()


_interop = [1]


def get_num_interop_threads() -> int:
    """What :func:`set_num_interop_threads` was given; operations run one after the other."""
    return _interop[0]


def set_num_interop_threads(int) -> None:
    """Note a number of threads between operations, which nothing uses here."""
    if int < 1:
        raise RuntimeError(f"set_num_interop_threads expects a positive integer, got {int}")
    _interop[0] = int


_warn_always = [False]


def set_warn_always(b: bool, /) -> None:
    """Ask for every warning each time; Python's filters decide that here."""
    if type(b) is not bool:
        raise TypeError(f"setWarnOnlyOnce expects a bool, but got {type(b).__name__}")
    _warn_always[0] = b
    if b:
        warnings.simplefilter("always")


def is_warn_always_enabled() -> bool:
    """What :func:`set_warn_always` was given."""
    return _warn_always[0]


def set_vital(*args: object) -> None:
    """Deprecated, and without effect: PyTorch counted here what was used. Warns (UserWarning)."""
    warnings.warn("'set_vital' is deprecated, please do not call", stacklevel=2)


def recorder_of(values: Sequence[Any]) -> Any:
    """What writes down the program that tensors among some values belong to; None where none is
    captured, or where a function transform of the program's own follows one of them."""
    captured = _captured(values)
    if not captured or any(value._level.kind != "capture" for value in captured):
        return None
    return innermost_capture().recorder


def _captured(values):
    return [v for v in values if isinstance(v, Tensor) and captured_part(v) is not None]


class TransformedError(NotImplementedError):
    """A function transform is between a program and what a node with graphs reads."""


def check_plain(name: str, value: Tensor, but: tuple[str, ...] = ()) -> None:
    """Raise TransformedError for a tensor that a transform of the program's own follows, of another
    kind than those of `but`: it would not see what the node does."""
    while (level := getattr(value, "_level", None)) is not None and level.kind != "capture":
        if level.kind not in but:
            raise TransformedError(
                f"{name}() inside of func.{level.kind} cannot be captured: transform the captured "
                "program instead, or write the choice with where"
            )
        value = value._inner


def _refuse_gradients(name, values):
    """A node that is called with graphs has no gradient yet."""
    for value in _captured(values):
        check_plain(name, value, but=("vmap",))


def _control_flow():
    return importlib.import_module("rushlight.fx.experimental.control_flow")


def cond(
    pred: Tensor | bool,
    true_fn: Callable[..., Any],
    false_fn: Callable[..., Any],
    operands: Sequence[Any] = (),
) -> Any:
    """``true_fn(*operands)`` if `pred` holds, else ``false_fn(*operands)``; where `vmap` maps over
    `pred`, both are computed and each example takes its own."""
    if not callable(true_fn) or not callable(false_fn):
        raise RuntimeError("Expect both branches to be callable.")
    from rushlight.utils._pytree import tree_flatten, tree_unflatten

    if _captured([pred]):
        values = [pred, *tree_flatten(tuple(operands))[0]]
        recorder = recorder_of(values)
        if recorder is not None:
            return _control_flow().record_cond(recorder, pred, true_fn, false_fn, operands)
        _refuse_gradients("cond", values)
    elif not isinstance(pred, Tensor):
        recorder = _choosing_recorder(pred, tree_flatten(tuple(operands))[0])
        if recorder is not None:
            return _control_flow().record_cond(recorder, pred, true_fn, false_fn, operands)
    if getattr(pred, "_level", None) is None or readable(pred):
        return (true_fn if bool(pred) else false_fn)(*operands)
    (ours, spec), (theirs, other) = (
        tree_flatten(true_fn(*operands)),
        tree_flatten(false_fn(*operands)),
    )
    if spec != other:
        raise RuntimeError(
            f"cond: true_fn and false_fn must give results of one structure; got {spec} and {other}"
        )
    return tree_unflatten([where(pred, a, b) for a, b in zip(ours, theirs, strict=True)], spec)


def _choosing_recorder(pred, operands):
    """What writes down a choice by a comparison of sizes; None for a choice that is made now."""
    level = innermost_capture()
    tracking = None if level is None else level.tracking
    if tracking is None or any(v._level.kind != "capture" for v in _captured(operands)):
        return None
    tracking.ask()  # the captures are made again with comparisons instead of bools
    return level.recorder if hasattr(pred, "made_by") else None


def while_loop(
    cond_fn: Callable[..., Any], body_fn: Callable[..., Any], carried_inputs: Sequence[Any]
) -> tuple[Any, ...]:
    """`carried_inputs` through `body_fn` again and again, as long as ``cond_fn`` holds for them."""
    carried = tuple(carried_inputs)
    recorder = recorder_of(carried)
    if recorder is not None:
        return _control_flow().record_while_loop(recorder, cond_fn, body_fn, carried)
    _refuse_gradients("while_loop", carried)
    while bool(cond_fn(*carried)):
        found = body_fn(*carried)
        carried = found if isinstance(found, tuple) else tuple(found)
    return carried


def set_flush_denormal(mode: bool) -> bool:
    """Ask that denormal numbers become zero; False, since kernels here always keep them."""
    if not isinstance(mode, bool):
        raise TypeError(f"set_flush_denormal expects a bool, but got {type(mode).__name__}")
    return False


def _check_not_implemented(cond, message=None) -> None:
    """NotImplementedError with ``message()`` unless `cond`."""
    _raise_unless(cond, message, NotImplementedError)


def _check_with(error_type, cond, message) -> None:
    """An error of `error_type` with ``message()`` unless `cond`."""
    _raise_unless(cond, message, error_type)


def _check_tensor_all_with(error_type, cond, message=None) -> None:
    """An error of `error_type` with ``message()`` unless all elements of the tensor are True."""
    if not is_tensor(cond):
        raise TypeError(f"cond must be a tensor, but got {type(cond)}")
    if not cond.dtype == dtypes.bool_:
        raise TypeError(f"cond tensor must have dtype rushlight.bool, but got {cond.dtype}")
    _raise_unless(bool(cond.all().item()), message, error_type)


def _check_tensor_all(cond, message=None) -> None:
    """RuntimeError with ``message()`` unless all elements of the tensor are True."""
    _check_tensor_all_with(RuntimeError, cond, message)


def _assert_async(input, assert_msg=None) -> None:  # noqa: A002 - PyTorch's name
    """RuntimeError unless the one element of a tensor is True or not zero."""
    if not bool(input):
        text = "Expected Tensor with single nonzero value, but got zero"
        raise RuntimeError(text if assert_msg is None else assert_msg)


def _shape_as_tensor(self):
    """The sizes of a tensor as an int64 tensor."""
    from rushlight.ops.creation.tensors import tensor

    return tensor(list(self.shape), dtype=dtypes.int64)

"""Members of `Compose` that run as one step: a conversion of the dtype followed by `Normalize`.

The step checks its constants without tensors, and normalises in the memory of the conversion, where
`Normalize` allocates a result of its own. The operations are the same, and so are the bits.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence
from functools import lru_cache
from typing import Any

import rushlight as rl
from rushlight_vision import tv_tensors
from rushlight_vision.transforms.v2 import functional as F
from rushlight_vision.transforms.v2._simple import ConvertImageDtype, Normalize, ToDtype
from rushlight_vision.transforms.v2._transform import flattened, rebuilt
from rushlight_vision.tv_tensors._base import plain

KINDS = (rl.Tensor, tv_tensors.Image, tv_tensors.Video)  # exactly these: subclasses have kernels
LEAST = 1e-30  # standard deviations that are not 0 in any dtype of `EXACT`
EXACT = (rl.float32, rl.float64)
WHOLE = (rl.uint8, rl.int16, rl.int32, rl.int64)  # of which a conversion to floats allocates


def debugged() -> bool:
    """Whether a debugger or tracer follows this thread, which then sees every member."""
    if sys.gettrace() is not None:
        return True
    monitoring = getattr(sys, "monitoring", None)
    return monitoring is not None and monitoring.get_tool(monitoring.DEBUGGER_ID) is not None


def fused(transforms: Sequence[Callable[..., Any]]) -> list[Callable[..., Any]]:
    """The steps of a `Compose`: its members, those that follow each other fused where they can be.

    Made anew for each call, which takes less than checking whether a member has been changed.
    """
    steps: list[Callable[..., Any]] = []
    for each in transforms:
        if steps and type(each) is Normalize and _simple(each) and _converts(steps[-1]):
            each = _ConvertedAndNormalized(steps.pop(), each)
        steps.append(each)
    return steps


def _converts(transform: Any) -> bool:
    return type(transform) in (ToDtype, ConvertImageDtype) and _simple(transform)


def _simple(transform: Any) -> bool:
    """Whether calling the transform runs its class's methods and nothing else."""
    hooks = (transform._forward_hooks, transform._forward_pre_hooks)
    return not any(hooks) and not {"forward", "transform"} & vars(transform).keys()


@lru_cache(64)
def _by_channel(values: tuple[float, ...], dtype: rl.dtype, device: rl.device) -> rl.Tensor:
    """A number for each channel, (C, 1, 1); remembered except in graphs that are captured."""
    return rl.tensor(values, dtype=dtype, device=device).reshape(-1, 1, 1)


class _ConvertedAndNormalized:
    """`normalize` after `convert`."""

    def __init__(self, convert: Any, normalize: Any) -> None:
        self.convert, self.normalize = convert, normalize

    def __call__(self, *inputs: Any) -> Any:
        if len(inputs) == 1 and type(inputs[0]) in KINDS:  # a picture alone: nothing to look for
            return self._changed(inputs[0])
        flat, spec = flattened(inputs if len(inputs) > 1 else inputs[0])
        wanted = self.convert._needs_transform_list(flat)
        self.normalize.check_inputs(flat)
        changed = [self._changed(x) if yes else x for x, yes in zip(flat, wanted, strict=True)]
        return rebuilt(changed, spec)

    def _changed(self, inpt: Any) -> Any:
        dtype = self.convert.dtype
        if isinstance(dtype, dict):
            dtype = self.convert._wanted(inpt)
        if not self._fits(inpt, dtype):
            return self.normalize.transform(self.convert.transform(inpt, {}), {})
        scale = getattr(self.convert, "scale", True)  # `ConvertImageDtype` always scales
        result = F.to_dtype_image(plain(inpt), dtype=dtype, scale=scale)
        captured = rl.compiler.is_compiling() or rl.jit.is_tracing()
        constants = _by_channel.__wrapped__ if captured else _by_channel
        for change, values in (
            (result.sub_, self.normalize.mean),
            (result.div_, self.normalize.std),
        ):
            change(constants(tuple(values), result.dtype, result.device))
        return tv_tensors.wrap(result, like=inpt)

    def _fits(self, inpt: Any, dtype: Any) -> bool:
        """Whether the conversion allocates, and the constants are what `normalize` takes."""
        if type(inpt) not in KINDS or inpt.ndim < 3 or dtype not in EXACT:
            return False
        mean, std = self.normalize.mean, self.normalize.std
        return (
            inpt.dtype in WHOLE
            and all(type(each) in (float, int) for each in (*mean, *std))
            and all(len(each) in (1, inpt.shape[-3]) for each in (mean, std))
            and all(abs(each) > LEAST for each in std)
        )

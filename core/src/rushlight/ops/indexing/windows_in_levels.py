"""Windows on the memory of tensors inside of programs and function transforms."""

from __future__ import annotations


def tensor_below(input):
    """The tensor below all levels, whose memory a tensor of a program has; None inside of a
    transform, where there is none."""
    kinds = set()
    while (inner := getattr(input, "_inner", None)) is not None:
        kinds.add(input._level.kind)
        input = inner
    return input if "capture" in kinds and "vmap" not in kinds else None


def picked(input, size, stride, offset):
    """A window by the elements of a contiguous tensor, by number."""
    from rushlight.ops.creation.tensors import arange

    if not input.is_contiguous():
        raise NotImplementedError(
            "as_strided of a tensor that is not contiguous, in a function transform: use unfold, "
            "select and narrow, or contiguous() first"
        )
    places = arange(input.numel(), device=input._device).as_strided(size, stride, offset)
    return input.reshape(-1)[places]

"""float32 convolutions over two dims with weights that were packed before: those of frozen layers.

Which plans pack is theirs to say: those with `packed` (direct sums, Winograd, rows of patches); a
product that reads weights as they are gains nothing.
"""

from __future__ import annotations

from rushlight.kernels.convolution.choice import output_size, tile_plan
from rushlight.kernels.launch.execution import FLOAT32
from rushlight.machine.memory import empty

__all__ = ["PackedConvolution", "packed_convolution"]


class PackedConvolution:
    """A convolution of images of one shape (N, C, H, W) by one weight, which is packed.

    The array of the weight is kept for results that are not finite alone, which Winograd's way
    computes anew by sums.
    """

    def __init__(self, plan, weight, shape):
        self.plan, self.weight, self.shape = plan, weight, shape
        self.packed = plan.packed(weight)
        self.kinds = getattr(plan, "epilogues", "none")

    def run(self, x, bias, epilogue=None):
        """The convolution of dense images plus a bias (or None), an
        :class:`~rushlight.kernels.gemm.epilogues.Epilogue` behind it."""
        out = empty(self.shape, FLOAT32)
        inside = epilogue is not None and (
            self.kinds == "all" or self.kinds == "light" and epilogue.is_light
        )
        given = (epilogue,) if inside else ()
        self.plan.run_packed(x, self.packed, self.weight, out, bias, *given)
        if epilogue is not None and not inside:
            epilogue.run(out)
        return out


def packed_convolution(shape, weight, stride, padding, dilation, groups):
    """A :class:`PackedConvolution` of images of a shape by a dense float32 weight; None where the
    plan for these sizes packs nothing."""
    if len(shape) != 4 or 0 in shape or 0 in weight.shape:
        return None
    plan = tile_plan(shape, weight.shape, stride, padding, dilation, groups)
    if not hasattr(plan, "packed") or groups != 1:
        return None
    size = output_size(shape[2:], weight.shape[2:], stride, padding, dilation)
    return PackedConvolution(plan, weight, (shape[0], weight.shape[0], *size))

"""1 x 1 convolution of maps that are not small: one matrix times every image."""

from __future__ import annotations

from rushlight.kernels.copying.conversion import cast
from rushlight.kernels.gemm.products import are_bfloat16, pixels_plan, product_into
from rushlight.kernels.launch.execution import FLOAT32
from rushlight.machine.memory import empty

__all__ = ["Forward", "WeightGradient", "bfloat16_pixels", "fits", "fits_weight_gradient"]

PIXELS = 256  # smaller maps are quicker by tiles of pixels (14 x 14 by a fifth)
WORK = 500_000  # multiply-adds of an image that are worth a product of their own
GRADIENT_CHANNELS = 256  # of the input, from which products are the way to the weight's gradient


def fits(c, image, o, kernel, stride, padding):
    """Whether products are the faster way."""
    pixels = image[0] * image[1]
    plain = kernel == (1, 1) and stride == (1, 1) and padding == (0, 0)
    return plain and pixels >= PIXELS and c * o * pixels >= WORK


class Forward:
    """A forward convolution, or (``flipped``) the gradient of its input."""

    def __init__(self, n, c, image, o, flipped):
        from rushlight.kernels.gemm import microkernel, plans

        self.flipped = flipped
        self.epilogues = "light" if c >= microkernel.FINISHES_FROM else "none"
        self.plan = plans.images_plan(o, image[0] * image[1], c, flipped, n)

    def run(self, x, w, y, bias, epilogue=None):
        """Write the convolution of x and w, plus bias (or None), into y, the epilogue behind it;
        all dense."""
        if self.plan is not None:
            self.plan.run(w, x, y, bias, epilogue)
            return
        weight = w.reshape(w.shape[:2])
        weight = weight.T if self.flipped else weight
        for image in range(len(x)):
            out = y[image].reshape(len(weight), -1)
            pixels = x[image].reshape(x.shape[1], -1)
            product_into(weight, pixels, out, bias, by_rows=True, epilogue=epilogue)


def fits_weight_gradient(c, o, kernel, stride, padding):
    """Whether products of the images are the faster way to the weight's gradient: where vectors are
    short and many input channels meet each pixel (1.02 to 1.26 times as fast)."""
    from rushlight.kernels.gemm.plans import BLOCKED

    plain = kernel == (1, 1) and stride == (1, 1) and padding == (0, 0)
    return BLOCKED and plain and c >= max(o, GRADIENT_CHANNELS)


class WeightGradient:
    """The gradient of the weight as a sum of products, one for each image."""

    @staticmethod
    def run(x, dy, dw):
        """Write the gradient into dw; all dense."""
        out = dw.reshape(dw.shape[:2])
        for image in range(len(x)):
            pixels = x[image].reshape(x.shape[1], -1)
            gradient = dy[image].reshape(len(out), -1)
            product_into(gradient, pixels.T, out, accumulate=image > 0)


def bfloat16_pixels(x, w, bias, stride, padding, groups, flipped):
    """The 1 x 1 convolution of bfloat16 images, or (``flipped``) the gradient of its input, by
    instructions for such products; None for other convolutions or where there are none."""
    plain = max(*w.shape[2:], *stride) == 1 and not any(padding) and groups == 1
    if not (plain and x.size and are_bfloat16(x, w)):
        return None
    if not (x.flags.c_contiguous and w.flags.c_contiguous):
        return None
    images = x.reshape(*x.shape[:2], -1)
    weight = w.reshape(w.shape[:2])
    weight = weight.T if flipped else weight
    plan = pixels_plan(weight, images)
    if plan is None:
        return None
    out = empty((len(x), len(weight), *x.shape[2:]), x.dtype)
    plan.run(weight, images, out, None if bias is None else cast(bias, FLOAT32))
    return out

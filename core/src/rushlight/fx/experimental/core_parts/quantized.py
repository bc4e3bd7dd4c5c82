"""Numbers rounded as quantized ones are, as core ATen graphs have them: with the mask of those
whose gradients pass."""

from __future__ import annotations

from rushlight import devices
from rushlight.dtypes import int64
from rushlight.library.operators import lookup


def parts() -> dict:
    """Overloads -> their parts."""
    aten = lookup("aten")

    def of_tensors(self, scale, zero_point, quant_min, quant_max):
        enabled = aten.full([1], 1, dtype=int64, device=devices.cpu, pin_memory=False)
        by_tensors = aten._fake_quantize_per_tensor_affine_cachemask_tensor_qparams
        return by_tensors(self, scale, zero_point, enabled, quant_min, quant_max)[0]

    of_numbers = aten.fake_quantize_per_tensor_affine
    channels = aten.fake_quantize_per_channel_affine.default
    return {
        of_numbers.default: lambda *args: aten.fake_quantize_per_tensor_affine_cachemask(*args)[0],
        of_numbers.tensor_qparams: of_tensors,
        channels: lambda *args: aten.fake_quantize_per_channel_affine_cachemask(*args)[0],
    }

"""hqq: weights in 8 to 1 bits by half-quadratic quantization, layers over them, saved, loaded."""

import torch
from common import report
from hqq.core.quantize import BaseQuantizeConfig, HQQBackend, HQQLinear, Quantizer


def layer(weight, bits, size):
    linear = torch.nn.Linear(64, 32)
    linear.load_state_dict({"weight": weight, "bias": torch.linspace(-1, 1, 32)})
    config = BaseQuantizeConfig(nbits=bits, group_size=size)
    return HQQLinear(linear, config, compute_dtype=torch.float32, device="cpu")


def main():
    found, weight, x = {}, torch.randn(32, 64) * 0.3, torch.randn(5, 64)
    for bits in (8, 4, 3, 2, 1):
        packed, meta = Quantizer.quantize(
            weight, nbits=bits, group_size=64, device="cpu", compute_dtype=torch.float32
        )
        found[f"{bits} bits"] = {
            "packed": packed, "scale": meta["scale"], "zero": meta["zero"],
            "weight": Quantizer.dequantize(packed, meta),
        }  # fmt: skip
    for backend in (HQQBackend.PYTORCH, HQQBackend.PYTORCH_BACKPROP):
        HQQLinear.set_backend(backend)
        for size in (64, 32):
            quantized = layer(weight, 4, size)
            inside = x.clone().requires_grad_()
            out = quantized(inside)
            found[f"{backend.value} {size}"] = out
            if backend is HQQBackend.PYTORCH_BACKPROP:
                out.square().sum().backward()
                found[f"{backend.value} {size} gradient"] = inside.grad
    state = quantized.state_dict()
    again = HQQLinear(None, None, compute_dtype=torch.float32, device="cpu", initialize=False)
    again.load_state_dict(state)
    found["loaded"] = again(x)
    found["kept"] = sorted(state)
    report(**found)


torch.manual_seed(0)
main()

"""einops: rearranging, reducing and layers, with gradients."""

import torch
from common import report
from einops import einsum, pack, rearrange, reduce, repeat, unpack
from einops.layers.torch import EinMix, Rearrange, Reduce


def main():
    torch.manual_seed(0)
    x = torch.randn(2, 3, 4, 6, requires_grad=True)
    found = {
        "rearranged": rearrange(x, "b c (h p) (w q) -> b (h w) (p q c)", p=2, q=3),
        "reduced": reduce(x, "b c h w -> b c", "max"),
        "mean": reduce(x, "b c (h 2) (w 2) -> b c h w", "mean"),
        "repeated": repeat(x[:, 0], "b h w -> b h (w r)", r=2),
        "products": einsum(x, x, "b c h w, b d h w -> b c d"),
    }
    packed, shapes = pack([x, x[:, :1]], "b * h w")
    found["packed"] = [packed, *unpack(packed, shapes, "b * h w")]
    net = torch.nn.Sequential(
        Rearrange("b c h w -> b (c h) w"),
        EinMix("b i w -> b o w", "i o", bias_shape="o", i=12, o=5),
        Reduce("b o w -> b o", "sum"),
    )  # fmt: skip
    out = net(x)
    out.square().sum().backward()
    found["net"], found["gradient"] = out, x.grad
    report(**found)


main()

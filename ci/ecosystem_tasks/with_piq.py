"""piq: measures of pictures (SSIM, VIF, FSIM, HaarPSI, DSS, ...), their gradients, and of sets."""

import piq
import torch
from common import report


def main():
    torch.manual_seed(0)
    x = torch.rand(2, 3, 64, 64, requires_grad=True)
    y = (x.detach() + 0.1 * torch.randn(2, 3, 64, 64)).clamp(0, 1)
    found = {}
    for name in (
        "psnr",
        "ssim",
        "vif_p",
        "gmsd",
        "multi_scale_gmsd",
        "fsim",
        "srsim",
        "haarpsi",
        "mdsi",
        "dss",
    ):
        value = getattr(piq, name)(x, y, data_range=1.0)
        found[name] = [value, torch.autograd.grad(value, x)[0]]
    found["vsi"] = piq.vsi(x, y, data_range=1.0)  # its gradient hangs on ties of a maximum
    found["tv"] = piq.total_variation(y)
    found["iw"] = piq.information_weighted_ssim(
        torch.rand(1, 3, 176, 176), torch.rand(1, 3, 176, 176)
    )
    found["ms"] = piq.multi_scale_ssim(torch.rand(1, 3, 176, 176), torch.rand(1, 3, 176, 176))
    a, b = torch.rand(20, 8), torch.rand(20, 8)
    found["fid"] = piq.FID()(a, b)
    found["kid"] = piq.KID()(a, b)
    found["is"] = piq.inception_score(a, num_splits=2)[0]
    found["pr"] = piq.PR()(a, b)
    found["gs"] = piq.SSIMLoss()(y, y.flip(0))
    report(**found)


main()

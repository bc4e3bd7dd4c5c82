"""pytorch-msssim: structural similarity of pictures and volumes, over scales, and as a loss."""

import torch
from common import report, train
from pytorch_msssim import MS_SSIM, SSIM, ms_ssim, ssim


def main():
    torch.manual_seed(0)
    first, second = torch.rand(2, 3, 180, 180), torch.rand(2, 3, 180, 180)
    near = (first + 0.1 * second).clamp(0, 1)
    found = {
        "ssim": ssim(first, near, data_range=1, size_average=False),
        "scales": ms_ssim(first, near, data_range=1, size_average=False),
        "module": SSIM(data_range=1, channel=3, nonnegative_ssim=True)(first, second),
    }
    volumes = torch.rand(2, 1, 2, 12, 12, 12)
    volume = SSIM(data_range=1, channel=2, spatial_dims=3, win_size=5)
    found["volume"] = volume(volumes[0], volumes[1])
    scales = MS_SSIM(data_range=1, channel=3)
    picture = second.clone().requires_grad_()
    (1 - scales(picture, first)).backward()
    found["gradient"] = picture.grad
    torch.manual_seed(1)
    net = torch.nn.Conv2d(3, 3, 3, padding=1)
    found["losses"] = train(net, first, lambda m, x: 1 - scales(m(x).sigmoid(), x), rate=1e-2)
    report(**found)


main()

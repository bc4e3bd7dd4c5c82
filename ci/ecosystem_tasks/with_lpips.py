"""lpips: perceptual distances over three networks, their gradient, and its training."""

import lpips
import torch
from common import report, train


def main():
    torch.manual_seed(0)
    first, second = torch.rand(2, 3, 64, 64) * 2 - 1, torch.rand(2, 3, 64, 64) * 2 - 1
    found = {}
    for name in ("alex", "vgg", "squeeze"):
        torch.manual_seed(1)
        distance = lpips.LPIPS(net=name, pnet_rand=True, verbose=False)
        found[name] = distance(first, second)
        found[f"{name}, whole"] = distance(first / 2 + 0.5, second / 2 + 0.5, normalize=True)
        picture = first.clone().requires_grad_()
        distance(picture, second).sum().backward()
        found[f"{name}, gradient"] = picture.grad
    torch.manual_seed(2)
    tuned = lpips.LPIPS(net="alex", pnet_rand=True, pretrained=False, verbose=False)
    loss = lpips.BCERankingLoss()
    target = torch.tensor([0.2, 0.7]).view(2, 1, 1, 1)
    found["losses"] = train(
        tuned, first, lambda m, x: loss(m(x, second), m(x, x.flip(-1)), target).mean()
    )
    maps = lpips.LPIPS(net="alex", pnet_rand=True, spatial=True, verbose=False)
    torch.manual_seed(3)
    found["map shape"] = list(maps(first, second).shape)
    report(**found)


main()

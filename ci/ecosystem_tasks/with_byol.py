"""byol-pytorch: a residual network that learns without labels, with and without momentum."""

import torch
from byol_pytorch import BYOL
from common import report
from torchvision import models


def learner(**options):
    torch.manual_seed(0)
    net = models.resnet18()
    plain = torch.nn.Identity()
    return net, BYOL(net, image_size=64, hidden_layer="avgpool", projection_size=16,
                     projection_hidden_size=32, augment_fn=plain, augment_fn2=plain,
                     **options)  # fmt: skip


def main():
    torch.set_default_dtype(torch.float64)  # in float32 the batches' statistics amplify rounding
    found = {}
    for name, options in {"byol": {}, "simsiam": {"use_momentum": False}}.items():
        net, own = learner(**options)
        optimizer = torch.optim.SGD(own.parameters(), lr=1e-3)
        losses = []
        for step in range(3):
            torch.manual_seed(step)
            loss = own(torch.rand(8, 3, 64, 64))
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            if options == {}:
                own.update_moving_average()
            losses.append(float(loss))
        found[name] = losses
        found[f"{name}, vectors"] = own.eval()(torch.rand(2, 3, 64, 64), return_embedding=True)
        found[f"{name}, network"] = net(torch.rand(2, 3, 64, 64))
    report(**found)


main()

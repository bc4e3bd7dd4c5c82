"""efficientnet-pytorch: networks by name, training, features, its memory-saving activation."""

import torch
from common import reloaded, report, train
from efficientnet_pytorch import EfficientNet


def small():
    return EfficientNet.from_name("efficientnet-b0", num_classes=5, image_size=64)


def loss_of(model, batch):
    return torch.nn.functional.cross_entropy(model(batch[0]), batch[1])


def main():
    torch.manual_seed(0)
    batch = torch.rand(4, 3, 64, 64), torch.tensor([0, 1, 2, 3])
    net = small()
    optimizer = torch.optim.SGD(net.parameters(), lr=1e-2, momentum=0.9)
    found = {"losses": train(net, batch, loss_of, optimizer=optimizer)}
    again = reloaded(net, small).eval()
    found["reloaded"] = (again(batch[0]) - net.eval()(batch[0])).abs().max()
    found["features"] = net.extract_features(batch[0])
    found["endpoints"] = net.extract_endpoints(batch[0])
    net.set_swish(memory_efficient=False)
    found["plain swish"] = net(batch[0])
    torch.manual_seed(1)
    grey = EfficientNet.from_name("efficientnet-b2", in_channels=1, include_top=False).eval()
    found["grey"] = grey(torch.rand(2, 1, 72, 72))
    found["sizes"] = EfficientNet.get_image_size("efficientnet-b3")
    report(**found)


main()

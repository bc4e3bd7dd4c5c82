"""segmentation-models-pytorch: four architectures, losses, metrics."""

import segmentation_models_pytorch as smp
import torch
from common import reloaded, report, train


def main():
    torch.manual_seed(0)
    images = torch.rand(2, 3, 64, 64)
    masks = (images[:, :1] > 0.5).long()
    found = {}
    for kind in (smp.Unet, smp.FPN, smp.DeepLabV3Plus, smp.MAnet):

        def make(kind=kind):
            return kind("resnet18", encoder_weights=None, classes=1)

        torch.manual_seed(1)
        net = make()
        loss = smp.losses.DiceLoss("binary")
        torch.manual_seed(2)
        found[kind.__name__] = train(
            net, images, lambda m, x, loss=loss: loss(m(x), masks), steps=2
        )
        again = reloaded(net, make).eval()
        found[kind.__name__ + " reloaded"] = (again(images) - net.eval()(images)).abs().max()
    torch.manual_seed(3)
    scores = torch.randn(2, 1, 64, 64)
    for loss in (smp.losses.JaccardLoss("binary"), smp.losses.FocalLoss("binary"),
                 smp.losses.LovaszLoss("binary"), smp.losses.TverskyLoss("binary")):  # fmt: skip
        found[type(loss).__name__] = loss(scores, masks)
    counts = smp.metrics.get_stats(scores.sigmoid(), masks, mode="binary", threshold=0.5)
    found["counts"] = [c.sum() for c in counts]
    found["iou"] = smp.metrics.iou_score(*counts, reduction="micro")
    report(**found)


main()

"""timm: a ResNet, a ViT, a ConvNeXt; training, features, an optimizer."""

import timm
import timm.data
import timm.optim
import torch
import torch.nn.functional as F
from common import reloaded, report, train

NAMES = ["resnet18", "vit_tiny_patch16_224", "convnext_atto", "mobilenetv3_small_050"]


def main():
    found = {}
    images, labels = torch.rand(2, 3, 64, 64), torch.tensor([1, 3])
    for name in NAMES:
        torch.manual_seed(0)
        more = {"img_size": 64} if "vit" in name else {}

        def make(name=name, more=more):
            return timm.create_model(name, num_classes=5, **more)

        model = make()
        optimizer = timm.optim.create_optimizer_v2(model, "adamw", lr=1e-3, weight_decay=0.01)
        torch.manual_seed(1)
        found[name] = train(
            model, images, lambda m, x: F.cross_entropy(m(x), labels), optimizer=optimizer
        )
        again = reloaded(model, make).eval()
        found[name + " reloaded"] = (again(images) - model.eval()(images)).abs().max()
    features = timm.create_model("resnet18", features_only=True).eval()(images)
    found["features"] = [list(f.shape) for f in features]
    report(**found)


torch.manual_seed(0)
main()

"""monai: networks of volumes and pictures, losses, metrics, transforms, sliding windows."""

import monai
import numpy as np
import torch
from common import reloaded, report, train
from monai.inferers import sliding_window_inference
from monai.losses import DiceCELoss, DiceLoss, FocalLoss
from monai.metrics import DiceMetric, HausdorffDistanceMetric
from monai.networks.nets import UNETR, DenseNet121, SwinUNETR, UNet, ViT
from monai.transforms import (
    Compose,
    EnsureChannelFirst,
    NormalizeIntensity,
    RandFlip,
    RandGaussianNoise,
    RandSpatialCrop,
    Resize,
    ScaleIntensity,
)


def unet():
    return UNet(spatial_dims=3, in_channels=1, out_channels=2, channels=(4, 8, 16), strides=(2, 2),
                num_res_units=1)  # fmt: skip


def main():
    monai.utils.set_determinism(0)
    torch.use_deterministic_algorithms(False)
    volumes = torch.rand(2, 1, 16, 16, 16)
    labels = (volumes > 0.5).long()
    loss = DiceCELoss(to_onehot_y=True, softmax=True)
    torch.manual_seed(0)
    net = unet()
    found = {"losses": train(net, volumes, lambda m, x: loss(m(x), labels), rate=1e-2)}
    again = reloaded(net, unet).eval()
    found["reloaded"] = (again(volumes) - net.eval()(volumes)).abs().max()
    found["window"] = sliding_window_inference(volumes, (8, 8, 8), 2, net, overlap=0.5)
    guess = torch.nn.functional.one_hot(net(volumes).argmax(1), 2).movedim(-1, 1)
    truth = torch.nn.functional.one_hot(labels[:, 0], 2).movedim(-1, 1)
    found["dice"] = DiceMetric()(guess, truth)
    found["distance"] = HausdorffDistanceMetric()(guess, truth)
    found["dice loss"] = DiceLoss(sigmoid=True)(net(volumes), truth.float())
    found["focal"] = FocalLoss()(net(volumes), truth.float())
    torch.manual_seed(1)
    found["densenet"] = DenseNet121(2, 1, 3).eval()(torch.rand(2, 1, 32, 32))
    found["vit"] = ViT(1, 16, 8, hidden_size=24, mlp_dim=32, num_layers=2, num_heads=4)(volumes)[0]
    found["unetr"] = UNETR(1, 2, 16, 4, hidden_size=24, mlp_dim=32, num_heads=4)(volumes)
    found["swin"] = SwinUNETR(1, 2, feature_size=12).eval()(torch.rand(1, 1, 64, 64, 64))
    steps = Compose([
        EnsureChannelFirst(channel_dim="no_channel"), ScaleIntensity(), NormalizeIntensity(),
        Resize((20, 20)), RandFlip(0.5, 0), RandGaussianNoise(1.0), RandSpatialCrop((12, 12)),
    ])  # fmt: skip
    steps.set_random_state(3)
    picture = steps(np.arange(900, dtype="float32").reshape(30, 30))
    found["transformed"] = torch.as_tensor(np.asarray(picture))
    report(**found)


main()

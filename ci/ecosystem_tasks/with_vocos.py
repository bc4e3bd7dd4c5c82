"""vocos: a small network that makes sounds of features, by a head of spectra, and its training."""

import torch
from common import reloaded, report, train
from vocos import Vocos
from vocos.discriminators import MultiPeriodDiscriminator, MultiResolutionDiscriminator
from vocos.feature_extractors import MelSpectrogramFeatures
from vocos.heads import ISTFTHead
from vocos.loss import (
    DiscriminatorLoss,
    FeatureMatchingLoss,
    GeneratorLoss,
    MelSpecReconstructionLoss,
)
from vocos.models import VocosBackbone, VocosResNetBackbone


def small():
    net = Vocos(
        MelSpectrogramFeatures(sample_rate=8000, n_fft=256, hop_length=64, n_mels=20),
        VocosBackbone(input_channels=20, dim=16, intermediate_dim=32, num_layers=2),
        ISTFTHead(dim=16, n_fft=256, hop_length=64),
    )
    for weight in net.backbone.parameters():  # truncated normals are not the same in PyTorch 2.9
        if weight.dim() > 1:
            torch.nn.init.normal_(weight, std=0.02)
    return net


def main():
    torch.manual_seed(0)
    net, sounds = small(), torch.rand(2, 4000) - 0.5
    close = MelSpecReconstructionLoss(sample_rate=8000)
    found = {"features": net.feature_extractor(sounds)}

    def loss_of(model, x):
        made = model.head(model.backbone(model.feature_extractor(x)))
        return close(made, x[..., : made.shape[-1]])

    found["losses"] = train(net, sounds, loss_of)
    net = reloaded(net, small).eval()
    found["made"] = net(sounds)
    found["decoded"] = net.decode(torch.rand(1, 20, 12))
    torch.manual_seed(1)
    residual = VocosResNetBackbone(20, 16, 2)
    found["residual"] = residual(torch.rand(2, 20, 9))
    periods, scales = MultiPeriodDiscriminator((2, 3)), MultiResolutionDiscriminator()
    for name, judge in {"periods": periods, "scales": scales}.items():
        real, made, real_maps, made_maps = judge(y=sounds, y_hat=sounds.flip(-1))
        found[name] = [DiscriminatorLoss()(real, made)[0], GeneratorLoss()(made)[0],
                       FeatureMatchingLoss()(real_maps, made_maps)]  # fmt: skip
    report(**found)


main()

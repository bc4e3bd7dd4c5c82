"""vit-pytorch: sixteen vision transformers, distillation, masked autoencoding, and DINO."""

import torch
from common import reloaded, report, train
from vit_pytorch import MAE, Dino, SimpleViT, ViT
from vit_pytorch.cait import CaiT
from vit_pytorch.cross_vit import CrossViT
from vit_pytorch.crossformer import CrossFormer
from vit_pytorch.cvt import CvT
from vit_pytorch.deepvit import DeepViT
from vit_pytorch.distill import DistillableViT, DistillWrapper
from vit_pytorch.levit import LeViT
from vit_pytorch.max_vit import MaxViT
from vit_pytorch.mobile_vit import MobileViT
from vit_pytorch.na_vit import NaViT
from vit_pytorch.nest import NesT
from vit_pytorch.pit import PiT
from vit_pytorch.recorder import Recorder
from vit_pytorch.regionvit import RegionViT
from vit_pytorch.simple_vit_with_fft import SimpleViT as FourierViT
from vit_pytorch.t2t import T2TViT
from vit_pytorch.twins_svt import TwinsSVT

SMALL = {"image_size": 32, "patch_size": 8, "num_classes": 5, "dim": 24, "depth": 2, "heads": 2}
KINDS = {
    "simple": lambda: SimpleViT(mlp_dim=32, **SMALL),
    "deep": lambda: DeepViT(mlp_dim=32, **SMALL),
    "cait": lambda: CaiT(mlp_dim=32, cls_depth=1, **SMALL),
    "fourier": lambda: FourierViT(mlp_dim=32, freq_patch_size=8, **SMALL),
    "t2t": lambda: T2TViT(image_size=32, dim=24, depth=1, heads=2, mlp_dim=32, num_classes=5,
                          t2t_layers=((3, 2), (3, 2))),
    "cross": lambda: CrossViT(image_size=32, num_classes=5, depth=1, sm_dim=16, sm_patch_size=8,
                              sm_enc_heads=2, sm_enc_mlp_dim=16, lg_dim=24, lg_patch_size=16,
                              lg_enc_heads=2, lg_enc_mlp_dim=16, cross_attn_heads=2),
    "pit": lambda: PiT(image_size=32, patch_size=8, dim=24, num_classes=5, depth=(1, 1), heads=2,
                       mlp_dim=24),
    "levit": lambda: LeViT(image_size=32, num_classes=5, stages=2, dim=(16, 24), depth=1,
                           heads=(2, 2), mlp_mult=2),
    "cvt": lambda: CvT(num_classes=5, s1_emb_dim=8, s2_emb_dim=16, s2_heads=2, s3_emb_dim=24,
                       s3_heads=2, s3_depth=1),
    "twins": lambda: TwinsSVT(num_classes=5, s1_emb_dim=8, s1_local_patch_size=4, s2_emb_dim=8,
                              s2_local_patch_size=4, s3_emb_dim=16, s3_local_patch_size=2,
                              s3_depth=1, s4_emb_dim=16, s4_local_patch_size=1, s4_depth=1,
                              s1_global_k=4, s2_global_k=4, s3_global_k=2, s4_global_k=1),
    "crossformer": lambda: CrossFormer(num_classes=5, dim=(32, 32, 64, 64), depth=(1, 1, 1, 1),
                                       global_window_size=(4, 2, 2, 1),
                                       local_window_size=(4, 2, 2, 1)),
    "region": lambda: RegionViT(dim=(8, 8, 16, 16), depth=(1, 1, 1, 1), window_size=4,
                                num_classes=5),
    "nest": lambda: NesT(image_size=32, patch_size=4, dim=24, heads=2, num_hierarchies=2,
                         block_repeats=(1, 1), num_classes=5),
    "mobile": lambda: MobileViT(image_size=(64, 64), dims=[16, 24, 32], num_classes=5,
                                channels=[8, 8, 16, 16, 24, 24, 24, 24, 24, 24, 32]),
    "max": lambda: MaxViT(num_classes=5, dim_conv_stem=8, dim=8, dim_head=8, depth=(1, 1),
                          window_size=4),
}  # fmt: skip
SIDES = {"twins": 64, "crossformer": 64, "region": 128, "mobile": 64}


def vit():
    return ViT(mlp_dim=32, dropout=0.1, emb_dropout=0.1, **SMALL)


def loss_of(model, batch):
    return torch.nn.functional.cross_entropy(model(batch[0]), batch[1])


def kind(make, side):
    """The output of a model and the gradient of its pictures."""
    torch.manual_seed(3)
    model = make().eval()
    pictures = torch.rand(2, 3, side, side, requires_grad=True)
    out = model(pictures)
    out.square().sum().backward()
    return {"out": out, "grad": pictures.grad}


def wrapped():
    """Distillation, masked autoencoding, DINO."""
    torch.manual_seed(4)
    pictures, labels = torch.rand(2, 3, 32, 32), torch.tensor([1, 3])
    student = DistillableViT(mlp_dim=32, **SMALL)
    distiller = DistillWrapper(student=student, teacher=vit().eval(), temperature=3, alpha=0.5)
    found = {"distilled": train(distiller, pictures, lambda m, x: m(x, labels))}
    plain = ViT(mlp_dim=32, pool="mean", **SMALL)
    mae = MAE(encoder=plain, masking_ratio=0.5, decoder_dim=16, decoder_depth=1)
    found["mae"] = train(mae, pictures, lambda m, x: m(x))
    dino = Dino(plain, image_size=32, hidden_layer="to_latent", projection_hidden_size=16,
                projection_layers=2, num_classes_K=12, augment_fn=torch.nn.Identity(),
                augment_fn2=torch.nn.Identity(), local_upper_crop_scale=1.0,
                global_lower_crop_scale=1.0)  # fmt: skip
    dino.local_crop = dino.global_crop = torch.nn.Identity()  # crops without chance
    found["dino"] = train(dino, pictures, lambda m, x: m(x))
    return found


def main():
    torch.manual_seed(0)
    batch = torch.rand(4, 3, 32, 32), torch.tensor([0, 1, 2, 3])
    net = vit()
    found = {"losses": train(net, batch, loss_of)}
    again = reloaded(net, vit).eval()
    found["reloaded"] = (again(batch[0]) - net.eval()(batch[0])).abs().max()
    out, attention = Recorder(net)(batch[0])
    found["recorded"] = [out, attention]
    found["kinds"] = {name: kind(make, SIDES.get(name, 32)) for name, make in KINDS.items()}
    torch.manual_seed(5)
    whole = NaViT(image_size=32, patch_size=8, num_classes=5, dim=24, depth=1, heads=2, mlp_dim=24,
                  token_dropout_prob=0.1)  # fmt: skip
    sizes = [(24, 32), (16, 16), (32, 8)]
    found["any size"] = whole([[torch.rand(3, *sizes[0]), torch.rand(3, *sizes[1])],
                               [torch.rand(3, *sizes[2])]])  # fmt: skip
    report(**found, **wrapped())


main()

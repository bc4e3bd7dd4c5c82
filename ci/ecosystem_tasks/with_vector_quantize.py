"""vector-quantize-pytorch: codebooks by k-means and averages, residual and finite ones."""

import torch
from common import reloaded, report, train
from vector_quantize_pytorch import (
    FSQ,
    LFQ,
    GroupedResidualVQ,
    RandomProjectionQuantizer,
    ResidualVQ,
    SimVQ,
    VectorQuantize,
)


def main():
    found, x = {}, torch.randn(2, 40, 16)
    plain = {"dim": 16, "codebook_size": 12, "decay": 0.8}
    makers = {
        "averages": lambda: VectorQuantize(**plain, commitment_weight=0.5),
        "k-means": lambda: VectorQuantize(
            **plain, kmeans_init=True, kmeans_iters=5, threshold_ema_dead_code=2
        ),
        "cosine": lambda: VectorQuantize(**plain, use_cosine_sim=True, rotation_trick=True),
        "learned": lambda: VectorQuantize(
            16, 12, codebook_dim=6, heads=2, ema_update=False, learnable_codebook=True,
            orthogonal_reg_weight=0.1,
        ),
        "residual": lambda: ResidualVQ(
            dim=16, codebook_size=8, num_quantizers=3, shared_codebook=True
        ),
        "grouped": lambda: GroupedResidualVQ(dim=16, codebook_size=8, num_quantizers=2, groups=2),
        "simple": lambda: SimVQ(dim=16, codebook_size=12, rotation_trick=True),
        "lookup-free": lambda: LFQ(codebook_size=16, dim=16, entropy_loss_weight=0.1),
    }  # fmt: skip
    for name, make in makers.items():
        torch.manual_seed(1)
        model, before = make(), torch.nn.Linear(16, 16)
        both = torch.nn.ModuleList([model, before])

        def loss(models, x):
            quantized, _, extra, *_ = models[0](models[1](x))
            return (quantized - x).square().mean() + extra.sum()

        found[name] = train(both, x, loss, rate=1e-2)
        model.eval()
        quantized, indices, *_ = model(x)
        found[name + " codes"] = quantized, indices
        again = reloaded(model, make).eval()
        found[name + " reloaded"] = again(x)[0]
    finite = FSQ([8, 5, 5], dim=16)
    quantized, indices = finite(x)
    found["finite"] = quantized, indices, finite.indices_to_codes(indices)
    torch.manual_seed(2)
    random = RandomProjectionQuantizer(dim=16, num_codebooks=2, codebook_dim=8, codebook_size=10)
    found["random"] = random(x)
    report(**found)


torch.manual_seed(0)
main()

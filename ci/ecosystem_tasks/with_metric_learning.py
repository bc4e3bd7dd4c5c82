"""pytorch-metric-learning: losses over embeddings with miners and distances."""

import torch
from common import report
from pytorch_metric_learning import distances, losses, miners, reducers
from pytorch_metric_learning.utils.accuracy_calculator import AccuracyCalculator  # noqa: F401


def main():
    torch.manual_seed(0)
    rows, labels = torch.randn(24, 8, requires_grad=True), torch.arange(24) % 4
    found = {}
    every = {
        "triplet": losses.TripletMarginLoss(distance=distances.CosineSimilarity()),
        "contrastive": losses.ContrastiveLoss(), "ntxent": losses.NTXentLoss(),
        "circle": losses.CircleLoss(), "multi": losses.MultiSimilarityLoss(),
        "lifted": losses.LiftedStructureLoss(), "npairs": losses.NPairsLoss(),
        "mean": losses.TripletMarginLoss(reducer=reducers.MeanReducer()),
    }  # fmt: skip
    for name, loss in every.items():
        value = loss(rows, labels)
        (gradient,) = torch.autograd.grad(value, rows)
        found[name] = [value, gradient]
    torch.manual_seed(1)
    faces = losses.ArcFaceLoss(4, 8)
    found["faces"] = faces(rows, labels)
    pairs = miners.MultiSimilarityMiner()(rows, labels)
    found["mined"] = [len(p) for p in pairs]
    found["with miner"] = losses.TripletMarginLoss()(
        rows, labels, miners.BatchHardMiner()(rows, labels)
    )
    report(**found)


main()

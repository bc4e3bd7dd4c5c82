"""Layers that compare two tensors."""

from __future__ import annotations

from rushlight.nn import functional as F
from rushlight.nn.module import Module


class CosineSimilarity(Module):
    """The cosine of the angle between vectors along `dim`."""

    def __init__(self, dim=1, eps=1e-08):
        super().__init__()
        self.dim, self.eps = dim, eps

    def forward(self, x1, x2):
        """Compare."""
        return F.cosine_similarity(x1, x2, self.dim, self.eps)


class PairwiseDistance(Module):
    """The norm of order `p` of the differences over the last dimension."""

    def __init__(self, p=2.0, eps=1e-06, keepdim=False):
        super().__init__()
        self.norm, self.eps, self.keepdim = p, eps, keepdim

    def forward(self, x1, x2):
        """Compare."""
        return F.pairwise_distance(x1, x2, self.norm, self.eps, self.keepdim)

"""perceiver-, reformer-, egnn-, se3-transformer-pytorch: networks of attention, trained."""

import torch
from common import report, train
from egnn_pytorch import EGNN_Network
from local_attention import LocalAttention
from perceiver_pytorch import Perceiver
from reformer_pytorch import ReformerLM
from rotary_embedding_torch import RotaryEmbedding
from se3_transformer_pytorch import SE3Transformer


def main():
    found = {}
    torch.manual_seed(0)
    model = Perceiver(
        input_channels=3,
        input_axis=2,
        num_freq_bands=3,
        max_freq=8.0,
        depth=2,
        num_latents=8,
        latent_dim=16,
        cross_heads=1,
        latent_heads=2,
        cross_dim_head=8,
        latent_dim_head=8,
        num_classes=4,
        self_per_cross_attn=1,
    )
    x, y = torch.randn(2, 6, 6, 3), torch.tensor([1, 3])
    found["perceiver"] = train(model, x, lambda m, b: torch.nn.functional.cross_entropy(m(b), y))
    torch.manual_seed(0)
    model = ReformerLM(
        num_tokens=20,
        dim=16,
        depth=2,
        max_seq_len=32,
        heads=2,
        bucket_size=4,
        n_hashes=2,
        causal=True,
        lsh_dropout=0.0,
    )
    tokens = torch.randint(0, 20, (2, 32))
    found["reformer"] = train(
        model, tokens, lambda m, b: torch.nn.functional.cross_entropy(m(b).transpose(1, 2), b)
    )
    torch.manual_seed(0)
    model = EGNN_Network(
        num_tokens=10, dim=8, depth=2, num_nearest_neighbors=3, coor_weights_clamp_value=2.0
    )
    atoms, places = torch.randint(0, 10, (1, 7)), torch.randn(1, 7, 3)
    found["egnn"] = train(model, atoms, lambda m, b: sum(o.square().mean() for o in m(b, places)))
    torch.manual_seed(0)
    model = SE3Transformer(dim=8, heads=2, depth=1, dim_head=4, num_degrees=2, valid_radius=10)
    found["se3"] = train(
        model,
        torch.randn(1, 7, 8),
        lambda m, b: m(b, places, torch.ones(1, 7).bool()).square().mean(),
    )
    rotary = RotaryEmbedding(dim=8)
    q = torch.randn(1, 2, 12, 8)
    found["rotary"] = rotary.rotate_queries_or_keys(q)
    found["local"] = LocalAttention(window_size=4, causal=True, autopad=True)(q, q, q)
    report(**found)


main()

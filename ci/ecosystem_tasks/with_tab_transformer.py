"""tab-transformer-pytorch: transformers over categories and numbers, trained, with attention."""

import torch
from common import reloaded, report, train
from tab_transformer_pytorch import FTTransformer, TabTransformer

SIZES = {"categories": (4, 3, 5), "num_continuous": 3, "dim": 8, "depth": 2, "heads": 2}


def main():
    torch.manual_seed(0)
    kinds = torch.stack([torch.randint(0, n, (16,)) for n in SIZES["categories"]], -1)
    numbers, labels = torch.randn(16, 3), torch.randint(0, 2, (16, 1)).float()
    loss = torch.nn.functional.binary_cross_entropy_with_logits
    found = {}
    for kind, options in (
        (TabTransformer, {"mlp_hidden_mults": (4, 2), "mlp_act": torch.nn.ReLU()}),
        (FTTransformer, {}),
    ):

        def make(kind=kind, options=options):
            return kind(dim_out=1, attn_dropout=0.0, ff_dropout=0.0, **SIZES, **options)

        model, name = make(), kind.__name__
        found[name] = train(model, labels, lambda m, y: loss(m(kinds, numbers), y), rate=1e-2)
        model.eval()
        out, attention = model(kinds, numbers, return_attn=True)
        found[f"{name} out"] = out
        found[f"{name} attention"] = attention
        found[f"{name} again"] = reloaded(model, make).eval()(kinds, numbers)
    report(**found)


main()

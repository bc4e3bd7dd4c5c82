"""x-transformers: a decoder with rotary positions and grouped heads, an encoder, generation."""

import torch
from common import reloaded, report, train
from x_transformers import (
    AutoregressiveWrapper,
    Decoder,
    Encoder,
    TransformerWrapper,
    ViTransformerWrapper,
)


def decoder():
    return TransformerWrapper(
        num_tokens=40, max_seq_len=32,
        attn_layers=Decoder(dim=32, depth=2, heads=4, rotary_pos_emb=True, attn_kv_heads=2,
                            ff_glu=True, use_rmsnorm=True),
    )  # fmt: skip


def main():
    torch.manual_seed(0)
    model = decoder()
    wrapped = AutoregressiveWrapper(model)
    tokens = torch.arange(48).reshape(2, 24) % 40
    found = {"losses": train(wrapped, tokens, lambda m, x: m(x))}
    again = reloaded(model, decoder).eval()
    found["reloaded"] = (again(tokens) - model.eval()(tokens)).abs().max()
    torch.manual_seed(1)
    found["made"] = wrapped.generate(tokens[:, :4], 6, temperature=0.0).tolist()
    picture = ViTransformerWrapper(image_size=16, patch_size=4, num_classes=3,
                                   attn_layers=Encoder(dim=16, depth=2, heads=2))  # fmt: skip
    found["picture"] = picture(torch.rand(2, 3, 16, 16))
    report(**found)


main()

"""bitsandbytes: tensors of four and eight bits, layers of them, by its library for the CPU."""

import bitsandbytes as bnb
import torch
from bitsandbytes import functional as F
from common import report


def main():
    torch.manual_seed(0)
    x = torch.randn(64, 64)
    found = {}
    q, state = F.quantize_blockwise(x, blocksize=256)
    found["blockwise"] = [q.double(), F.dequantize_blockwise(q, state)]
    for kind in ("nf4", "fp4"):
        q, state = F.quantize_4bit(x, quant_type=kind, blocksize=64)
        found[kind] = [q.double(), F.dequantize_4bit(q, state)]
    found["map"] = F.create_dynamic_map()
    layer = bnb.nn.Linear4bit(64, 32, quant_type="nf4", compute_dtype=torch.float32)
    layer.weight = bnb.nn.Params4bit(layer.weight.detach(), quant_type="nf4").to("cpu")
    y = torch.randn(3, 64, requires_grad=True)
    out = layer(y)
    out.square().sum().backward()
    found["linear of four bits"] = [out, y.grad]
    eight = bnb.nn.Linear8bitLt(64, 32, has_fp16_weights=False, threshold=6.0).to("cpu")
    found["linear of eight bits"] = eight(y.detach())
    emb = bnb.nn.StableEmbedding(10, 8)
    found["embedding"] = emb(torch.arange(4))
    report(**found)


main()

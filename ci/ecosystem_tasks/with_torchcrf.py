"""pytorch-crf, loralib, mambapy, pytorch-tcn, torch-dct: layers of sequences and low rank."""

import loralib as lora
import torch
from common import report, train
from mambapy.mamba import Mamba, MambaConfig
from pytorch_tcn import TCN
from torch_dct import dct, dct_2d, idct
from torchcrf import CRF


def main():
    torch.manual_seed(0)
    crf = CRF(4, batch_first=True)
    scores, tags = torch.randn(3, 6, 4, requires_grad=True), torch.randint(0, 4, (3, 6))
    mask = torch.arange(6) < torch.tensor([[6], [4], [2]])
    value = crf(scores, tags, mask=mask, reduction="mean")
    value.backward()
    found = {"crf": [value, scores.grad, crf.transitions.grad], "decoded": crf.decode(scores, mask)}
    net = torch.nn.Sequential(
        lora.Linear(8, 8, r=2, lora_alpha=4),
        torch.nn.ReLU(),
        lora.MergedLinear(8, 6, r=2, enable_lora=[True, False, True]),
        lora.Embedding(3, 6, r=1),
    )[:3]
    lora.mark_only_lora_as_trainable(net)
    x = torch.randn(5, 8)
    found["lora"] = [
        train(net, x, lambda m, b: (m(b) - 1).square().mean(), rate=0.1),
        net.eval()(x),
        sorted(lora.lora_state_dict(net)),
    ]
    mamba = Mamba(MambaConfig(d_model=8, n_layers=2, d_state=4))
    y = torch.randn(2, 8, 8)
    found["mamba"] = train(mamba, y, lambda m, b: (m(b) - 1).square().mean())
    tcn = TCN(
        num_inputs=3,
        num_channels=[4, 4],
        kernel_size=3,
        dropout=0.1,
        causal=True,
        use_skip_connections=True,
    )
    found["tcn"] = [
        train(tcn, torch.randn(2, 3, 12), lambda m, b: m(b).square().mean()),
        tcn.eval()(torch.ones(1, 3, 6)),
    ]
    s = torch.randn(3, 8)
    found["dct"] = [dct(s), idct(dct(s, norm="ortho"), norm="ortho"), dct_2d(s)]
    report(**found)


main()

"""brevitas: layers that round to a few bits while they train, scales and integers of weights."""

import brevitas.nn as qnn
import torch
import torch.nn as nn
from brevitas.quant import (
    Int8WeightPerChannelFloat,
    Int8WeightPerTensorFloat,
    SignedBinaryWeightPerTensorConst,
    Uint8ActPerTensorFloat,
)
from common import reloaded, report, train


class Net(nn.Module):
    def __init__(self, bits=4):
        super().__init__()
        self.inp = qnn.QuantIdentity(bit_width=8, return_quant_tensor=True)
        self.conv = qnn.QuantConv2d(
            1, 4, 3, bias=True, weight_bit_width=bits, weight_quant=Int8WeightPerChannelFloat
        )
        self.relu = qnn.QuantReLU(
            bit_width=bits, act_quant=Uint8ActPerTensorFloat, return_quant_tensor=True
        )
        self.fc = qnn.QuantLinear(
            4 * 36, 3, bias=True, weight_bit_width=bits, weight_quant=Int8WeightPerTensorFloat
        )

    def forward(self, x):
        return self.fc(self.relu(self.conv(self.inp(x))).flatten(1))


def main():
    torch.manual_seed(0)
    x, y = torch.randn(12, 1, 8, 8), torch.randint(0, 3, (12,))
    found = {}
    for bits in (2, 4, 8):
        net = Net(bits)
        found[f"{bits} bits"] = {
            "losses": train(net, x, lambda m, b: nn.functional.cross_entropy(m(b), y), rate=1e-2),
            "scale": net.conv.quant_weight().scale,
            "ints": net.conv.quant_weight().int().float(),
            "out": net.eval()(x[:2]),
        }
    lstm = qnn.QuantLSTM(4, 5)
    out, _ = lstm(torch.randn(3, 2, 4))
    found["lstm"] = out
    mha = qnn.QuantMultiheadAttention(8, 2, batch_first=True)
    found["attention"] = mha(*[torch.randn(2, 3, 8)] * 3)[0]
    binary = qnn.QuantLinear(6, 2, bias=False, weight_quant=SignedBinaryWeightPerTensorConst)
    found["binary"] = binary(torch.randn(2, 6))
    found["again"] = reloaded(net, lambda: Net(8)).eval()(x[:2])
    report(**found)


main()

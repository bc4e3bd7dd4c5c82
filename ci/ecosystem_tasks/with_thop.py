"""thop, torchinfo, torchsummary and ptflops: what tables of layers and counts say of networks."""

import io
from contextlib import redirect_stdout

import ptflops
import thop
import torch
import torchinfo
import torchsummary
from common import report
from torch import nn


def small():
    return nn.Sequential(
        nn.Conv2d(3, 8, 3, stride=2, padding=1, bias=False), nn.BatchNorm2d(8), nn.PReLU(),
        nn.MaxPool2d(2), nn.Upsample(scale_factor=2), nn.ConvTranspose2d(8, 4, 2), nn.GELU(),
        nn.AdaptiveAvgPool2d(2), nn.Flatten(), nn.Linear(16, 5), nn.Softmax(-1),
    )  # fmt: skip


class Words(nn.Module):
    """Embedded words, a recurrent layer, attention."""

    def __init__(self):
        super().__init__()
        self.embed = nn.Embedding(20, 8)
        self.recurrent = nn.LSTM(8, 6, 2, batch_first=True, bidirectional=True)
        self.attention = nn.TransformerEncoderLayer(12, 2, 16, batch_first=True)
        self.out = nn.ParameterDict({"scale": nn.Parameter(torch.ones(12))})

    def forward(self, words):
        return self.attention(self.recurrent(self.embed(words))[0]) * self.out["scale"]


def printed(call):
    """What a call prints, without the spaces at the ends of lines."""
    out = io.StringIO()
    with redirect_stdout(out):
        call()
    return [line.rstrip() for line in out.getvalue().splitlines()]


def main():
    torch.manual_seed(0)
    net, words = small().eval(), Words().eval()
    picture, ids = torch.rand(1, 3, 16, 16), torch.randint(0, 20, (2, 7))
    found = {"thop": thop.profile(net, (picture,), verbose=False)}
    found["thop words"] = thop.profile(words, (ids,), verbose=False)
    found["thop text"] = thop.clever_format([1234567.0, 89.0], "%.2f")
    kinds = "input_size", "output_size", "num_params", "kernel_size", "mult_adds", "trainable"
    info = torchinfo.summary(net, (1, 3, 16, 16), col_names=kinds, verbose=0)
    found["torchinfo"] = str(info)
    found["totals"] = [info.total_params, info.total_mult_adds, info.total_output_bytes]
    found["torchinfo words"] = str(torchinfo.summary(words, input_data=ids, depth=4, verbose=0))
    found["torchsummary"] = printed(lambda: torchsummary.summary(net, (3, 16, 16), device="cpu"))
    for backend in ("pytorch",):
        found[f"ptflops, {backend}"] = ptflops.get_model_complexity_info(
            small(), (3, 16, 16), as_strings=False, backend=backend, print_per_layer_stat=False
        )
    found["layers"] = printed(
        lambda: ptflops.get_model_complexity_info(small(), (3, 16, 16), backend="pytorch")
    )
    report(**found)


main()

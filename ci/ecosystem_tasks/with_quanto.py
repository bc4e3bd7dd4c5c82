"""optimum-quanto: weights and activations of eight bits, calibrated, trained, frozen, reloaded."""

import copy

import torch
from common import report, train
from optimum.quanto import (
    Calibration,
    QTensor,
    freeze,
    qfloat8,
    qint8,
    quantization_map,
    quantize,
    quantize_weight,
    requantize,
)
from torch import nn


def make():
    return nn.Sequential(
        nn.Conv2d(1, 4, 3), nn.ReLU(), nn.Flatten(), nn.LayerNorm(64), nn.Linear(64, 5)
    )


def plain(value):
    """The numbers of a result, whose activations may be quantized."""
    return value.dequantize() if isinstance(value, QTensor) else value


def main():
    found, net, x = {}, make(), torch.randn(6, 1, 6, 6)
    labels = torch.arange(6) % 5
    for weights, activations in ((qint8, None), (qint8, qint8), (qfloat8, qfloat8)):
        name = f"{weights.name} {activations and activations.name}"
        quantized = copy.deepcopy(net)
        quantize(quantized, weights=weights, activations=activations)
        with torch.no_grad(), Calibration(momentum=0.9):
            quantized(x)
        found[name] = plain(quantized(x))
        found[name + " losses"] = train(
            quantized, x, lambda m, x: nn.functional.cross_entropy(plain(m(x)), labels), rate=1e-2
        )
        freeze(quantized)
        quantized.eval()
        found[name + " frozen"] = plain(quantized(x))
        weight = quantized[4].weight
        assert isinstance(weight, QTensor)
        found[name + " weight"] = weight._data.float(), weight._scale, weight.dequantize()
        again = make()
        requantize(again, quantized.state_dict(), quantization_map(quantized))
        found[name + " again"] = plain(again.eval()(x))
        found[name + " map"] = quantization_map(quantized)
    by_row = quantize_weight(net[4].weight.detach(), qint8, axis=0, scale=torch.full((5, 1), 0.01))
    found["row"] = by_row.dequantize(), plain(by_row * 2), by_row.t() @ torch.ones(5, 1)
    report(**found)


torch.manual_seed(0)
main()

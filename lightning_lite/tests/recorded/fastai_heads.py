"""Heads and first layers that fastai makes: `python fastai_heads.py` writes `fastai_heads.json`."""

from __future__ import annotations

import json
from pathlib import Path

HEADS = [
    {},
    {"lin_ftrs": [6, 5]},
    {"lin_ftrs": [6], "ps": [0.1, 0.3]},
    {"lin_ftrs": [6], "concat_pool": False, "first_bn": False},
    {"lin_ftrs": [6], "pool": False, "bn_final": True},
    {"lin_ftrs": [6, 5], "lin_first": True},
    {"lin_ftrs": [], "ps": 0.0, "y_range": [-1, 3]},
]


def describe(head):
    """Names of layers, shares of dropout and shapes of parameters; sums of normalization's."""
    layers = []
    for each in head:
        shapes = {name: list(value.shape) for name, value in each.named_parameters()}
        norm = hasattr(each, "running_mean")
        sums = [round(float(value.sum()), 5) for value in each.parameters()] if norm else []
        layers.append([type(each).__name__, getattr(each, "p", None), shapes, sums])
    return layers


def fill(module, rl):
    """Weights by a formula."""
    with rl.no_grad():
        for number, value in enumerate(module.parameters()):
            value.copy_((rl.arange(float(value.numel())) * 0.7 + number).sin().reshape(value.shape))


def outputs(head, rl, pool):
    """What a head with such weights gives."""
    fill(head, rl)
    x = (rl.arange(3.0 * 4 * 4) * 0.3).cos().reshape(3, 4, 2, 2)
    head.eval()
    return head(x if pool else x[:, :, 0, 0]).detach().tolist()


def first_layer(create_body, rl, n_in):
    """The first layer's weights of a body for so many channels."""
    nn = rl.nn
    net = nn.Sequential(nn.Conv2d(3, 2, 2, bias=False), nn.MaxPool2d(2), nn.Flatten())
    fill(net, rl)
    return create_body(net, n_in=n_in, pretrained=True)[0].weight.detach().tolist()


def main():
    """Record."""
    import torch
    from fastai.vision import learner

    heads = []
    for options in HEADS:
        head = learner.create_head(4, 2, **{**options})
        layers = describe(head)
        found = outputs(head, torch, options.get("pool", True))
        heads.append({"options": options, "layers": layers, "outputs": found})
    firsts = {n: first_layer(learner.create_body, torch, n) for n in (1, 2, 3, 5)}
    text = json.dumps({"heads": heads, "firsts": firsts}) + "\n"
    Path(__file__).with_suffix(".json").write_text(text)


if __name__ == "__main__":
    main()

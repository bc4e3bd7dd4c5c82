"""Networks of timm and U-Nets as fastai makes them: `python fastai_timm.py` writes
`fastai_timm.json`.

timm is a stand-in here, with two networks: one that gives features before it pools, one that has
no pooling of its own.
"""

from __future__ import annotations

import json
import sys
import types
from pathlib import Path

OPTIONS = [
    {},
    {"n_in": 1, "lin_ftrs": [5], "ps": [0.1, 0.2], "first_bn": False},
    {"concat_pool": False, "lin_ftrs": [], "y_range": [-1, 2]},
    {"pool": False, "lin_first": True, "lin_ftrs": [4], "drop_rate": 0.25},
]
UNETS = [{}, {"n_in": 1, "cut": 2}, {"blur": True, "n_in": 2, "y_range": [-1, 1]}]


def stand_in(rl, told):
    """A module in place of timm."""
    nn = rl.nn

    class Network(nn.Module):
        num_features = 6

        def __init__(self, in_chans, pools):
            super().__init__()
            self.conv = nn.Conv2d(in_chans, 6, 3, 2, 1)
            self.default_cfg = {"mean": (0.5, 0.4, 0.3), "std": (0.2, 0.3, 0.4),
                                "pool_size": (2, 2) if pools else None}  # fmt: skip

        def forward_features(self, x):
            return self.conv(x).relu()

        def forward(self, x):
            return self.forward_features(x).mean((2, 3))

    def create_model(arch, pretrained, num_classes, in_chans, **options):
        told.append([arch, pretrained, num_classes, in_chans, sorted(options.items())])
        return Network(in_chans, arch == "pooling")

    module = types.ModuleType("timm")
    module.create_model = create_model
    module.__spec__ = types.SimpleNamespace(name="timm")
    return module


def fill(module, rl):
    """Weights by a formula, in order of size, which frameworks agree on."""
    with rl.no_grad():
        for number, value in enumerate(module.parameters()):
            value.copy_((rl.arange(float(value.numel())) * 0.7 + number).sin().reshape(value.shape))


def picture(rl, n_in):
    """Two pictures."""
    return (rl.arange(2.0 * n_in * 8 * 8) * 0.3).cos().reshape(2, n_in, 8, 8)


def timm_models(create, rl, told):
    """What networks with each set of options give."""
    found = []
    for arch in ("pooling", "flat"):
        for options in OPTIONS:
            told.clear()
            model, facts = create(arch, 2, pretrained=False, **options)
            fill(model, rl)
            out = model.eval()(picture(rl, options.get("n_in", 3)))
            found.append({
                "asked": list(told), "pools": model[0].needs_pool, "outputs": out.detach().tolist(),
                "mean": list(facts["mean"]),
            })  # fmt: skip
    return found


def net(rl):
    """A function that makes a network with a classifier."""
    nn = rl.nn

    def made(pretrained=False, weights=None):
        return nn.Sequential(
            nn.Conv2d(3, 4, 3, 2, 1), nn.Sequential(nn.Conv2d(4, 6, 3, 2, 1), nn.ReLU()),
            nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(6, 5),
        )  # fmt: skip

    return made


def unets(create, rl, **weights):
    """Shapes of weights of U-Nets, in order, and of what they give."""
    found = []
    for options in UNETS:
        model = create(net(rl), 3, (8, 8), **weights, **options)
        out = model.eval()(picture(rl, options.get("n_in", 3)))
        shapes = sorted(list(value.shape) for value in model.parameters())
        found.append({"shapes": shapes, "out": list(out.shape)})
    return found


def main():
    """Record."""
    import torch

    told = []
    sys.modules["timm"] = stand_in(torch, told)
    from fastai.vision import learner

    found = {
        "models": timm_models(learner.create_timm_model, torch, told),
        "unets": unets(learner.create_unet_model, torch, pretrained=False),
    }
    Path(__file__).with_suffix(".json").write_text(json.dumps(found) + "\n")


if __name__ == "__main__":
    main()

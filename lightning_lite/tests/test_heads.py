"""Bodies and heads of networks for pictures are fastai's (recorded values)."""

from __future__ import annotations

import importlib.util
import json
from pathlib import Path

import pytest

import rushlight as rl
from lightning_lite import easy
from rushlight import nn
from rushlight.utils.data import DataLoader, TensorDataset

FOLDER = Path(__file__).with_name("recorded")
RECORDED = json.loads((FOLDER / "fastai_heads.json").read_text())
_spec = importlib.util.spec_from_file_location("fastai_heads", FOLDER / "fastai_heads.py")
fastai_heads = importlib.util.module_from_spec(_spec)
_spec.loader.exec_module(fastai_heads)


@pytest.mark.parametrize("number", range(len(RECORDED["heads"])))
def test_heads(number):
    expected = RECORDED["heads"][number]
    head = easy.create_head(4, 2, **expected["options"])
    names = [layer[0] for layer in expected["layers"]]
    found = json.loads(json.dumps(fastai_heads.describe(head)))
    assert [layer[0] for layer in found] == names
    assert [layer[1:3] for layer in found] == [layer[1:3] for layer in expected["layers"]]
    for mine, theirs in zip(found, expected["layers"], strict=True):
        assert mine[3] == pytest.approx(theirs[3], abs=1e-5)
    outputs = fastai_heads.outputs(head, rl, expected["options"].get("pool", True))
    for mine, theirs in zip(outputs, expected["outputs"], strict=True):
        assert mine == pytest.approx(theirs, rel=1e-4, abs=1e-4)


@pytest.mark.parametrize("n_in", [1, 2, 3, 5])
def test_first_layer_of_other_channels(n_in):
    found = rl.tensor(fastai_heads.first_layer(easy.create_body, rl, n_in))
    expected = rl.tensor(RECORDED["firsts"][str(n_in)])
    assert found.shape == expected.shape
    assert rl.allclose(found, expected, atol=1e-6)


def net():
    return nn.Sequential(
        nn.Sequential(nn.Conv2d(3, 6, 3), nn.ReLU(), nn.MaxPool2d(2)),
        nn.Conv2d(6, 8, 1),
        nn.AdaptiveAvgPool2d(1),
        nn.Linear(8, 5),
    )


def test_where_a_body_ends():
    assert len(easy.create_body(net())) == 2
    assert len(easy.create_body(net(), cut=1)) == 1
    assert type(easy.create_body(net(), cut=lambda model: model[0][0])) is nn.Conv2d
    assert easy.has_pool_type(net()) and not easy.has_pool_type(nn.Linear(1, 1))


@pytest.mark.parametrize(
    ("call", "error", "told"),
    [
        (lambda: easy.create_body(nn.Sequential(nn.Linear(2, 2))), ValueError, "give cut"),
        (lambda: easy.create_body(nn.Sequential(nn.Linear(2, 2)), n_in=1), ValueError, "Conv2d"),
        (lambda: easy.cut_model(net(), "half"), TypeError, "cut='half'"),
        (lambda: easy.create_head(4, 2, [3], ps=[0.1, 0.2, 0.3]), ValueError, "3 shares in ps, 2"),
    ],
)
def test_misuse(call, error, told):
    with pytest.raises(error, match=told):
        call()


def test_weights_of_a_head_are_drawn_by_init():
    model = easy.create_vision_model(net, 2, n_in=1, init=nn.init.ones_, lin_first=True)
    linear = [each for each in model[1] if isinstance(each, nn.Linear)]
    assert all(bool((each.weight == 1).all()) for each in linear)
    assert bool((linear[-1].bias == 0).all()) and linear[0].bias is None
    norm = next(each for each in model[1] if isinstance(each, nn.BatchNorm1d))
    assert float(norm.bias[0]) == pytest.approx(1e-3)
    own = nn.Linear(1, 1)
    assert easy.create_vision_model(net, 2, custom_head=own, init=None)[1] is own


def test_learner_with_a_head_of_its_own():
    data = TensorDataset(rl.randn(8, 1, 8, 8), rl.arange(8) % 2)
    loaders = (DataLoader(data, batch_size=4), DataLoader(data, batch_size=4))
    head = nn.Sequential(nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(8, 2))

    def halves(model):
        return [list(model[0].parameters()), list(model[1].parameters())]

    learn = easy.vision_learner(
        loaders, net, n_out=2, n_in=1, custom_head=head, splitter=halves, accelerator="cpu",
        enable_progress_bar=False,
    )  # fmt: skip
    before = head[2].weight.detach().clone()
    learn.fit(1, 0.1)
    assert learn.model[1] is head and not bool((head[2].weight == before).all())
    assert learn.recipe is None
    other = easy.vision_learner(
        loaders, net, n_out=2, n_in=1, cut=1, lin_ftrs=[5], concat_pool=False, accelerator="cpu"
    )
    assert len(other.model[0]) == 1 and other.model[1][4].weight.shape == (5, 6)

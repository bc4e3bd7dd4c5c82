"""Models of the family as exported programs: the same results, with writes and without."""

import copy

import pytest

import rushlight
from rushlight.export import export, load, save
from rushlight_vision import models


def small_transformer():
    return models.VisionTransformer(32, 16, 2, 2, 16, 32, num_classes=5)


MODELS = {
    "resnet18": lambda: models.resnet18(num_classes=5),
    "mobilenet_v2": lambda: models.mobilenet_v2(num_classes=5),
    "shufflenet_v2_x0_5": lambda: models.shufflenet_v2_x0_5(num_classes=5),
    "vision_transformer": small_transformer,
}


@pytest.mark.parametrize("name", MODELS)
def test_programs_give_what_models_give(name, tmp_path):
    rushlight.manual_seed(0)
    model, x = MODELS[name]().eval(), rushlight.randn(2, 3, 32, 32)
    with rushlight.no_grad():
        expected = model(x)
        program = export(model, (x,))
        targets = {str(n.target) for n in program.graph.nodes if n.op == "call_function"}
        assert all(t.startswith("aten.") or "getitem" in t for t in targets)
        rushlight.testing.assert_close(program.module()(x), expected)
        apart = program.run_decompositions()
        assert apart.functional
        rushlight.testing.assert_close(apart.module()(x), expected, rtol=1e-4, atol=1e-5)
        save(program, tmp_path / "model.pt2")
        rushlight.testing.assert_close(load(tmp_path / "model.pt2").module()(x), expected)


def test_statistics_of_training_are_kept():
    rushlight.manual_seed(0)
    model, x = models.resnet18(num_classes=5), rushlight.randn(2, 3, 32, 32)
    module = copy.deepcopy(export(model, (x,)).run_decompositions().module())
    before = module.bn1.running_mean.clone()
    rushlight.testing.assert_close(module(x), model(x), rtol=1e-4, atol=1e-4)
    assert not rushlight.equal(module.bn1.running_mean, before)
    assert module.bn1.num_batches_tracked.item() == 1

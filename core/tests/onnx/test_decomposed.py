"""Programs of core ATen as ONNX: what ONNX Runtime computes is what the model does."""

from __future__ import annotations

import io

import pytest

import rushlight as torch
from rushlight import nn

pytest.importorskip("onnx")
runtime = pytest.importorskip("onnxruntime")

MODELS = {
    "pictures": nn.Sequential(
        nn.Conv2d(3, 4, 3, padding=1, bias=False), nn.BatchNorm2d(4), nn.ReLU6(), nn.MaxPool2d(2),
        nn.GroupNorm(2, 4), nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(4, 2), nn.Softmax(1),
    ),
    "transposed": nn.ConvTranspose2d(3, 4, 3, 2, 1, 1),
    "same": nn.Conv2d(3, 6, 3, padding="same", dilation=2, groups=3),
    "rows": nn.Sequential(nn.LayerNorm(6), nn.Linear(6, 2), nn.SiLU()),
}  # fmt: skip


@pytest.mark.parametrize("name", MODELS)
def test_decomposed_programs(name):
    torch.manual_seed(0)
    model, x = MODELS[name].eval(), torch.randn(2, 3, 6, 6)
    program = torch.export.export(model, (x,)).run_decompositions()
    file = io.BytesIO()
    torch.onnx.export(program, (x,), file)
    session = runtime.InferenceSession(file.getvalue(), providers=["CPUExecutionProvider"])
    (found,) = session.run(None, {session.get_inputs()[0].name: x.numpy()})
    torch.testing.assert_close(torch.tensor(found), model(x).detach(), rtol=1e-4, atol=1e-5)


def test_dropout_of_decomposed_programs_in_training():
    model, x = nn.Sequential(nn.Dropout(0.5), nn.LSTM(4, 3, 2, dropout=0.5)), torch.ones(5, 2, 4)
    program = torch.export.export(model, (x,)).run_decompositions()
    assert "aten.native_dropout.default" in str(program.graph)
    file = io.BytesIO()
    torch.onnx.export(program, (x,), file)
    session = runtime.InferenceSession(file.getvalue())
    found = session.run(None, {session.get_inputs()[0].name: x.numpy()})
    assert [each.shape for each in found] == [(5, 2, 3), (2, 2, 3), (2, 2, 3)]


def test_dropped_elements_are_zero_and_the_others_scaled():
    model, x = nn.Dropout(0.75), torch.ones(200)
    file = io.BytesIO()
    torch.onnx.export(torch.export.export(model, (x,)).run_decompositions(), (x,), file)
    session = runtime.InferenceSession(file.getvalue())
    (found,) = session.run(None, {session.get_inputs()[0].name: x.numpy()})
    assert set(found.tolist()) == {0.0, 4.0} and 20 < (found != 0).sum() < 90


def test_masks_of_dropout_in_evaluation():
    class Model(nn.Module):
        def forward(self, x):
            return torch.native_dropout(x, 0.5, False)

    x, file = torch.randn(2, 3), io.BytesIO()
    torch.onnx.export(torch.export.export(Model(), (x,)), (x,), file)
    session = runtime.InferenceSession(file.getvalue())
    found, mask = session.run(None, {session.get_inputs()[0].name: x.numpy()})
    assert found.tolist() == x.tolist() and mask.tolist() == [[True] * 3] * 2


class Losses(nn.Module):
    """Losses that ATen makes of other ops, circular padding, unpooling and general functions."""

    def forward(self, x):
        F, signs = nn.functional, x.round() * 2 - 1
        pooled, indices = F.max_pool2d(x[None], 2, return_indices=True)
        return (
            F.margin_ranking_loss(x, x * x, signs, 0.1), F.hinge_embedding_loss(x, signs),
            F.cosine_embedding_loss(x[0], x[1], signs[0, :, 0]), F.pairwise_distance(x, x * x),
            F.triplet_margin_loss(x, x * x, x + 1, swap=True),
            F.kl_div(x.log(), x, reduction="sum"),
            F.poisson_nll_loss(x, x * 3, False, True), F.pad(x, (1, 2), "circular"),
            F.max_unpool2d(pooled, indices, 2), torch.lerp(x, x + 1, x), x.std(1), x.roll(1, 2),
        )  # fmt: skip


@pytest.mark.parametrize("decomposed", [False, True])
def test_losses_and_functions(decomposed):
    torch.manual_seed(0)
    model, x = Losses(), torch.rand(2, 4, 6) * 0.8 + 0.1
    program, file = torch.export.export(model, (x,)), io.BytesIO()
    torch.onnx.export(program.run_decompositions() if decomposed else program, (x,), file)
    session = runtime.InferenceSession(file.getvalue(), providers=["CPUExecutionProvider"])
    found = session.run(None, {session.get_inputs()[0].name: x.numpy()})
    torch.testing.assert_close(list(map(torch.tensor, found)), list(model(x)), rtol=1e-4, atol=1e-5)

"""What models compute of weights alone, as constants of their ONNX files; diagonals of any size."""

from __future__ import annotations

import numpy as np
import pytest

import rushlight as torch
from rushlight import nn
from rushlight.onnx import errors

onnx = pytest.importorskip("onnx")
runtime = pytest.importorskip("onnxruntime")
AUTO = torch.export.Dim.AUTO


class OfWeights(nn.Module):
    """Factorizations, solvers and exponentials of a parameter and a buffer."""

    def __init__(self):
        super().__init__()
        torch.manual_seed(0)
        self.weight = nn.Parameter(torch.randn(4, 4))
        self.register_buffer("shift", torch.eye(4) * 3)

    def forward(self, x):
        a = self.weight @ self.weight.T + self.shift
        q, r = torch.linalg.qr(self.weight)
        turned = torch.linalg.matrix_exp(self.weight - self.weight.T) @ q.abs() @ r.abs()
        return (
            x @ torch.linalg.inv(a), x @ torch.linalg.cholesky(a),
            x * torch.linalg.svdvals(self.weight), x @ turned, x * torch.logdet(a),
        )  # fmt: skip


class Orthogonal(nn.Module):
    def __init__(self):
        super().__init__()
        parametrizations = nn.utils.parametrizations
        self.first = parametrizations.orthogonal(nn.Linear(4, 4))
        self.second = parametrizations.spectral_norm(nn.Linear(4, 4)).eval()

    def forward(self, x):
        return self.second(self.first(x))


def compare(model, shapes, *several):
    made = torch.onnx.export(model, several[0], dynamic_shapes=shapes).model_proto
    onnx.checker.check_model(made, full_check=True)
    session = runtime.InferenceSession(made.SerializeToString())
    names = [value.name for value in session.get_inputs()]
    for given in several:
        found = session.run(None, {n: x.numpy() for n, x in zip(names, given, strict=True)})
        expected = model(*given)
        expected = expected if isinstance(expected, tuple) else (expected,)
        for theirs, ours in zip(found, expected, strict=True):
            np.testing.assert_allclose(theirs, ours.detach().numpy(), rtol=1e-4, atol=1e-5)
    return made


@pytest.mark.parametrize("shapes", [None, ({0: AUTO},)])
@pytest.mark.parametrize("model", [OfWeights, Orthogonal])
def test_of_weights_alone(model, shapes):
    inputs = [(torch.randn(rows, 4),) for rows in ((3,) if shapes is None else (3, 8))]
    made = compare(model().eval(), shapes, *inputs)
    assert not {node.op_type for node in made.graph.node} & {"Loop", "If", "Scan"}


def test_of_an_input_it_is_refused():
    class OfInputs(nn.Module):
        def forward(self, x):
            return torch.linalg.matrix_exp(x)

    with pytest.raises(errors.UnsupportedOperatorError, match="there is no translation of it"):
        torch.onnx.export(OfInputs(), (torch.randn(3, 3),))


def test_draws_are_no_weights():
    class Draws(nn.Module):
        def __init__(self):
            super().__init__()
            self.weight = nn.Parameter(torch.randn(3, 3))

        def forward(self, x):
            return x @ torch.linalg.matrix_exp(self.weight * torch.rand(3, 3))

    with pytest.raises(errors.UnsupportedOperatorError, match="linalg_matrix_exp"):
        torch.onnx.export(Draws(), (torch.randn(3, 3),))


class Diagonals(nn.Module):
    def forward(self, x, y):
        scattered = torch.diagonal_scatter(x, torch.diagonal(y, 1), 1)
        return torch.diagonal(x, -1) * 2, torch.trace(x @ y.T), scattered, torch.diag(x)


class Scattered(nn.Module):
    def forward(self, x, i):
        zeros = torch.zeros_like(x)
        return zeros.scatter_add(0, i, x), zeros.scatter(1, i, x), x.scatter_reduce(0, i, x, "amax")


def test_diagonals_at_other_sizes():
    sizes = (5, 9), (4, 9), (3, 12), (4, 17)
    compare(
        Diagonals(), ({0: AUTO, 1: AUTO}, {0: AUTO, 1: AUTO}),
        *[(torch.randn(*size), torch.randn(*size)) for size in sizes],
    )  # fmt: skip


def test_scatters_at_other_sizes():
    several = [(torch.randn(n, 4), torch.arange(4).roll(1).repeat(n, 1) % n) for n in (4, 7, 12)]
    compare(Scattered(), ({0: AUTO}, {0: AUTO}), *several)


class Losses(nn.Module):
    def forward(self, x, target):
        functional, weight = nn.functional, torch.tensor([2.0, 0.5, 1.0, 3.0])
        shares = target.sigmoid()
        return tuple(
            loss
            for reduction in ("none", "mean", "sum")
            for loss in (
                functional.huber_loss(x, target, reduction=reduction, delta=0.7),
                functional.binary_cross_entropy_with_logits(
                    x, shares, weight, reduction=reduction, pos_weight=weight + 1
                ),
            )
        )


def test_losses_at_other_sizes():
    several = [(3 * torch.randn(n, 4), torch.randn(n, 4)) for n in (4, 7, 12)]
    rows = {0: torch.export.Dim("n")}
    compare(Losses(), (rows, rows), *several)

"""Padding to a multiple of a number, and maps of the image plane, in programs with free sizes."""

import io

import numpy as np
import pytest

import rushlight
from rushlight.export import Dim, export, load, save

torch = pytest.importorskip("torch")


def programs(library):
    functional = library.nn.functional
    return {
        "missing": lambda x: functional.pad(x, (0, -x.shape[-1] % 4)).unfold(-1, 4, 4).mean(-1),
        "more": lambda x: functional.pad(x, (0, (8 - x.shape[-1] % 8) % 8, 1, 0)),
        "rest": lambda x: x[:, : x.shape[-1] - x.shape[-1] % 3].reshape(x.shape[0], -1, 3),
        "above": lambda x: functional.pad(x, (0, (x.shape[-1] + 6) // 7 * 7 - x.shape[-1])),
        "shifted": lambda x: x * ((x.shape[-1] + 2) % 5),
    }


@pytest.mark.parametrize("name", list(programs(rushlight)))
def test_what_is_missing_to_a_multiple(name):
    class Model(rushlight.nn.Module):
        def forward(self, x):
            return programs(rushlight)[name](x)

    def values(library, length):
        return library.arange(2.0 * length).reshape(2, length) / 7

    shapes = ({0: Dim("b"), 1: Dim("t", min=3)},)
    program = export(Model(), (values(rushlight, 6),), dynamic_shapes=shapes)
    file, model = io.BytesIO(), io.BytesIO()
    save(program, file)
    theirs = torch.export.load(io.BytesIO(file.getvalue())).module()
    ours = load(io.BytesIO(file.getvalue())).module()
    runtime = pytest.importorskip("onnxruntime")
    rushlight.onnx.export(program, f=model)
    session = runtime.InferenceSession(model.getvalue(), providers=["CPUExecutionProvider"])
    for length in (*range(3, 20), 64, 65, 127, 1000):
        x = values(rushlight, length)
        right = Model()(x).numpy()
        expected = programs(torch)[name](values(torch, length)).numpy()
        np.testing.assert_allclose(expected, right, rtol=1e-6)
        for run in (program.module(), ours, theirs):
            given = values(torch, length) if run is theirs else x
            np.testing.assert_allclose(np.asarray(run(given)), right, rtol=1e-6)
        (found,) = session.run(None, {session.get_inputs()[0].name: x.numpy()})
        np.testing.assert_allclose(found, right, rtol=1e-6)


def test_spatial_transformers_of_any_batch():
    class Model(rushlight.nn.Module):
        def forward(self, x, theta):
            grid = rushlight.nn.functional.affine_grid(theta, x.shape, align_corners=False)
            return rushlight.nn.functional.grid_sample(x, grid, align_corners=False)

    x, theta = rushlight.rand(5, 1, 4, 6), rushlight.rand(5, 2, 3)
    batch = Dim("b")
    program = export(Model(), (x[:2], theta[:2]), dynamic_shapes=({0: batch}, {0: batch}))
    found, expected = program.module()(x, theta).numpy(), Model()(x, theta).numpy()
    np.testing.assert_allclose(found, expected, rtol=1e-5, atol=1e-6)

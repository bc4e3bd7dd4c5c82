"""deepxde: differential equations solved by networks, also inverse ones, operators learned."""

import os

os.environ["DDE_BACKEND"] = "pytorch"

import deepxde as dde
import numpy as np
import torch
from common import report


def start():
    dde.config.set_default_float("float64")
    dde.config.set_random_seed(1)


def poisson(found):
    """-u'' = pi^2 sin(pi x), with boundaries of two kinds, by Adam and by L-BFGS."""
    start()
    line = dde.geometry.Interval(-1, 1)

    def equation(x, y):
        return -dde.grad.hessian(y, x) - np.pi**2 * torch.sin(np.pi * x)

    def solution(x):
        return np.sin(np.pi * x)

    ends = [
        dde.icbc.DirichletBC(line, solution, lambda x, on: on and dde.utils.isclose(x[0], -1)),
        dde.icbc.NeumannBC(line, lambda x: -np.pi, lambda x, on: on and dde.utils.isclose(x[0], 1)),
    ]
    data = dde.data.PDE(line, equation, ends, 16, 2, solution=solution, num_test=20)
    net = dde.nn.FNN([1, 12, 12, 1], "tanh", "Glorot uniform")
    model = dde.Model(data, net)
    model.compile(
        "adam",
        lr=0.01,
        metrics=["l2 relative error"],
        loss_weights=[1, 10, 1],
        decay=("step", 10, 0.9),
    )
    history, _ = model.train(iterations=20, display_every=5, verbose=0)
    found["poisson"] = history.loss_train + history.loss_test + history.metrics_test
    dde.optimizers.set_LBFGS_options(maxiter=10)
    dde.optimizers.config.LBFGS_options.update(iter_per_step=5, fun_per_step=8)
    model.compile("L-BFGS")
    history, _ = model.train(verbose=0, display_every=5)
    found["poisson l-bfgs"] = history.loss_train[-1]
    found["poisson said"] = model.predict(line.uniform_points(5))
    found["poisson residual"] = model.predict(line.uniform_points(5), operator=equation)


def inverse(found):
    """The rate of a diffusion in time, from points where its solution is known."""
    start()
    rate = dde.Variable(2.0)
    place = dde.geometry.GeometryXTime(dde.geometry.Interval(-1, 1), dde.geometry.TimeDomain(0, 1))

    def equation(x, y):
        slope = dde.grad.jacobian(y, x, i=0, j=1)
        force = torch.exp(-x[:, 1:]) * torch.sin(np.pi * x[:, :1]) * (1 - np.pi**2)
        return slope - rate * dde.grad.hessian(y, x, i=0, j=0) + force

    def solution(x):
        return np.sin(np.pi * x[:, :1]) * np.exp(-x[:, 1:])

    points = np.stack([np.linspace(-1, 1, 6), np.full(6, 0.5)], 1)
    data = dde.data.TimePDE(
        place, equation,
        [
            dde.icbc.DirichletBC(place, solution, lambda _, on: on),
            dde.icbc.IC(place, solution, lambda _, on: on),
            dde.icbc.PointSetBC(points, solution(points)),
        ],
        num_domain=20, num_boundary=8, num_initial=6, anchors=points,
        solution=solution, num_test=30,
    )  # fmt: skip
    net = dde.nn.PFNN([2, 8, [8], [8], 1], "tanh", "Glorot normal")
    net.apply_output_transform(
        lambda x, y: x[:, 1:] * (1 - x[:, :1] ** 2) * y + torch.sin(np.pi * x[:, :1])
    )
    model = dde.Model(data, net)
    model.compile("adam", lr=0.01, external_trainable_variables=rate)
    resample = dde.callbacks.PDEPointResampler(period=5)
    history, _ = model.train(iterations=10, display_every=5, callbacks=[resample], verbose=0)
    found["inverse"] = [history.loss_train, float(rate.detach())]


def system(found):
    """Two equations of one independent variable, with a network of features."""
    start()
    time = dde.geometry.TimeDomain(0, 2)

    def equations(x, y):
        return [dde.grad.jacobian(y, x, i=0) - y[:, 1:], dde.grad.jacobian(y, x, i=1) + y[:, :1]]

    starts = [
        dde.icbc.IC(time, lambda x: 0.0, lambda _, on: on, component=0),
        dde.icbc.IC(time, lambda x: 1.0, lambda _, on: on, component=1),
    ]
    data = dde.data.PDE(time, equations, starts, 12, 2, num_test=10)
    net = dde.nn.FNN(
        [1, 10, 10, 2], ["sin", "swish", "tanh"], "He normal", regularization=["l2", 1e-4]
    )
    net.apply_feature_transform(lambda t: torch.tanh(t))
    model = dde.Model(data, net)
    model.compile("rmsprop", lr=0.005)
    history, _ = model.train(iterations=10, display_every=5, verbose=0)
    found["system"] = history.loss_train
    model.compile("adam", lr=0.005, loss="MAE")
    history, _ = model.train(iterations=4, display_every=2, verbose=0)
    found["system mean"] = history.loss_train[-1]


def operators(found):
    """The integral of a function, by DeepONet, and on a grid."""
    start()
    places = np.linspace(0, 1, 10, dtype=np.float64)
    functions = dde.data.GRF(1.0, length_scale=0.3)
    features = functions.random(12)
    values = functions.eval_batch(features, places[:, None]).astype(np.float64)
    sums = np.cumsum(values, 1) / 10
    grid = places[:, None]
    data = dde.data.TripleCartesianProd((values[:8], grid), sums[:8], (values[8:], grid), sums[8:])
    net = dde.nn.DeepONetCartesianProd([10, 16, 12], [1, 16, 12], "relu", "Glorot normal")
    model = dde.Model(data, net)
    model.compile("adam", lr=0.01, metrics=["mean l2 relative error"])
    history, _ = model.train(iterations=10, batch_size=4, display_every=5, verbose=0)
    found["operator"] = history.loss_train + history.metrics_test
    found["operator said"] = model.predict((values[8:], grid))


def regression(found):
    """A function from points, with dropout, saved and restored."""
    start()
    data = dde.data.Function(
        dde.geometry.Rectangle([0, 0], [1, 2]), lambda x: x[:, :1] * np.sin(x[:, 1:]), 24, 10
    )
    model = dde.Model(data, dde.nn.FNN([2, 16, 1], "elu", "He uniform"))
    model.compile("adam", lr=0.01, metrics=["MSE"])
    early = dde.callbacks.EarlyStopping(patience=100)
    history, state = model.train(
        iterations=12,
        batch_size=8,
        display_every=4,
        callbacks=[early],
        model_save_path="kept",
        verbose=0,
    )
    found["function"] = [history.loss_train, history.metrics_test, state.best_y]
    again = dde.Model(data, dde.nn.FNN([2, 16, 1], "elu", "He uniform"))
    again.compile("adam", lr=0.01)
    again.restore("kept-12.pt", verbose=0)
    found["restored"] = again.predict(data.test_x)


def plain(value):
    """Arrays of NumPy as tensors, of which figures are made."""
    if isinstance(value, (np.ndarray, np.generic)):
        return torch.as_tensor(np.asarray(value))
    if isinstance(value, (list, tuple)):
        return [plain(item) for item in value]
    return value


def main():
    found = {}
    for part in (poisson, inverse, system, operators, regression):
        part(found)
    report(**{name: plain(value) for name, value in found.items()})


main()

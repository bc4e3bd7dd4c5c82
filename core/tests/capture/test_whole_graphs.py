"""Compiled inference gives eager's numbers, and guards notice what changes between calls."""

from __future__ import annotations

import copy
import functools
import inspect
import random
import time
import warnings

import numpy
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import rushlight
from rushlight import _dynamo, nn
from rushlight.capture.entry import NOT_TAKEN, WholeGraphs

SCALE = 2.0
OPTIONS = {"shift": 1.0}


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.conv, self.norm = nn.Conv2d(3, 8, 3, padding=1, bias=False), nn.BatchNorm2d(8)
        self.head, self.scale, self.sizes = nn.Linear(8, 4), 1.5, [1, 2]

    def forward(self, x):
        x = nn.functional.relu(self.norm(self.conv(x)))
        return self.head(x.mean((2, 3))) * self.scale * SCALE + len(self.sizes)


@pytest.fixture
def net():
    rushlight.manual_seed(0)
    model = Net()
    model(rushlight.randn(4, 3, 8, 8))  # statistics that are not the first ones
    return model.eval()


@pytest.fixture
def image():
    rushlight.manual_seed(1)
    return rushlight.randn(2, 3, 8, 8)


def graphs_of(compiled):
    """The graphs of a compiled module or function."""
    function = compiled._run if isinstance(compiled, nn.Module) else compiled
    return next(c.cell_contents for c in function.__closure__
                if isinstance(c.cell_contents, WholeGraphs))  # fmt: skip


def folded(entry):
    """The steps of a graph with a batch norm in their weights."""
    return [step for step in entry.frozen if getattr(step, "norm", None) is not None]


def check(model, compiled, *inputs):
    """Both give the same; whether a graph did."""
    with rushlight.no_grad():
        rushlight.testing.assert_close(compiled(*inputs), model(*inputs), rtol=1e-5, atol=1e-5)
        return graphs_of(compiled).call(inputs, {}) is not NOT_TAKEN


@pytest.mark.parametrize("freezing", [False, True])
def test_equals_eager_and_folds(net, image, freezing):
    """Weights are computed from others only where that was asked for."""
    compiled = rushlight.compile(net, options={"freezing": freezing})
    assert check(net, compiled, image) and check(net, compiled, image)
    ((entry,),) = graphs_of(compiled).entries.values()
    assert len(folded(entry)) == freezing


def test_a_setting_freezes_everywhere(net, image):
    config = rushlight._inductor.config
    config.freezing = True
    try:
        compiled = rushlight.compile(net)
        assert check(net, compiled, image)
    finally:
        config.freezing = False
    ((entry,),) = graphs_of(compiled).entries.values()
    assert len(folded(entry)) == 1


def test_writes_behind_the_ops_are_seen_where_nothing_is_frozen(net, image):
    compiled = rushlight.compile(net)
    assert check(net, compiled, image)
    net.conv.weight.data.mul_(2.0)
    net.norm.running_var.numpy()[:] *= 3.0
    net.norm.weight.data.fill_(0.3)
    assert check(net, compiled, image)


def test_activations_in_place_do_not_keep_from_folding(image):
    layers = nn.Conv2d(3, 8, 3), nn.BatchNorm2d(8), nn.ReLU(inplace=True), nn.Conv2d(8, 2, 1)
    model = nn.Sequential(*layers).eval()
    compiled = rushlight.compile(model, options={"freezing": True})
    assert check(model, compiled, image)
    ((entry,),) = graphs_of(compiled).entries.values()
    assert len(folded(entry)) == 1


def changes():
    def in_place(net):
        with rushlight.no_grad():
            net.conv.weight.mul_(0.5)

    def statistics(net):
        net.norm.running_mean.add_(1.0)

    def replaced(net):
        net.head.weight = nn.Parameter(rushlight.ones(4, 8))

    def data(net):
        net.conv.weight.data = rushlight.ones(8, 3, 3, 3)

    def loaded(net):
        state = {k: v * 0.5 if v.is_floating_point() else v for k, v in net.state_dict().items()}
        net.load_state_dict(state)

    def submodule(net):
        net.head = nn.Linear(8, 4)

    def number(net):
        net.scale = 3.0

    def kind_of_number(net):
        net.norm.eps = 1e-2

    def contents(net):
        net.sizes.append(3)

    def training(net):
        net.train()

    def forward(net):
        net.head.forward = lambda x: x[:, :4]

    def half(net):
        net.double().float()

    def table(net):
        net.head._parameters["bias"] = nn.Parameter(rushlight.ones(4))

    def larger(net):
        net.head.weight.data, net.head.bias.data = rushlight.ones(6, 8), rushlight.ones(6)

    def hook(net):
        net.head.register_forward_hook(lambda m, args, out: out + 1)

    return [value for value in locals().values() if callable(value)]


@pytest.mark.parametrize("freezing", [False, True])
@pytest.mark.parametrize("change", changes(), ids=lambda f: f.__name__)
def test_guards_notice(net, image, change, freezing):
    compiled = rushlight.compile(net, options={"freezing": freezing})
    assert check(net, compiled, image)
    change(net)
    with rushlight.no_grad():
        twin = copy.deepcopy(net)  # batch statistics move where both train
        rushlight.testing.assert_close(compiled(image), twin(image), rtol=1e-5, atol=1e-5)


def test_globals_closures_and_functions(image, monkeypatch):
    factor, model = 2.0, lambda x: x * SCALE + factor + OPTIONS["shift"]
    compiled = rushlight.compile(model)
    assert check(model, compiled, image)
    monkeypatch.setitem(globals(), "SCALE", 5.0)
    assert check(model, compiled, image)
    factor = 7.0
    assert check(model, compiled, image)
    monkeypatch.setitem(OPTIONS, "shift", 11.0)
    assert check(model, compiled, image)


def test_shapes_dtypes_and_arguments(image):
    def model(x, y=1, *, power=2):
        return x**power + y

    compiled = rushlight.compile(model)
    for x in (image, image[0], image.double(), image.transpose(2, 3)):
        assert check(model, compiled, x)
        for options in ({"power": 3}, {"y": image[0]}, {"y": 1.0}):
            rushlight.testing.assert_close(compiled(x.float(), **options),
                                           model(x.float(), **options))  # fmt: skip


def test_gradients_come_back(net, image):
    compiled = rushlight.compile(net)
    assert check(net, compiled, image)
    compiled(image).sum().backward()
    found = [p.grad.clone() for p in net.parameters()]
    net.zero_grad()
    net(image).sum().backward()
    for a, b in zip(found, net.parameters(), strict=True):
        rushlight.testing.assert_close(a, b.grad, rtol=1e-4, atol=1e-4)
    x = image.clone().requires_grad_()
    assert compiled(x).requires_grad


def test_training_is_not_captured(net, image):
    compiled = rushlight.compile(net.train())
    for number in range(12):
        net.scale = float(number)  # would be a capture each
        compiled(image).sum().backward()
    assert not graphs_of(compiled).entries and not graphs_of(compiled).broken


def test_compiled_parts_of_compiled_programs(net, image):
    net.conv.compile()
    inner = rushlight.compile(lambda x: x * 2)
    assert check(lambda x: inner(net(x)), rushlight.compile(lambda x: inner(net(x))), image)
    with rushlight.no_grad():
        rushlight.testing.assert_close(net.conv(image), nn.functional.conv2d(
            image, net.conv.weight, None, 1, 1))  # fmt: skip


def test_autocast_sees_every_op(net, image):
    compiled = rushlight.compile(net)
    assert check(net, compiled, image)
    with rushlight.autocast("cpu", rushlight.bfloat16):
        assert compiled(image).dtype is net(image).dtype


def test_views_and_writes(image):
    compiled = rushlight.compile(lambda x: x[0])
    with rushlight.no_grad():
        view = compiled(image)
        assert view.data_ptr() == image.data_ptr()
        first, second = (rushlight.compile(lambda x: x.add_(1) * 2)(image) for _ in range(2))
        rushlight.testing.assert_close(second, first + 2)
        assert rushlight.compile(lambda x: x)(image) is image


def test_random_numbers_are_eagers(image):
    def model(x):
        return nn.functional.dropout(x, 0.5, True) + rushlight.rand(2, 3, 8, 8)

    compiled = rushlight.compile(model)
    found = []
    for function in (model, compiled):
        rushlight.manual_seed(3)
        found.append([function(image) for _ in range(3)])
    for a, b in zip(*found, strict=True):
        assert rushlight.equal(a, b)
    assert not rushlight.equal(found[1][0], found[1][1])


class Counting(nn.Module):
    def __init__(self):
        super().__init__()
        self.calls = 0

    def forward(self, x):
        self.calls += 1
        return x + self.calls


def test_side_effects_happen_once_a_call(image, capsys):
    model = Counting()
    compiled = rushlight.compile(model)
    for number in (1, 2, 3):
        rushlight.testing.assert_close(compiled(image), image + number)
    printing = rushlight.compile(lambda x: [print("seen"), x * 2][1])
    printing(image), printing(image)
    assert capsys.readouterr().out == "seen\nseen\n"
    noted = []
    noting = rushlight.compile(lambda x: (noted.append(1), x * 2)[1])
    noting(image), noting(image)
    assert noted == [1, 1]


@functools.lru_cache
def remembered(number):
    return number * SCALE


IMPURE = {
    "random": lambda x: x * random.random(),
    "time": lambda x: x + time.time(),
    "numpy": lambda x: x * numpy.random.rand(),
    "cache": lambda x: x * remembered(2),
    "seed": lambda x: (rushlight.manual_seed(1), x + rushlight.rand(1))[1],
    "type": lambda x: x + (1 if type(x) is rushlight.Tensor else 2),
    "address": lambda x: x + x.data_ptr() % 7,
    "text": lambda x: x * len(repr(x)),
    "elements": lambda x: x[x > 0],
}


@pytest.mark.parametrize("name", IMPURE)
def test_what_is_no_matter_of_tensors_breaks(name, image):
    assert _dynamo.explain(IMPURE[name])(image).captured_share == 0.0


def breaks(x):
    if x.sum() > 0:
        return x + 1
    return x - 1


def test_breaks_are_told(image):
    report = _dynamo.explain(breaks)(image)
    assert (report.graph_count, report.graph_break_count, report.captured_share) == (2, 1, 0.0)
    assert "if x.sum() > 0" in report.break_reasons[0].reason and "Break Reason 1" in str(report)
    compiled = rushlight.compile(breaks)
    for x in (image.abs(), -image.abs()):
        assert rushlight.equal(compiled(x), breaks(x))
    with pytest.raises(_dynamo.exc.Unsupported, match=r"if x\.sum\(\) > 0"):
        rushlight.compile(breaks, fullgraph=True)(image)


def test_programs_that_always_break_are_not_tried_for_ever():
    def program(x):
        return x * x.sum().item()

    compiled = rushlight.compile(program)
    with rushlight.no_grad():
        for n in range(1, 70):
            assert rushlight.equal(compiled(rushlight.ones(n)), program(rushlight.ones(n)))
    assert graphs_of(compiled).full and len(graphs_of(compiled).broken) == 64


def test_explain_of_a_graph(net, image):
    with rushlight.no_grad():
        report = _dynamo.explain(net)(image)
    assert (report.graph_count, report.graph_break_count, report.break_reasons) == (1, 0, [])
    assert report.captured_share == 1.0 and report.op_count >= 5


def test_recompile_limit_and_reset(net, image):
    compiled = rushlight.compile(net)
    with rushlight.no_grad(), _dynamo.config.patch(recompile_limit=2):
        for scale in (1.0, 2.0):
            net.scale = scale
            compiled(image)
        net.scale = 3.0
        with pytest.warns(UserWarning, match=r"Net\.scale was 2\.0 and is 3\.0"):
            compiled(image)
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            rushlight.testing.assert_close(compiled(image), net(image))
        assert graphs_of(compiled).call((image,), {}) is NOT_TAKEN
        _dynamo.reset()
        assert check(net, compiled, image)


STEPS = (
    lambda x, y: x + y, lambda x, y: x.relu(), lambda x, y: rushlight.cat([x, y], 0)[:4],
    lambda x, y: (x * y).mean(-1, keepdim=True) + y, lambda x, y: x.T.contiguous().T,
    lambda x, y: nn.functional.softmax(x, -1), lambda x, y: x.clone().mul_(0.5),
    lambda x, y: x.reshape(2, 8).reshape(4, 4), lambda x, y: x @ y, lambda x, y: x.flip(0),
    lambda x, y: rushlight.where(x > 0, x, y), lambda x, y: x.sort(-1).values,
)  # fmt: skip


@given(st.lists(st.sampled_from(range(len(STEPS))), min_size=1, max_size=8), st.integers(0, 9))
@settings(max_examples=60, deadline=None)
def test_programs_of_drawn_ops(steps, seed):
    def program(x, y):
        for i in steps:
            x, y = STEPS[i](x, y), x
        return x, y

    rushlight.manual_seed(seed)
    inputs = rushlight.randn(4, 4), rushlight.randn(4, 4)
    compiled = rushlight.compile(program)
    for _ in range(2):
        for a, b in zip(compiled(*inputs), program(*inputs), strict=True):
            rushlight.testing.assert_close(a, b, rtol=1e-5, atol=1e-5)


def test_a_limit_of_graphs():
    """Graphs of numbers that differ, up to the limit; what is more runs as it is."""
    made = []

    def backend(graph_module, examples):
        made.append(graph_module)
        return graph_module.forward

    program = lambda x, k: x + k
    for limit, count in ((0, 0), (2, 2), (12, 10)):
        made.clear()
        compiled = rushlight.compile(program, backend=backend, recompile_limit=limit)
        with warnings.catch_warnings(record=True) as said:
            warnings.simplefilter("always")
            for k in range(10):
                assert compiled(rushlight.ones(2), k + 0.5).tolist() == [k + 1.5] * 2
        assert len(made) == count
        assert len(said) == (limit < 10)
    with pytest.raises(TypeError, match="recompile_limit must be an int or None, got str"):
        rushlight.compile(program, recompile_limit="2")
    with pytest.raises(NotImplementedError, match="shapes_spec is not available"):
        rushlight.compile(program, shapes_spec={})


def test_the_arguments_are_pytorchs():
    torch = pytest.importorskip("torch")
    ours, theirs = (inspect.signature(each.compile).parameters for each in (rushlight, torch))
    assert [(p.name, p.default, p.kind) for p in ours.values()] == [
        (p.name, p.default, p.kind) for p in theirs.values()
    ]

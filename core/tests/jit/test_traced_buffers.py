"""Traces of programs that write to buffers and read them again, beside PyTorch's."""

import io

import numpy as np
import pytest

import rushlight

torch = pytest.importorskip("torch")
pytestmark = [
    pytest.mark.filterwarnings("ignore::DeprecationWarning"),
    pytest.mark.filterwarnings("ignore::torch.jit.TracerWarning"),
]


def models(library):
    nn = library.nn

    class Average(nn.Module):
        def __init__(self):
            super().__init__()
            self.register_buffer("mean", library.zeros(3))
            self.register_buffer("count", library.zeros((), dtype=library.int64))

        def forward(self, x):
            self.mean.mul_(0.9).add_(x.mean(0), alpha=0.1)
            self.count.add_(x.shape[0])
            return x - self.mean

    class Assigned(nn.Module):
        def __init__(self):
            super().__init__()
            self.register_buffer("turns", library.zeros(()))
            self.average = Average()

        def forward(self, x):
            self.turns = self.turns + 1
            return self.average(x) * self.turns

    class Indexed(nn.Module):
        def __init__(self):
            super().__init__()
            self.register_buffer("kept", library.zeros(4, 3))
            self.norm = nn.BatchNorm1d(3)

        def forward(self, x):
            self.kept[:2] = self.norm(x)[:2]
            self.kept[3, 0] = 5.0
            return self.kept.sum(0) + x

    class Queue(nn.Module):
        def __init__(self):
            super().__init__()
            self.register_buffer("queue", library.zeros(4, 3))

        def forward(self, x):
            self.queue.copy_(library.cat([self.queue[1:], x[:1]]))
            return self.queue.mean(0, keepdim=True) + x

    class Cache(nn.Module):
        def __init__(self):
            super().__init__()
            self.register_buffer("cache", library.zeros(8, 3))
            self.register_buffer("used", library.zeros((), dtype=library.int64))

        def forward(self, x):
            place = library.arange(2) + x[0, 0].long()
            self.cache.index_copy_(0, place, x)
            self.used += 2
            return x @ self.cache.T * self.used

    return {kind.__name__: kind for kind in (Average, Assigned, Indexed, Queue, Cache)}


NAMES = list(models(rushlight))


def values(library):
    return [(library.arange(6.0).reshape(2, 3) + 5 * i) / 7 for i in range(4)]


def state(module):
    return {name: np.asarray(value) for name, value in module.named_buffers()}


def close(found, expected):
    np.testing.assert_allclose(np.asarray(found), np.asarray(expected), rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize("name", NAMES)
def test_traces_write_and_read_buffers_as_pytorchs(name):
    traces = []
    for library in (rushlight, torch):
        with library.no_grad():
            model = models(library)[name]().train()
            trace = library.jit.trace(model, (values(library)[0],), check_trace=False)
            outputs = [np.array(trace(x)) for x in values(library)]
        traces.append((outputs, state(trace)))
    (ours, buffers), (theirs, expected) = traces
    for one, other in zip(ours, theirs, strict=True):
        close(one, other)
    assert buffers.keys() == expected.keys()
    for key, value in expected.items():
        close(buffers[key], value)
    assert not np.array_equal(ours[1], ours[0])


@pytest.mark.parametrize("name", NAMES)
def test_pytorch_runs_their_archives(name):
    with rushlight.no_grad(), torch.no_grad():
        model = models(rushlight)[name]().train()
        trace = rushlight.jit.trace(model, (values(rushlight)[0],), check_trace=False)
        file = io.BytesIO()
        rushlight.jit.save(trace, file)
        loaded = torch.jit.load(io.BytesIO(file.getvalue()))
        for x, y in zip(values(rushlight), values(torch), strict=True):
            close(loaded(y), trace(x))


def test_a_trace_runs_the_program_once():
    model = models(rushlight)["Average"]()
    trace = rushlight.jit.trace(model, (values(rushlight)[0],), check_trace=False)
    assert model.count.item() == 2
    assert type(model.count) is rushlight.Tensor
    trace(values(rushlight)[1])
    assert model.count.item() == 4


def test_other_tensors_from_outside_are_refused_still():
    outside = rushlight.zeros(2, 3)

    class Writing(rushlight.nn.Module):
        def forward(self, x):
            return outside.copy_(x) + 1

    with pytest.raises(NotImplementedError, match="made outside of the trace"):
        rushlight.jit.trace(Writing(), (rushlight.ones(2, 3),), check_trace=False)

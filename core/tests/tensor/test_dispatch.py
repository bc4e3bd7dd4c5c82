"""The slow door: modes and ``__torch_function__`` see every op; nothing pays without them."""

import threading

import rushlight
from rushlight import nn
from rushlight.tensor.dispatch import STATE, Interpreter


class Trace(Interpreter):
    """Writes down the names of the ops that run."""

    def __init__(self):
        self.names = []

    def process(self, function, types, args, kwargs):
        self.names.append(function.__name__)
        return function(*args, **kwargs)


class Lower(Interpreter):
    """An autocast: matrix products in bfloat16, the rest as it is."""

    def process(self, function, types, args, kwargs):
        if function.__name__ in ("matmul", "linear"):
            args = [a.bfloat16() if isinstance(a, rushlight.Tensor) else a for a in args]
        return function(*args, **kwargs)


def test_interpreters_see_ops_wherever_they_were_imported():
    from rushlight import relu

    x = rushlight.ones(2, 2)
    with Trace() as trace:
        relu(x)
        _ = x + 1
        _ = -x
        x.sum()
        x.add_(1)
        nn.functional.linear(x, x)
    assert trace.names == ["relu", "add", "neg", "sum", "add_", "linear"]
    relu(x)
    assert len(trace.names) == 6 and STATE.modes == 0


def test_interpreters_nest_and_run_off_the_stack():
    x = rushlight.ones(2, 2)
    with Trace() as outer, Lower():
        y = x @ x
    assert y.dtype is rushlight.bfloat16
    assert outer.names == ["_cast", "_cast", "matmul"]


def test_other_threads_are_not_interpreted():
    found = []
    with Trace() as trace:
        thread = threading.Thread(target=lambda: found.append(rushlight.ones(2) + 1))
        thread.start()
        thread.join()
    assert found[0].tolist() == [2.0, 2.0] and trace.names == []


def test_gradients_are_recorded_under_an_interpreter():
    x = rushlight.ones(3, requires_grad=True)
    with Trace():
        (x * x).sum().backward()
    assert x.grad.tolist() == [2.0] * 3


class Logged(rushlight.Tensor):
    """Overrides every function and keeps a list."""

    calls = []

    @classmethod
    def __torch_function__(cls, function, types, args=(), kwargs=None):
        cls.calls.append(function.__name__)
        return super().__torch_function__(function, types, args, kwargs)


def test_torch_function_sees_calls_and_results_keep_the_subclass():
    Logged.calls.clear()
    x = rushlight.ones(2).as_subclass(Logged)
    y = rushlight.exp(x) + 1
    assert type(y) is Logged and Logged.calls == ["exp", "add"]
    z = rushlight.stack([x, rushlight.ones(2)])
    assert type(z) is Logged and Logged.calls[-1] == "stack"


def test_plain_subclasses_pass_on_their_type():
    class Meters(rushlight.Tensor):
        unit = "m"

    x = rushlight.ones(2).as_subclass(Meters)
    assert type(x * 2) is Meters and (x * 2).unit == "m"


def test_foreign_objects_may_take_over():
    class Diagonal:
        @classmethod
        def __torch_function__(cls, function, types, args=(), kwargs=None):
            return function.__name__ if function.__name__ == "mm" else NotImplemented

    assert rushlight.mm(rushlight.ones(1, 1), Diagonal()) == "mm"
    try:
        rushlight.exp(Diagonal())
    except TypeError as error:
        assert "no implementation found for 'exp'" in str(error)

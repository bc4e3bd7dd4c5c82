"""Anomaly mode: which lines it names, and when, against PyTorch."""

import warnings

import pytest

import rushlight

pytest.importorskip("torch")  # what is imported next needs it
from tests.autograd.test_hook_rules import agree, leaf  # noqa: E402


def the_line_at_fault(x):
    return x.sqrt()


def functions(lib):
    """Functions whose backward gives nan, and whose backward raises."""

    class Bad(lib.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            return x * 2

        @staticmethod
        def backward(ctx, g):
            return g * float("nan")

    class Raises(Bad):
        @staticmethod
        def backward(ctx, g):
            raise ValueError("in backward")

    return Bad, Raises


def warned(lib, log, call, check_nan=True, whole=True):
    with warnings.catch_warnings(record=True) as found:
        warnings.simplefilter("always")
        with lib.autograd.detect_anomaly(check_nan):
            log.error(call)
    texts = [str(w.message) for w in found]
    log(len(texts), ["the_line_at_fault" in t for t in texts], [t.split(".")[0] for t in texts])


def test_errors_and_nan_name_their_lines():
    def program(lib, log):
        bad, raises = functions(lib)
        zero = lambda: leaf(lib, 0.0, 2.0)  # noqa: E731
        warned(lib, log, lambda: (the_line_at_fault(zero()) * 0).sum().backward())
        warned(lib, log, lambda: bad.apply(zero()).sum().backward())
        warned(lib, log, lambda: bad.apply(zero()).sum().backward(), check_nan=False)
        warned(lib, log, lambda: raises.apply(zero()).sum().backward())
        warned(lib, log, lambda: raises.apply(zero()).sum().backward(), check_nan=False)

        def changed():
            y = the_line_at_fault(leaf(lib, 1.0))
            y.add_(1)
            y.sum().backward()

        warned(lib, log, changed)
        outside = (the_line_at_fault(zero()) * 0).sum()
        warned(lib, log, outside.backward)

    agree(program)


def test_what_induced_a_failing_calculation():
    def program(lib, log):
        _, raises = functions(lib)

        class Outer(lib.autograd.Function):
            @staticmethod
            def forward(ctx, x):
                return x.clone()

            @staticmethod
            def backward(ctx, g):
                return raises.apply(g)

        def twice():
            seed = lib.ones(1, requires_grad=True)
            x = leaf(lib, 1.0)
            (g,) = lib.autograd.grad(Outer.apply(x), x, seed, create_graph=True)
            g.sum().backward()

        def power():
            x = leaf(lib, 0.0)
            (g,) = lib.autograd.grad(x.abs().pow(1.5).sum(), x, create_graph=True)
            (g * 0).sum().backward()

        warned(lib, log, twice)
        warned(lib, log, power)

    agree(program)


def test_the_switch():
    anomaly = rushlight.autograd.set_detect_anomaly
    assert rushlight.is_anomaly_check_nan_enabled() and not rushlight.is_anomaly_enabled()
    with anomaly(True), anomaly(False):
        assert not rushlight.is_anomaly_enabled()
    with pytest.warns(UserWarning, match="has been enabled"), rushlight.autograd.detect_anomaly():
        assert rushlight.is_anomaly_enabled()
        note = (leaf(rushlight) * 2).grad_fn.metadata["traceback_"]
        assert "test_the_switch" in "".join(note)
    assert not rushlight.is_anomaly_enabled()
    with pytest.raises(TypeError, match="'mode' must be bool, not str"):
        anomaly("yes")

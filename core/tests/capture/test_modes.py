"""Modes, gradients and settings mean for compiled functions what they mean without."""

from __future__ import annotations

import contextvars
import os
import threading

from programs_changed import agree, check
from programs_changed import example as x

import rushlight as torch
from rushlight import nn


def test_conv_bn_fold():
    torch.manual_seed(0)
    m = nn.Sequential(nn.Conv2d(3, 8, 3), nn.BatchNorm2d(8), nn.ReLU()).eval()
    c = torch.compile(m)
    z = torch.randn(1, 3, 8, 8)

    def near():
        torch.testing.assert_close(c(z), m(z), rtol=1e-5, atol=1e-5)

    with torch.no_grad():
        near()
        near()
        m[1].running_var.mul_(3.0)
        near()
        m[0].weight.mul_(2.0)
        near()
        m[1].eps = 0.5
        near()
        m[1].weight.data.fill_(3.0)
        near()
        m[1].weight.data.numpy()[:] = 1.7
        near()
        m[0].weight.detach().numpy()[:] *= 1.3
        near()
        m[1] = nn.BatchNorm2d(8).eval()
        near()
        m.append(nn.Tanh())
        near()
        m[0] = nn.Conv2d(3, 8, 3, bias=False)
        near()
        m.double()
    z = z.double()
    with torch.no_grad():
        near()
    m.train()


def test_env():
    f = lambda t: t * float(os.environ.get("ZZ", "1"))
    check(f, lambda: os.environ.update(ZZ="3"))


def test_grad_modes():
    m = nn.Linear(3, 3)
    c = torch.compile(m)
    with torch.no_grad():
        c(x)
        c(x)
    y = c(x)
    assert y.requires_grad
    y.sum().backward()
    assert m.weight.grad is not None
    with torch.inference_mode():
        assert c(x).is_inference()
    with torch.no_grad():
        assert not c(x).requires_grad and not c(x).is_inference()
    for p in m.parameters():
        p.requires_grad_(False)
    z = x.clone().requires_grad_()
    assert c(z).requires_grad
    c(z).sum().backward()
    assert z.grad is not None


def test_enable_grad_inside():
    w = torch.ones(3, requires_grad=True)

    def f(t):
        with torch.enable_grad():
            y = (t * w).sum()
            (g,) = torch.autograd.grad(y, w)
        return g

    check(f)


def test_autocast():
    m = nn.Linear(3, 3)
    c = torch.compile(m)
    with torch.no_grad():
        c(x)
        c(x)
        with torch.autocast("cpu", dtype=torch.bfloat16):
            assert c(x).dtype == torch.bfloat16
        assert c(x).dtype == torch.float32


def test_default_dtype():
    f = lambda t: t + torch.ones(3)
    try:
        check(f, lambda: torch.set_default_dtype(torch.float64))
    finally:
        torch.set_default_dtype(torch.float32)


def test_default_dtype2():
    f = lambda t: torch.tensor([1.0, 2.0])
    try:
        check(f, lambda: torch.set_default_dtype(torch.float64))
    finally:
        torch.set_default_dtype(torch.float32)


def test_threads_locals():
    tl = threading.local()
    tl.k = 1
    check(lambda t: t * tl.k, lambda: setattr(tl, "k", 5))


def test_contextvar():
    v = contextvars.ContextVar("v", default=1)
    check(lambda t: t * v.get(), lambda: v.set(5))


def test_subclass_arg():
    class T(torch.Tensor):
        @classmethod
        def __torch_function__(cls, func, types, args=(), kw=None):
            r = super().__torch_function__(func, types, args, kw or {})
            return r * 2 if isinstance(r, torch.Tensor) and func is torch.sin else r

    f = lambda t: torch.sin(t)
    c = torch.compile(f)
    with torch.no_grad():
        t = x.as_subclass(T)
        c(x)
        assert type(c(t)) is type(f(t))
        agree(torch.Tensor(c(t)), torch.Tensor(f(t)))


def test_fn_modes():
    from rushlight.overrides import TorchFunctionMode

    class M(TorchFunctionMode):
        n = 0

        def __torch_function__(self, func, types, args=(), kw=None):
            M.n += 1
            return func(*args, **(kw or {}))

    c = torch.compile(lambda t: (t + 1).sin())
    with torch.no_grad():
        c(x)
        c(x)
        with M():
            c(x)
    assert M.n >= 2, M.n


def test_functional_call():
    m = nn.Linear(3, 3)
    f = lambda t: torch.func.functional_call(m, {"weight": t.new_ones(3, 3), "bias": t[0]}, (t,))
    check(f, lambda: m.weight.data.zero_())


def test_vmap():
    c = torch.compile(lambda t: t.sin() * t)
    with torch.no_grad():
        c(x[0])
        c(x[0])
        agree(torch.func.vmap(c)(x), x.sin() * x)
        agree(
            torch.func.grad(lambda t: c(t).sum())(x[0]),
            torch.func.grad(lambda t: (t.sin() * t).sum())(x[0]),
        )


def test_set_default_device():
    f = lambda t: torch.zeros(2)
    check(f)
    c = torch.compile(f)
    with torch.no_grad():
        c(x)
        c(x)
        with torch.device("meta"):
            assert f(x).device.type == "meta" and c(x).device.type == "meta"


def test_deterministic_flag():
    f = lambda t: t * 2 if torch.are_deterministic_algorithms_enabled() else t * 3
    try:
        check(f, lambda: torch.use_deterministic_algorithms(True))
    finally:
        torch.use_deterministic_algorithms(False)


def test_is_grad_enabled():
    f = lambda t: t * 2 if torch.is_grad_enabled() else t * 3
    c = torch.compile(f)
    with torch.no_grad():
        agree(c(x), x * 3)
        agree(c(x), x * 3)
    agree(c(x), x * 2)
    agree(c(x), x * 2)


def test_num_threads():
    f = lambda t: t * torch.get_num_threads()
    n = torch.get_num_threads()
    try:
        check(f, lambda: torch.set_num_threads(1))
    finally:
        torch.set_num_threads(n)


def test_requires_grad_read():
    w = torch.ones(3)
    check(lambda t: t * 2 if w.requires_grad else t * 3, lambda: w.requires_grad_())


def test_param_requires():
    m = nn.Linear(3, 3)
    check(lambda t: t * 2 if m.weight.requires_grad else t * 3, lambda: m.requires_grad_(False))


def test_grad_read():
    w = torch.ones(3, requires_grad=True)
    check(
        lambda t: t if w.grad is None else t + w.grad,
        lambda: setattr(w, "grad", torch.ones(3)),
        lambda: w.grad.add_(1),
    )


def test_training_attr_fn():
    m = nn.Dropout(0.5)
    check(lambda t: t * 2 if m.training else t * 3, lambda: m.eval())


def test_tensor_attr():
    w = torch.ones(3)
    w.tag = 1
    check(lambda t: t * w.tag, lambda: setattr(w, "tag", 4))

"""What a program does besides computing happens at every call."""

from __future__ import annotations

import collections
import contextlib
import copy
import io
import itertools
import random

from programs_changed import agree, check
from programs_changed import example as x

import rushlight as torch
from rushlight import nn


def iter_args(vals):
    it = iter(vals * 20)
    return lambda: next(it)


def test_data_dependent_branch():
    check(lambda t: t + 1 if t.sum() > 0 else t - 1, arg=iter_args([x, -x, x.abs()]))


def test_item_use():
    check(lambda t: t * t.max().item(), arg=iter_args([x, -x, x + 3]))


def test_counter():
    class M(nn.Module):
        def __init__(self):
            super().__init__()
            self.n = 0

        def forward(self, t):
            self.n += 1
            return t * self.n

    a, b = M(), M()
    c = torch.compile(a)
    with torch.no_grad():
        for _i in range(4):
            agree(c(x), b(x))


def test_list_append():
    log = []

    def f(t):
        log.append(t.shape)
        return t * 2

    c = torch.compile(f)
    with torch.no_grad():
        for _i in range(4):
            c(x)
    assert len(log) == 4


def test_prints():
    def f(t):
        print("hi")
        return t * 2

    c = torch.compile(f)
    s = io.StringIO()
    with torch.no_grad(), contextlib.redirect_stdout(s):
        for _i in range(4):
            c(x)
    assert s.getvalue().count("hi") == 4


def test_random_python():
    def f(t):
        return t * random.random()

    c = torch.compile(f)
    with torch.no_grad():
        random.seed(0)
        a = [c(x) for _ in range(3)]
        random.seed(0)
        b = [f(x) for _ in range(3)]
    agree(a, b)


def test_torch_random():
    def f(t):
        return t + torch.rand(3)

    c = torch.compile(f)
    with torch.no_grad():
        torch.manual_seed(0)
        a = [c(x) for _ in range(3)]
        torch.manual_seed(0)
        b = [f(x) for _ in range(3)]
    agree(a, b)


def test_dropout():
    m = nn.Sequential(nn.Linear(3, 3), nn.Dropout(0.5))
    c = torch.compile(m)
    with torch.no_grad():
        for mode in (True, False, True):
            m.train(mode)
            torch.manual_seed(0)
            a = [c(x) for _ in range(3)]
            torch.manual_seed(0)
            b = [m(x) for _ in range(3)]
            agree(a, b)


def test_inplace_arg():
    def f(t):
        t.add_(1)
        return t * 2

    c = torch.compile(f)
    with torch.no_grad():
        a, b = x.clone(), x.clone()
        for _i in range(3):
            agree(c(a), f(b))
            agree(a, b)


def test_inplace_global():
    buf1, buf2 = torch.zeros(3), torch.zeros(3)
    which = [buf1]

    def f(t):
        which[0].add_(t.sum(0))
        return which[0] * 1

    c = torch.compile(f)
    with torch.no_grad():
        for _i in range(4):
            which[0] = buf1
            a = c(x)
            which[0] = buf2
            b = f(x)
            agree(a, b)
            agree(buf1, buf2)


def test_batchnorm_train():
    m = nn.Sequential(nn.Linear(3, 4), nn.BatchNorm1d(4))
    n = copy.deepcopy(m)
    c = torch.compile(m)
    with torch.no_grad():
        for i in range(4):
            agree(c(x + i), n(x + i))
        agree(m.state_dict(), n.state_dict())
        m.eval()
        n.eval()
        for i in range(4):
            agree(c(x + i), n(x + i))
        m[1].running_mean.add_(1)
        n[1].running_mean.add_(1)
        agree(c(x), n(x))
        agree(c(x), n(x))
        m[0].weight.data = m[0].weight.data * 2
        n[0].weight.data = n[0].weight.data * 2
        agree(c(x), n(x))
        m.load_state_dict(
            {k: v * 0.5 if v.is_floating_point() else v for k, v in m.state_dict().items()}
        )
        n.load_state_dict(m.state_dict())
        agree(c(x), n(x))


def test_alias_args():
    f = lambda a, b: a.add_(1) + b
    c = torch.compile(f)
    with torch.no_grad():
        a1, b1 = x.clone(), x.clone()
        a2, b2 = x.clone(), x.clone()
        agree(c(a1, b1), f(a2, b2))
        agree(c(a1, a1), f(a2, a2))
        agree(a1, a2)
        agree(c(a1[0], a1[1]), f(a2[0], a2[1]))
        agree(a1, a2)


def test_returns_input():
    f = lambda t: t
    c = torch.compile(f)
    with torch.no_grad():
        assert c(x) is x
        assert c(x) is x
    g = lambda t: (t, t.view(-1))
    c = torch.compile(g)
    with torch.no_grad():
        for _ in range(3):
            y = x.clone()
            a = c(y)
            a[1].add_(1)
            agree(y, x + 1)
            assert a[0] is y


def test_returns_param():
    m = nn.Linear(3, 3)
    f = lambda t: m.weight
    c = torch.compile(f)
    with torch.no_grad():
        assert c(x) is m.weight
        assert c(x) is m.weight
        m.weight = nn.Parameter(torch.ones(3, 3))
        assert c(x) is m.weight


def test_itertools_count():
    it = itertools.count()
    it2 = itertools.count()
    f = lambda t: t * next(it)
    g = lambda t: t * next(it2)
    c = torch.compile(f)
    with torch.no_grad():
        for _ in range(4):
            agree(c(x), g(x))


def test_iterator_attr():
    class M(nn.Module):
        def __init__(self):
            super().__init__()
            self.it = iter(range(100))

        def forward(self, t):
            return t * next(self.it)

    a, b = M(), M()
    c = torch.compile(a)
    with torch.no_grad():
        for _ in range(4):
            agree(c(x), b(x))


def test_deque_state():
    d1, d2 = collections.deque([1, 2, 3]), collections.deque([1, 2, 3])
    f = lambda t: t * d1.popleft() if d1 else t
    g = lambda t: t * d2.popleft() if d2 else t
    c = torch.compile(f)
    with torch.no_grad():
        for _ in range(5):
            agree(c(x), g(x))


def test_exc_in_prog():
    def f(t):
        if t.shape[0] == 2:
            raise ValueError("no")
        return t

    c = torch.compile(f)
    with torch.no_grad():
        for _ in range(3):
            try:
                c(x)
                assert 0
            except ValueError:
                pass


def test_float_of_tensor_const():
    w = torch.tensor(2.0)
    check(lambda t: t * float(w), lambda: w.fill_(7.0))


def test_tolist_const():
    w = torch.tensor([2.0, 3.0])
    check(lambda t: t * w.tolist()[1], lambda: w.fill_(7.0))


def test_try_except():
    def f(t):
        try:
            return t @ torch.ones(2, 2)
        except RuntimeError:
            return t * 3

    check(f)


def test_memo_dict():
    memo1, memo2 = {}, {}

    def mk(memo):
        def f(t):
            k = tuple(t.shape)
            if k not in memo:
                memo[k] = len(memo) + 1
            return t * memo[k]

        return f

    a, b = mk(memo1), mk(memo2)
    c = torch.compile(a)
    with torch.no_grad():
        for n in (1, 2, 1, 3, 2):
            agree(c(torch.ones(n)), b(torch.ones(n)))
    assert memo1 == memo2


def test_kvcache():
    class M(nn.Module):
        def __init__(self):
            super().__init__()
            self.register_buffer("k", torch.zeros(8, 3))
            self.pos = 0

        def forward(self, t):
            self.k[self.pos] = t[0]
            self.pos += 1
            return self.k[: self.pos].sum(0)

    a, b = M(), M()
    c = torch.compile(a)
    with torch.no_grad():
        for i in range(5):
            agree(c(x + i), b(x + i))


def test_buffer_reassign():
    class M(nn.Module):
        def __init__(self):
            super().__init__()
            self.register_buffer("k", torch.zeros(3))

        def forward(self, t):
            self.k = self.k * 0.9 + t.mean(0)
            return self.k

    a, b = M(), M()
    c = torch.compile(a)
    with torch.no_grad():
        for i in range(5):
            agree(c(x + i), b(x + i))


def test_buffer_copy():
    class M(nn.Module):
        def __init__(self):
            super().__init__()
            self.register_buffer("k", torch.zeros(3))

        def forward(self, t):
            self.k.mul_(0.9).add_(t.mean(0))
            return self.k.clone()

    a, b = M(), M()
    c = torch.compile(a)
    with torch.no_grad():
        for i in range(5):
            agree(c(x + i), b(x + i))
            agree(a.k, b.k)


def test_view_state():
    buf = torch.zeros(6)
    check(
        lambda t: buf.view(2, 3) + t,
        lambda: buf.add_(1),
        lambda: buf.resize_(6),
        lambda: buf.set_(
            torch.ones(6).untyped_storage() if hasattr(torch.Tensor, "untyped_storage") else buf
        ),
    )

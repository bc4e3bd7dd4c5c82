"""Whatever a captured program has read is guarded: it may change between two calls."""

from __future__ import annotations

import collections
import copy
import dataclasses
import enum
import functools
import types

import numpy as np
from programs_changed import agree, check
from programs_changed import example as x

import rushlight as torch
from rushlight import nn
from rushlight.nn import functional as F


class Cfg:
    scale = 2.0


class Sub(Cfg):
    pass


G = {"v": 1}
V = {"v": 1}
MV = [1]


def test_items_of_a_dict_of_attributes():
    class M(nn.Module):
        def __init__(self):
            super().__init__()
            self.scale, self.table = 2.0, nn.Parameter(torch.ones(3))

        def forward(self, t):
            own = self.__dict__
            return t * own["scale"] + own["_parameters"]["table"]

    a = M()
    a.requires_grad_(False)
    assert torch._dynamo.explain(a)(x).graph_count == 1
    other = nn.Parameter(torch.zeros(3), requires_grad=False)
    check(a, lambda: setattr(a, "scale", 3.0), lambda: a.table.mul_(2),
          lambda: setattr(a, "table", other))  # fmt: skip


def test_what_else_is_done_with_a_dict_of_attributes():
    class M(nn.Module):
        def __init__(self, act):
            super().__init__()
            self.scale, self.act = 2.0, act

        def forward(self, t):
            return t * self.act(self.__dict__)

    def write(own):
        own["scale"] = own["scale"] + 1
        return own["scale"]

    for act in (write, len, lambda own: own.get("scale"), lambda own: own.pop("scale", 1.0),
                lambda own: 2.0 if "scale" in own else 1.0, lambda own: own["none"] if 0 else 3.0,
                lambda own: sum(1 for _ in own), lambda own: 4 if own else 5):  # fmt: skip
        a, b = M(act), M(act)
        compiled = torch.compile(a)
        with torch.no_grad():
            for _ in range(3):
                agree(compiled(x), b(x))
        assert a.__dict__.get("scale") == b.__dict__.get("scale")


def test_embeddings_are_captured():
    table = nn.Embedding(5, 3, padding_idx=1).requires_grad_(False)
    index = torch.tensor([[0, 1], [4, 2]])
    assert torch._dynamo.explain(table)(index).graph_count == 1
    check(table, lambda: table.weight.add_(1), arg=lambda: index)


def test_class_attr():
    cfg = Sub()
    check(
        lambda t: t * cfg.scale,
        lambda: setattr(Cfg, "scale", 5.0),
        lambda: setattr(Sub, "scale", 7.0),
        lambda: setattr(cfg, "scale", 9.0),
    )
    Cfg.scale = 2.0


def test_class_attr_in_module():
    class M(nn.Module):
        def __init__(self):
            super().__init__()
            self.cfg = Sub()

        def forward(self, t):
            return t * self.cfg.scale

    m = M()
    check(m, lambda: setattr(Cfg, "scale", 3.0), lambda: setattr(m.cfg, "scale", 4.0))
    Cfg.scale = 2.0


def test_defaults():
    def g(t, k=2):
        return t * k

    check(lambda t: g(t), lambda: setattr(g, "__defaults__", (5,)))


def test_kwdefaults():
    def g(t, *, k=2):
        return t * k

    check(lambda t: g(t), lambda: g.__kwdefaults__.update(k=5))


def test_own_defaults():
    def g(t, k=2):
        return t * k

    check(g, lambda: setattr(g, "__defaults__", (5,)))


def test_code_swap():
    def g(t):
        return t * 2

    def h(t):
        return t * 3

    check(lambda t: g(t), lambda: setattr(g, "__code__", h.__code__))


def test_partial():

    def g(t, k=None):
        return t * k

    p = functools.partial(g, k=2.0)
    check(lambda t: p(t), lambda: p.keywords.update(k=9.0))


def test_namedtuple_cfg():
    N = collections.namedtuple("N", "a b")
    box = [N(1, 2)]
    check(lambda t: t * box[0].a, lambda: box.__setitem__(0, N(5, 6)))


def test_np_array_global():
    arr = np.array([1.0, 2.0, 3.0], dtype=np.float32)
    check(lambda t: t + torch.from_numpy(arr), lambda: arr.__setitem__(0, 100.0))


def test_np_scalar():
    box = {"a": np.float32(2)}
    check(lambda t: t * float(box["a"]), lambda: box.update(a=np.float32(7)))


def test_monkeypatch_F():
    def f(t):
        return F.relu(t)

    c = torch.compile(f)
    old = F.relu
    with torch.no_grad():
        c(x)
        c(x)
        F.relu = lambda t: t * 7
        try:
            agree(c(x), f(x))
            agree(c(x), x * 7)
        finally:
            F.relu = old


def test_monkeypatch_method():
    class M(nn.Module):
        def forward(self, t):
            return self.g(t)

        def g(self, t):
            return t * 2

    m = M()
    check(m, lambda: setattr(M, "g", lambda s, t: t * 3), lambda: setattr(m, "g", lambda t: t * 4))


def test_dict_arg():
    c = torch.compile(lambda d: d["a"] * d["k"])
    f = lambda d: d["a"] * d["k"]
    with torch.no_grad():
        for k in (1, 2, 3.5, 1):
            agree(c({"a": x, "k": k}), f({"a": x, "k": k}))


def test_obj_arg():
    class Options:
        def __init__(self, k):
            self.k = k

    f = lambda t, o: t * o.k
    c = torch.compile(f)
    o = Options(2)
    with torch.no_grad():
        for k in (1, 2, 3):
            o.k = k
            agree(c(x, o), f(x, o))
            agree(c(x, Options(k + 1)), f(x, Options(k + 1)))


def test_property_mod():
    class M(nn.Module):
        def __init__(self):
            super().__init__()
            self._k = 2

        @property
        def k(self):
            return self._k * G["v"]

        def forward(self, t):
            return t * self.k

    m = M()
    check(m, lambda: setattr(m, "_k", 5), lambda: G.update(v=9))
    G["v"] = 1


def test_generator_closure():
    ks = [1, 2, 3]
    check(lambda t: sum(t * k for k in ks), lambda: ks.append(4), lambda: ks.__setitem__(0, 9))


def test_lru_cached():
    calls = []

    @functools.lru_cache
    def k(n):
        calls.append(n)
        return n * V["v"]

    f = lambda t: t * k(3)
    check(f, lambda: (V.update(v=5), k.cache_clear()))


def test_slots():
    class S:
        __slots__ = ("k",)

    s = S()
    s.k = 1
    check(lambda t: t * s.k, lambda: setattr(s, "k", 4))


def test_dataclass():
    @dataclasses.dataclass
    class D:
        k: int = 1
        items: list = dataclasses.field(default_factory=lambda: [1])

    d = D()
    check(
        lambda t: t * d.k * d.items[0],
        lambda: setattr(d, "k", 4),
        lambda: d.items.__setitem__(0, 8),
    )


def test_enum():
    class E(enum.Enum):
        A = 1
        B = 2

    box = {"e": E.A}
    check(lambda t: t * box["e"].value, lambda: box.update(e=E.B))


def test_global_fn_replaced():
    global helper

    def helper(t):
        return t * 2

    def later():
        global helper

        def helper(t):
            return t * 11

    check(lambda t: helper(t), later)


def test_nested_list_of_modules():
    ms = [nn.Linear(3, 3), nn.Linear(3, 3)]
    check(
        lambda t: ms[1](ms[0](t)),
        lambda: ms.__setitem__(0, nn.Linear(3, 3)),
        lambda: ms[1].weight.data.zero_(),
    )


def test_tensor_in_list():
    ts = [torch.ones(3)]
    check(lambda t: t * ts[0], lambda: ts.__setitem__(0, torch.zeros(3)), lambda: ts[0].add_(5))


def test_tensor_attr_obj():
    o = types.SimpleNamespace(w=torch.ones(3))
    check(lambda t: t * o.w, lambda: setattr(o, "w", torch.zeros(3)), lambda: o.w.add_(5))


def test_shape_guard():
    f = lambda t: t.reshape(-1) * t.shape[0]
    c = torch.compile(f)
    with torch.no_grad():
        for n in (1, 2, 5, 2, 1):
            agree(c(torch.ones(n, 2)), f(torch.ones(n, 2)))


def test_strides():
    f = lambda t: t.stride()[0] * t
    c = torch.compile(f)
    with torch.no_grad():
        agree(c(torch.ones(3, 3)), f(torch.ones(3, 3)))
        agree(c(torch.ones(3, 6)[:, ::2]), f(torch.ones(3, 6)[:, ::2]))
        agree(c(torch.ones(3, 3).t()), f(torch.ones(3, 3).t()))


def test_method_compiled():
    class A:
        k = 2

        def f(self, t):
            return t * self.k

    a = A()
    c = torch.compile(a.f)
    with torch.no_grad():
        for k in (2, 3, 4):
            a.k = k
            agree(c(x), a.f(x))
        del a.k
        A.k = 8
        agree(c(x), a.f(x))


def test_callable_obj():
    class A:
        k = 2

        def __call__(self, t):
            return t * self.k

    a = A()
    c = torch.compile(a)
    with torch.no_grad():
        for k in (2, 3, 4):
            a.k = k
            agree(c(x), a(x))


def test_recursion():
    def f(t, n=3):
        return t if n == 0 else f(t * 2, n - 1)

    check(f)


def test_copy_deep():
    m = nn.Sequential(nn.Linear(3, 3), nn.Tanh())
    c = torch.compile(m)
    with torch.no_grad():
        c(x)
        c(x)
        d = copy.deepcopy(c)
        d._orig_mod[0].weight.zero_()
        agree(d(x), d._orig_mod(x))
        agree(c(x), m(x))


def test_swap_modules():
    m = nn.Sequential(nn.Linear(3, 3), nn.Tanh())
    check(
        m,
        lambda: setattr(m[0], "weight", nn.Parameter(torch.ones(3, 3))),
        lambda: m[0].register_parameter("bias", None),
        lambda: m.__delitem__(1),
        lambda: m.insert(0, nn.ReLU()),
    )


def test_isinstance_global():
    class A:
        pass

    class B:
        pass

    o = [A()]
    check(lambda t: t * 2 if isinstance(o[0], A) else t * 3, lambda: o.__setitem__(0, B()))


def test_len_of_dict_obj():
    class D(dict):
        pass

    d = D(a=1)
    check(lambda t: t * len(d), lambda: d.update(b=2))


def test_custom_len():
    class L:
        def __init__(self):
            self.v = [1]

        def __len__(self):
            return len(self.v)

        def __getitem__(self, i):
            return self.v[i]

        def __contains__(self, i):
            return i in self.v

        def __bool__(self):
            return self.v[0] == 1

    held = L()
    check(
        lambda t: t * len(held) * held[0] * (5 if 1 in held else 6) * (2 if held else 3),
        lambda: held.v.append(2),
        lambda: held.v.__setitem__(0, 3),
    )


def test_fn_attr():
    def g(t):
        return t * g.k

    g.k = 2
    check(g, lambda: setattr(g, "k", 4))


def test_other_fn_attr():
    def h():
        pass

    h.k = 2
    check(lambda t: t * h.k, lambda: setattr(h, "k", 4))


def test_cls_attr_direct():
    class K:
        v = 1

    check(lambda t: t * K.v, lambda: setattr(K, "v", 4))


def test_mod_attr():
    mod = types.ModuleType("zz")
    mod.v = 1
    check(lambda t: t * mod.v, lambda: setattr(mod, "v", 4))


def test_id_use():
    m = [nn.Linear(3, 3)]
    check(lambda t: t * (hash(m[0]) % 7), lambda: m.__setitem__(0, nn.Linear(3, 3)))


def test_getattr_str():
    o = types.SimpleNamespace(k=1, name="k")
    check(lambda t: t * getattr(o, o.name), lambda: setattr(o, "k", 3))


def test_hasattr():
    o = types.SimpleNamespace()
    check(lambda t: t * 2 if hasattr(o, "q") else t * 3, lambda: setattr(o, "q", 3))
    m = nn.Linear(3, 3)
    check(lambda t: t * 2 if hasattr(m, "q") else t * 3, lambda: setattr(m, "q", 3))


def test_getattr_default():
    m = nn.Linear(3, 3)
    check(
        lambda t: t * getattr(m, "scale", 1),
        lambda: setattr(m, "scale", 3),
        lambda: setattr(nn.Linear, "zzz", 1),
    )


def test_class_level_default():
    class M(nn.Module):
        def forward(self, t):
            return t * getattr(self, "scale", 1)

    m = M()
    check(m, lambda: setattr(M, "scale", 3))


def test_super_chain():
    class A(nn.Module):
        def forward(self, t):
            return t * 2

    class B(A):
        def forward(self, t):
            return super().forward(t) + 1

    m = B()
    check(m, lambda: setattr(A, "forward", lambda s, t: t * 5))


def test_metaclass_attr():
    class Me(type):
        @property
        def v(cls):
            return MV[0]

    class K(metaclass=Me):
        pass

    check(lambda t: t * K.v, lambda: MV.__setitem__(0, 4))

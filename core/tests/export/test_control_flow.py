"""Choices and loops over values: `cond`, `while_loop`, `map`, `scan`, and what programs have."""

import copy
import warnings

import pytest

import rushlight
from rushlight import nn
from rushlight._higher_order_ops import map as mapped
from rushlight._higher_order_ops import scan
from rushlight.export import export
from rushlight.fx.experimental.proxy_tensor import make_fx


class Choosing(nn.Module):
    """A choice whose branches read other tensors, and a loop."""

    def __init__(self):
        super().__init__()
        self.a, self.b = nn.Linear(3, 3), nn.Linear(3, 3)

    def forward(self, x):
        y = x * 2
        chosen = rushlight.cond(
            x.sum() > 0,
            lambda t: self.a(t) + y,
            lambda t: self.b(t).sin() - rushlight.ones(3),
            (x,),
        )
        count = rushlight.zeros((), dtype=rushlight.int64)
        return rushlight.while_loop(
            lambda i, w: i < 3, lambda i, w: (i + 1, w + y.sum()), (count, chosen)
        )


def values():
    rushlight.manual_seed(0)
    return rushlight.randn(2, 3)


def test_programs_choose_when_they_run():
    model, x = Choosing(), values()
    module = copy.deepcopy(export(model, (x,)).module())
    module.load_state_dict(model.state_dict())
    for given in (x.abs(), -x.abs()):
        for ours, theirs in zip(module(given), model(given), strict=True):
            rushlight.testing.assert_close(ours, theirs)


def test_graphs_are_arguments_of_nodes():
    program = export(Choosing(), (values(),))
    calls = {n.name: n for n in program.graph.nodes if n.op == "call_function"}
    assert str(calls["cond"].target) == "cond"
    assert calls["cond"].args[1].target == "true_graph_0"
    inner = program.graph_module.true_graph_0
    assert [str(n.target) for n in inner.graph.nodes if n.op == "call_function"] == [
        "aten.linear.default", "aten.add.Tensor",
    ]  # fmt: skip
    assert calls["while_loop"].args[1].target == "while_loop_body_graph_0"
    assert tuple(calls["getitem"].meta["val"].shape) == (2, 3)
    assert "cond(" in str(program)


def test_choices_inside_of_choices():
    def f(x):
        def inner(t):
            return rushlight.cond(t.sum() > 3, lambda u: u * x, lambda u: u + x, (t,))

        return rushlight.cond(x.sum() > 0, inner, lambda t: -t, (x,))

    module = make_fx(f, tracing_mode="fake")(values())
    for scale in (-1.0, 0.1, 5.0):
        x = rushlight.ones(2, 3) * scale
        assert module(x).tolist() == f(x).tolist()


def test_the_nodes_are_pytorchs():
    torch = pytest.importorskip("torch")

    def model(library):
        class Net(library.nn.Module):
            def forward(self, x):
                return library.cond(x.sum() > 0, lambda t: t.sin() + 1, lambda t: t.cos(), (x,))

        return Net()

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        theirs = torch.export.export(model(torch), (torch.ones(2, 3),))
    ours = export(model(rushlight), (rushlight.ones(2, 3),))
    names = [[n.name for n in p.graph.nodes] for p in (ours, theirs)]
    assert names[0] == names[1]
    for branch in ("true_graph_0", "false_graph_0"):
        inner = [
            [str(n.target) for n in getattr(p.graph_module, branch).graph.nodes][1:]
            for p in (ours, theirs)
        ]
        assert inner[0] == inner[1]


def test_a_plain_condition_is_no_node():
    module = make_fx(lambda x: rushlight.cond(True, lambda t: t + 1, lambda t: t - 1, (x,)))(
        values()
    )
    assert [str(n.target) for n in module.graph.nodes][1:-1] == ["aten.add.Tensor"]


def test_what_does_not_fit_is_refused():
    def broken(x):
        return rushlight.cond(x.sum() > 0, lambda t: t, lambda t: t[0], (x,))

    with pytest.raises(RuntimeError, match=r"\[2, 3\].*\[3\]"):
        make_fx(broken)(values())
    with pytest.raises(RuntimeError, match="body_fn must give what it is given"):
        make_fx(
            lambda x: rushlight.while_loop(lambda t: t.sum() > 0, lambda t: (t.double(),), (x,))
        )(values())
    with pytest.raises(RuntimeError, match="cond_fn must give a tensor of one element"):
        make_fx(lambda x: rushlight.while_loop(lambda t: t > 0, lambda t: (t,), (x,)))(values())
    with pytest.raises(RuntimeError, match="Expect both branches to be callable"):
        rushlight.cond(True, 1, 2)


def test_loops_over_slices_are_pytorchs():
    torch = pytest.importorskip("torch")
    from torch._higher_order_ops import map as their_map
    from torch._higher_order_ops import scan as their_scan

    def sums(library, map, scan, x):
        def step(carry, part):
            return carry + part["a"], (carry * part["b"], carry + 1)

        xs = {"a": x, "b": x * 2}
        yield map(lambda t, y: {"s": t.sum() + y, "d": t * y}, x, x.sum())
        yield scan(step, x[0] * 0, xs)
        yield scan(step, x[0] * 0, xs, reverse=True)
        yield scan(step, x[:, 0] * 0, xs, dim=1)

    x = values()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        theirs = [*sums(torch, their_map, their_scan, torch.tensor(x.tolist()))]
    for a, b in zip(sums(rushlight, mapped, scan, x), theirs, strict=True):
        ours, wanted = rushlight.utils._pytree.tree_leaves(a), torch.utils._pytree.tree_leaves(b)
        for one, other in zip(ours, wanted, strict=True):
            rushlight.testing.assert_close(one, rushlight.tensor(other.tolist()))


def test_loops_in_programs():
    def f(x):
        carry, parts = scan(lambda c, t: (c + t, c * t), x[0] * 0, x)
        return carry, parts, mapped(lambda t: t.sin(), x)

    x = values()
    module = make_fx(f, tracing_mode="fake")(x)
    for ours, theirs in zip(module(x * 2), f(x * 2), strict=True):
        rushlight.testing.assert_close(ours, theirs)
    with pytest.raises(RuntimeError, match="one length above 0"):
        mapped(lambda t: t, (x, x[:1]))


def test_loops_over_slices_are_nodes():
    torch = pytest.importorskip("torch")
    from torch._higher_order_ops import map as their_map
    from torch._higher_order_ops import scan as their_scan

    def model(library, scan, mapped):
        class Net(library.nn.Module):
            def forward(self, x):
                last, rows = scan(lambda c, p: (c + p, c * p), x[:, 0] * 0, x, dim=1, reverse=True)
                return last, rows, mapped(lambda t, y: t * y, x, x.sum())

        return Net()

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        theirs = torch.export.export(model(torch, their_scan, their_map), (torch.ones(2, 3),))
    ours = export(model(rushlight, scan, mapped), (values(),))
    calls = [[str(n.target) for n in p.graph.nodes if n.op[0] == "c"] for p in (ours, theirs)]
    assert calls[0] == calls[1]
    for name in ("scan_combine_graph_0", "body_graph_0"):
        inner = [
            [
                str(n.target)
                for n in getattr(p.graph_module, name).graph.nodes
                if "." in str(n.target)
            ]
            for p in (ours, theirs)
        ]
        assert inner[0] == inner[1]


def test_a_scan_whose_carry_changes_is_refused():
    def growing(x):
        return scan(lambda c, p: (c.double(), p), x[0], x)

    with pytest.raises(RuntimeError, match="a carry of the form of init"):
        make_fx(growing)(values())
    with pytest.raises(RuntimeError, match="of the structure of init"):
        make_fx(lambda x: scan(lambda c, p: ((c, c), p), x[0], x))(values())


def test_nodes_with_graphs_lose_no_gradient():
    """Where a transform follows what a choice or a loop reads, it is refused or written out."""

    def chosen(x):
        return rushlight.cond(x.sum() > 0, lambda t: t.sin(), lambda t: t.cos(), (x,)).sum()

    def read(x):
        y = x.detach() + 1
        return rushlight.cond(y.sum() > 0, lambda t: t * x, lambda t: t, (y,)).sum()

    def looped(x):
        return rushlight.while_loop(lambda t: t.sum() < 9, lambda t: (t * 2,), (x,))[0].sum()

    for function in (chosen, read, looped):
        with pytest.raises(NotImplementedError, match=r"inside of func.grad cannot be captured"):
            make_fx(rushlight.func.grad(function))(values())

    def scanned(x):
        last, rows = scan(lambda c, p: (c * p, c), x[0] + 1, x)
        return last.sum() + rows.sum() + mapped(lambda t, y: t * y, x, x.sum()).sum()

    wanted = rushlight.func.grad(scanned)(values())
    module = make_fx(rushlight.func.grad(scanned))(values())
    rushlight.testing.assert_close(module(values()), wanted)
    assert "higher_order" not in module.code


def test_a_choice_for_each_example_is_where():
    def choose(t):
        return rushlight.cond(t.sum() > 0, lambda u: u + 1, lambda u: u - 1, (t,))

    module = make_fx(rushlight.vmap(choose))(values())
    assert module(values()).tolist() == rushlight.vmap(choose)(values()).tolist()
    assert "where" in module.code

"""Records of calls of any tensors made by machine code, and what follows in the backward pass."""

from __future__ import annotations

import sys

import pytest

import rushlight
from rushlight.autograd import ordinary_pass
from rushlight.machine import native_functions as llvm_door
from rushlight.ops._table import recording as _recording
from rushlight.tensor import construction

pytestmark = pytest.mark.skipif(
    not llvm_door.is_available(), reason="this interpreter has other object headers"
)
F = rushlight.nn.functional
CALLS = {
    "linear": lambda x, w, b, t: F.linear(x, w, b),
    "linear without bias": lambda x, w, b, t: F.linear(x, w),
    "bias alone": lambda x, w, b, t: F.linear(x.detach(), w.detach(), b),
    "cross entropy": lambda x, w, b, t: F.cross_entropy(F.linear(x, w, b), t),
    "layer norm": lambda x, w, b, t: F.layer_norm(F.linear(x, w), (5,), b, None),
    "cat": lambda x, w, b, t: rushlight.cat([x, w]),
    "embedding": lambda x, w, b, t: F.embedding(t, w),
    "softmax": lambda x, w, b, t: x.softmax(1),
    "sum": lambda x, w, b, t: (x * x).sum(1, keepdim=True),
    "parts": lambda x, w, b, t: rushlight.cat([*x.split(2)[::-1], w.unbind()[3][None]]),
    "second part": lambda x, w, b, t: F.linear(x.split(2)[1], w, b),
    "extremes": lambda x, w, b, t: F.linear(x.max(0, keepdim=True)[0], w.topk(2)[0].repeat(1, 2)),
    "matmul": lambda x, w, b, t: x @ w.t(),
    "cumsum": lambda x, w, b, t: x.cumsum(0),
}


def given():
    rushlight.manual_seed(0)
    x, w, b = rushlight.rand(3, 4), rushlight.rand(5, 4), rushlight.rand(5)
    return [t.requires_grad_() for t in (x, w, b)] + [rushlight.tensor([1, 0, 3])]


@pytest.fixture(autouse=True, scope="module")
def compiled():
    rushlight.ones(2) + rushlight.ones(2)  # machine code is in use from here on
    assert type(construction.noted) is type(len)


@pytest.fixture
def answers(monkeypatch):
    """What machine code answered to each call that is recorded."""
    found, compiled = [], construction.noted

    def watched(*args):
        found.append(compiled(*args))
        return found[-1]

    monkeypatch.setattr(construction, "noted", watched)
    return found


def in_python(monkeypatch):
    """Python does from here on what machine code did."""
    for function in ("noted", "below", "fits", "handed", "plain", "results"):
        monkeypatch.setattr(construction, function, lambda *args: NotImplemented)


def described(node):
    """A node without what differs between two runs."""
    saved = node.saved and [
        (i[0].tolist(), i[1], i[2].version, i[3]) if type(i) is tuple else i.tolist()
        for i in node.saved
    ]
    edges = [type(e) for e in node.edges]
    numbers = node.numbers and tuple(node.numbers)
    own = node.shapes, node.metadata, node.versions, numbers, node.outputs
    values = None if node.values is None else [repr(v) for v in node.values]
    return node.op, node.plan, edges, saved, own, values


@pytest.mark.parametrize("name", CALLS)
def test_nodes_are_pythons(name, monkeypatch, answers):
    tensors = given()
    for _ in range(4):  # the first call teaches
        out = CALLS[name](*tensors)
    assert answers[-1] is None
    made = described(out._node)
    in_python(monkeypatch)
    assert described(CALLS[name](*tensors)._node) == made


@pytest.mark.parametrize("name", CALLS)
def test_gradients_are_pythons(name, monkeypatch):
    tensors = given()

    def gradients():
        for t in tensors:
            t.grad = None
        out = CALLS[name](*tensors)
        out.backward(rushlight.ones_like(out) * 0.5)
        return [t.grad if t.grad is None else (t.grad.tolist(), t.grad.stride()) for t in tensors]

    for _ in range(3):
        by_machine = gradients()
    in_python(monkeypatch)
    assert gradients() == by_machine and by_machine[:3] != [None] * 3


def test_versions_are_noted(answers):
    x, w, b, _ = given()
    for i in range(4):
        out = F.linear(x, w, b)
        assert out._node.versions == ({1: i} if i else None)
        with rushlight.no_grad():
            w.add_(1.0)
    assert answers[-1] is None
    with pytest.raises(
        RuntimeError, match="linear saved weight.* at version 3; it is at version 4"
    ):
        out.sum().backward()


def test_what_python_must_record(answers):
    x, w, b, _ = given()
    for _ in range(3):
        F.linear(x, w, b)
    assert answers[-1] is None
    stale = (base := rushlight.zeros(3, 4))[:]
    base.mul_(rushlight.ones(3, 4, requires_grad=True))
    with rushlight.inference_mode():
        seen = rushlight.ones(3, 4)
    out = F.linear(stale, w, b)
    assert answers[-1] is NotImplemented
    out.sum().backward()
    for other in (seen, seen[:]):
        with pytest.raises(RuntimeError, match="Inference tensors cannot be saved"):
            F.linear(other, w, b)
    count = len(answers)
    with rushlight.autograd.graph.saved_tensors_hooks(lambda t: t, lambda t: t):
        F.linear(x, w, b)
    with pytest.warns(UserWarning, match="Anomaly Detection"):
        watching = rushlight.autograd.detect_anomaly(check_nan=False)
    with watching:
        F.linear(x, w, b)
    assert len(answers) == count


def test_saved_results_are_watched():
    x = given()[0]
    for _ in range(3):
        out = x.softmax(1)
    assert described(out._node)[3][-1][2] == 0
    with rushlight.no_grad():
        out.add_(1.0)
    with pytest.raises(RuntimeError, match="saved its output"):
        out.sum().backward()


def test_second_order():
    x, w, b, _ = (t.detach().double().requires_grad_() if t.is_floating_point() else t
                  for t in given())  # fmt: skip
    assert rushlight.autograd.gradgradcheck(
        lambda x, w, b: F.layer_norm(F.linear(x, w, b), (5,)).softmax(1), (x, w, b)
    )


def handed(leaf, make, waiting=None, rest=1):
    """What machine code answers where a leaf is to get the gradient that a function makes."""
    node, counts = leaf.clone()._node, {leaf: rest}
    found = construction.handed(node, (make(),), {}, counts, {} if waiting is None else waiting)
    assert counts[leaf] == (rest - 1 if found is None else rest)
    return found


def test_who_gets_a_gradient_as_it_is():
    x, kept = rushlight.rand(3, 4, requires_grad=True), rushlight.rand(3, 4)
    array = rushlight.rand(3, 4)._array
    others = (
        lambda: kept,  # somebody holds it
        lambda: construction.made(array, rushlight.float32),  # or its memory
        lambda: rushlight.rand(4, 3).t(),
        lambda: rushlight.rand(6, 4)[:3],
        lambda: rushlight.rand(3, 4, requires_grad=True),
        lambda: rushlight.nn.Parameter(rushlight.rand(3, 4)),
        lambda: rushlight.rand(3, 4, device="meta"),
    )
    for make in others:
        assert handed(x, make) == 0 and x.grad is None
    assert handed(x, lambda: rushlight.rand(3, 4)) is None and x.grad.shape == (3, 4)
    assert handed(x, lambda: rushlight.rand(3, 4)) == 0  # it has one already
    for size in (4, 40000):  # large memory begins on a cache line
        x.grad = None
        assert handed(x, lambda size=size: rushlight.rand(3, size)) is None
        assert x.grad.shape == (3, size)
    columns = rushlight.rand(4, 3).t().requires_grad_()  # gradients have the strides of the leaf
    assert handed(columns, lambda: rushlight.rand(3, 4)) == 0
    x.grad, waiting = None, {}
    assert handed(x, lambda: kept, waiting, 2) is None and waiting == {x: kept} and x.grad is None
    assert handed(x, lambda: kept, waiting) == 0 and waiting == {x: kept}


def test_who_gets_gradients_of_several():
    x = rushlight.rand(3, requires_grad=True)
    inner, parts = x.exp(), x.unbind()
    node, g, h = (inner * 2 + parts[1])._node, rushlight.rand(3), rushlight.rand(3)
    first, several = inner._node, parts[0]._node
    pending = {}
    assert construction.handed(node, (g, None), pending, {}, {}) is None
    assert construction.handed(node, (None, g), pending, {}, {}) is None
    assert list(pending.values())[0] is g and pending[several] == [None, g, None]
    assert construction.handed(node, [None, g], pending, {}, {}) == 1  # second gradients
    assert construction.handed(node, [g, g], pending, {}, {}) == 0
    other = rushlight.stack([parts[2], parts[0]])._node
    assert construction.handed(other, (g, h), pending, {}, {}) is None
    assert pending[several] == [h, g, g]
    pending = {}
    assert construction.handed(first, (None,), pending, {x: 1}, {}) is None
    assert pending == {} and x.grad is None
    for pieces in ((g,), 1):
        assert construction.handed(node, pieces, {}, {}, {}) is NotImplemented


def test_nodes_below_are_pythons():
    x, y = (rushlight.rand(3, requires_grad=True) for _ in range(2))
    inner = (x * y).exp()
    out = (inner + inner.sin() * x).sum()
    for node in (out._node, inner._node):
        nodes, counts = construction.below(node)
        again, counted = ordinary_pass._below(node)
        assert [id(n) for n in nodes] == [id(n) for n in again] and counts == counted
    assert counts == {x: 1, y: 1} and construction.below(out._node)[1] == {x: 2, y: 1}
    hooks = (
        lambda: out._node.register_hook(lambda *_: None),
        lambda: inner._node.register_prehook(lambda *_: None),
        lambda: inner.register_hook(lambda g: None),
        lambda: x.register_hook(lambda g: None),
        lambda: y.register_post_accumulate_grad_hook(lambda leaf: None),
    )
    for add in hooks:
        handle = add()
        assert construction.below(out._node) is None is ordinary_pass._below(out._node)
        handle.remove()
        for holder in (out._node, inner._node):
            holder.hooks = holder.pre_hooks = holder.tensor_hooks = None
        x._hooks = y._post_hooks = None
    assert construction.below(out._node) is not None


def test_the_same_gradient_twice_is_two_tensors():
    x, y = (rushlight.rand(3, 4, requires_grad=True) for _ in range(2))
    for _ in range(3):
        x.grad = y.grad = None
        (x + y).backward(rushlight.ones(3, 4))
        x.grad.add_(1.0)
        assert y.grad.tolist() == [[1.0] * 4] * 3
    weights = rushlight.ones(3, 4)
    x.grad = None
    (x + 0).backward(weights)
    x.grad.add_(1.0)
    assert weights.tolist() == [[1.0] * 4] * 3


def test_gradients_that_do_not_fit():
    x = rushlight.rand(3, 4)
    shapes, dtypes = ((3, 4), None), (rushlight.float32, None)
    assert construction.fits((x, None), shapes, dtypes) is None
    assert construction.fits([x, None], shapes, None) is None
    assert construction.fits([x], None, dtypes) is None
    for pieces, wanted, types in (
        ((x,), ((3,),), None), ((x,), ((3, 5),), None), ((x,), ((4, 3),), None),
        ((x,), None, (rushlight.float64,)), ((x,), (None,), None), (1, shapes, None),
        ((x.to("meta"),), shapes, None), ((rushlight.nn.Parameter(x),), shapes, None),
    ):  # fmt: skip
        assert construction.fits(pieces, wanted, types) is NotImplemented


def test_plain_tensors():
    x = rushlight.rand(2)
    assert construction.plain() is None
    assert construction.plain(x, None, rushlight.nn.Parameter(x)) is None
    for other in (x.to("meta"), 1, x._array, [x]):
        assert construction.plain(x, other) is NotImplemented


def test_nothing_leaks():
    x, w, b, t = given()
    watched = x, w, b, t, w._array, F.linear, rushlight.float32, rushlight.int64, w.dtype

    def step():
        for leaf in (x, w, b):
            leaf.grad = None
        F.cross_entropy(F.linear(x, w, b), t).backward()
        rushlight.cat([x, x]).sum().backward()

    for _ in range(10):
        step()
    before = [sys.getrefcount(o) for o in watched]
    blocks = sys.getallocatedblocks()
    for _ in range(300):
        step()
    after = [sys.getrefcount(o) for o in watched]
    assert max(b - a for a, b in zip(before, after, strict=True)) < 50  # memos may grow
    assert sys.getallocatedblocks() - blocks < 200


def test_a_pattern_of_its_own_for_every_need():
    x, w, b, _ = given()
    for needs in range(8):
        tensors = [t.detach().requires_grad_(bool(needs >> i & 1)) for i, t in enumerate((x, w, b))]
        for _ in range(3):
            out = F.linear(*tensors)
        assert out.requires_grad == bool(needs)
        if needs:
            out.sum().backward()
            assert [t.grad is not None for t in tensors] == [bool(needs >> i & 1) for i in range(3)]
    assert len({id(r) for r in F.linear.op.paths.recipes.values()}) >= 7
    assert _recording.note.__doc__

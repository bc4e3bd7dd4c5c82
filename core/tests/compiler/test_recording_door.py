"""Records made by machine code: the same nodes as Python's, and refused where they would differ."""

from __future__ import annotations

import gc
import sys

import pytest

import rushlight
from rushlight.autograd.node import NODES, Node
from rushlight.machine import native_functions as llvm_door
from rushlight.tensor import construction

pytestmark = pytest.mark.skipif(
    not llvm_door.is_available(), reason="this interpreter has other object headers"
)
CALLS = {
    "add": lambda x, y: x + y,
    "mul": lambda x, y: x * y,
    "div": lambda x, y: x / y,
    "relu": lambda x, y: x.relu(),
    "tanh": lambda x, y: y.tanh(),
    "exp of a node": lambda x, y: (x * y).exp(),
    "itself": lambda x, y: x * x,
}


@pytest.fixture(autouse=True, scope="module")
def compiled():
    rushlight.ones(2) + rushlight.ones(2)  # machine code is in use from here on
    assert type(construction.recorded) is type(len)


@pytest.fixture
def answers(monkeypatch):
    """What machine code answered to each call that is recorded."""
    found, compiled = [], construction.recorded

    def watched(*args):
        found.append(compiled(*args))
        return found[-1]

    monkeypatch.setattr(construction, "recorded", watched)
    return found


def leaves(*needs):
    rushlight.manual_seed(0)
    return [(rushlight.rand(3, 4) + 0.5).requires_grad_(need) for need in needs]


def described(node):
    """A node without what differs between two runs."""
    saved = [
        (item[0].tolist(), item[1], item[3]) if type(item) is tuple else item.tolist()
        for item in node.saved
    ]
    edges = [e.name() if type(e) in NODES else None if e is None else "leaf" for e in node.edges]
    return node.op, node.plan, edges, node.outputs, saved, node.numbers, node.shapes, node.versions


@pytest.mark.parametrize("needs", [(True, True), (True, False), (False, True)])
@pytest.mark.parametrize("name", CALLS)
def test_nodes_are_pythons(name, needs, monkeypatch, answers):
    x, y = leaves(*needs)
    for _ in range(4):  # the first calls teach
        out = CALLS[name](x, y)
    if not out.requires_grad:
        return
    assert answers[-1] is None
    made = described(out._node)
    monkeypatch.setattr(construction, "recorded", lambda *args: NotImplemented)
    assert described(CALLS[name](x, y)._node) == made
    weights = rushlight.rand(3, 4)
    expected = [t.grad for t in (x, y)]
    out.backward(weights)
    expected = [None if t.grad is None else t.grad.tolist() for t in (x, y)]
    x.grad = y.grad = None
    CALLS[name](x, y).backward(weights)
    assert [None if t.grad is None else t.grad.tolist() for t in (x, y)] == expected


def test_what_python_must_record(answers):
    x, y = leaves(True, True)
    for _ in range(3):
        assert (x * y).requires_grad and (x + y).requires_grad
    row = rushlight.ones(4, requires_grad=True)
    written = rushlight.ones(3, 4)
    written.add_(1.0)
    base = rushlight.zeros(3, 4)
    stale = base[:]
    base.mul_(rushlight.ones(3, 4, requires_grad=True))
    several = rushlight.stack([x, y]).unbind()[1]
    for other in (row, written, stale, several):
        before = len(answers)
        for _ in range(3):
            out = x * other
        assert None not in answers[before:]
        assert other is row or NotImplemented in answers[before:]  # it need not come that far
        out.sum().backward()
    assert answers[-1] is not None
    written.add_(1.0)
    out = x * written
    written.add_(1.0)
    with pytest.raises(RuntimeError, match="modified by an inplace"):
        out.sum().backward()


def test_later_writes_are_seen():
    x, y = leaves(True, False)
    for _ in range(3):
        out, root = x * y, x.tanh()
    y.add_(1.0)
    with pytest.raises(RuntimeError, match="mul saved other.* at version 0; it is at version 1"):
        out.sum().backward()
    with rushlight.no_grad():
        root.add_(1.0)
    with pytest.raises(RuntimeError, match="tanh saved its output"):
        root.sum().backward()


def test_inference_tensors_cannot_be_saved():
    x, y = leaves(True, False)
    for _ in range(3):
        assert (x * y).requires_grad
    with rushlight.inference_mode():
        y = rushlight.ones(3, 4)
    with pytest.raises(RuntimeError, match="Inference tensors cannot be saved"):
        x * y


def test_second_order_and_order_of_nodes():
    x, y = leaves(True, True)
    for _ in range(3):
        out = ((x * y).tanh() + x).exp()
    nodes, node = [], out._node
    while type(node) in NODES:
        nodes.append(node.sequence)
        node = node.edges[0]
    assert nodes == sorted(nodes, reverse=True)
    assert rushlight.autograd.gradgradcheck(
        lambda a, b: ((a * b).tanh() + a).exp(),
        [t.detach().double().requires_grad_() for t in (x, y)],
    )


def test_a_new_default_dtype_keeps_the_short_way(answers):
    x, y = leaves(True, True)
    for _ in range(3):
        x * y, x + 2
    try:
        rushlight.set_default_dtype(rushlight.float64)
        for _ in range(4):
            out = x * y
    finally:
        rushlight.set_default_dtype(rushlight.float32)
    assert answers[-1] is None and out.dtype is rushlight.float32
    del answers[:]
    for _ in range(4):
        x.tanh()
    assert answers[-1] is None


def test_nothing_is_kept():
    x, y = leaves(True, True)
    for _ in range(3):
        x * y, x.tanh()
    op, zero = (x * y)._node.op, x._array
    objects = (x, y, op, op.paths.recipe, zero, x._dtype, Node)
    gc.collect()
    before = [sys.getrefcount(o) for o in objects]
    for _ in range(2000):
        x * y, x.tanh(), (x * y).tanh()
    assert [sys.getrefcount(o) for o in objects] == before
    out = (x * y).tanh()
    assert gc.is_tracked(out._node) and gc.is_tracked(out._node.saved)


VIEWS = {
    "view": lambda x: x.view(12),
    "t": lambda x: x.t(),
    "slice": lambda x: x[1:, None],
    "expand": lambda x: x.expand(2, 3, 4),
    "of a node": lambda x: (x * 2).transpose(0, 1),
}


@pytest.mark.parametrize("name", VIEWS)
def test_records_of_views_are_pythons(name, monkeypatch):
    (x,) = leaves(True)
    for _ in range(3):
        node = VIEWS[name](x)._node
    assert type(node.edges) is tuple  # machine code's
    made = *described(node), node.values
    monkeypatch.setattr(construction, "viewed", lambda *args: NotImplemented)
    other = VIEWS[name](x)._node
    assert (*described(other), other.values) == made and made[6] == ((3, 4),)
    VIEWS[name](x).sum().backward()
    monkeypatch.undo()
    expected, x.grad = x.grad.tolist(), None
    VIEWS[name](x).sum().backward()
    assert x.grad.tolist() == expected


def test_views_keep_nothing():
    (x,) = leaves(True)
    product = x * 2
    for _ in range(3):
        x.t(), product.view(12)
    op = x.t()._node.op
    objects = (x, product, op, op.paths.plans[5], product._node, Node, None, rushlight.Size)
    gc.collect()
    before = [sys.getrefcount(o) for o in objects]
    for _ in range(2000):
        x.t(), product.view(12), x[1]
    after = [sys.getrefcount(o) for o in objects]
    assert all(abs(a - b) < 20 for a, b in zip(after, before, strict=True))
    assert gc.is_tracked(x.t()._node)


def test_views_of_stale_views_and_of_one_of_several():
    base = rushlight.zeros(3, 4)
    stale = base[:]
    base.mul_(rushlight.ones(3, 4, requires_grad=True))
    part = rushlight.stack(leaves(True, True)).unbind()[1]
    for source in (stale, part):
        for _ in range(3):
            out = source.t()
        assert out.requires_grad and out.grad_fn is not None
    assert part.t()._node.numbers is not None

"""Products of matrices in traces of ``make_fx``: the ops that PyTorch's ``matmul`` comes to."""

import pytest

import rushlight
from rushlight.fx.experimental.proxy_tensor import make_fx

# Shapes of both factors, and the calls; PyTorch has _unsafe_view for the last view.
STACKS = "expand view expand view bmm view"
PRODUCTS = {
    "dot": ((3,), (3,), "dot"),
    "mv": ((2, 3), (3,), "mv"),
    "vector first": ((3,), (3, 4), "unsqueeze mm squeeze_"),
    "mm": ((2, 3), (3, 4), "mm"),
    "stack and vector": ((5, 2, 3), (3,), "view mv view"),
    "stack and matrix": ((5, 2, 3), (3, 4), "view mm view"),
    "matrix and stack": ((2, 3), (5, 3, 4), STACKS),
    "vector and stack": ((3,), (5, 3, 4), STACKS),
    "stacks": ((5, 2, 3), (5, 3, 4), STACKS),
    "stacks of stacks": ((6, 1, 2, 3), (5, 3, 4), STACKS.replace("view", "clone view", 2)),
    "one and stack": ((1, 2, 3), (5, 3, 4), "squeeze " + STACKS),
    "one and one": ((1, 2, 3), (1, 3, 4), STACKS),
    "one of two": ((6, 1, 2, 3), (1, 3, 4), STACKS),
    "stack and one": ((5, 2, 3), (1, 3, 4), "squeeze view mm view"),
    "empty stack": ((0, 2, 3), (3, 4), "view mm view"),
    "nothing to add": ((2, 0), (0, 3), "mm"),
}


def factors(name):
    rushlight.manual_seed(0)
    return [rushlight.randn(shape) for shape in PRODUCTS[name][:2]]


def calls(module):
    nodes = [n for n in module.graph.nodes if n.op == "call_function"]
    names = [str(n.target).split(".") for n in nodes]
    return " ".join(name[1] for name in names if name[0] == "aten" and "sym" not in name[1])


@pytest.mark.parametrize("mode", ["real", "fake", "symbolic"])
@pytest.mark.parametrize("name", PRODUCTS)
def test_products_come_to_the_ops_that_run(name, mode):
    x, y = factors(name)
    module = make_fx(rushlight.matmul, tracing_mode=mode)(x, y)
    assert calls(module) == PRODUCTS[name][2]
    found, wanted = module(x, y), rushlight.matmul(x, y)
    assert found.shape == wanted.shape
    assert found.flatten().tolist() == pytest.approx(wanted.flatten().tolist(), rel=1e-5, abs=1e-6)


@pytest.mark.parametrize("around", [rushlight.no_grad, rushlight.enable_grad])
def test_gradients_on_or_off_make_no_difference(around):
    x, y = factors("mm")
    with around():
        assert calls(make_fx(lambda x, y: x @ y)(x, y)) == "mm"
        asking = x.clone().requires_grad_()
        assert calls(make_fx(lambda x, y: x @ y)(asking, y)) == "mm"


def test_rows_that_are_not_side_by_side():
    x, y = rushlight.randn(5, 3, 2).mT, rushlight.randn(3, 4)
    module = make_fx(rushlight.matmul)(x, y)
    assert calls(module) == STACKS
    wanted = rushlight.matmul(x, y).flatten().tolist()
    assert module(x, y).flatten().tolist() == pytest.approx(wanted, rel=1e-5, abs=1e-6)
    across = rushlight.randn(2, 5, 2, 3).transpose(0, 1)
    module = make_fx(rushlight.matmul)(across, y)
    assert calls(module) == "expand clone view expand view bmm view"
    wanted = rushlight.matmul(across, y).flatten().tolist()
    assert module(across, y).flatten().tolist() == pytest.approx(wanted, rel=1e-5, abs=1e-6)


def test_products_stay_whole_where_that_is_asked():
    x, y = factors("mm")
    assert calls(make_fx(rushlight.matmul, pre_dispatch=True)(x, y)) == "matmul"


def test_gradients_of_products():
    x, y = factors("stack and matrix")
    module = make_fx(rushlight.func.grad(lambda x, y: (x @ y).square().sum()))(x, y)
    assert "matmul" not in calls(module)
    wanted = rushlight.func.grad(lambda x, y: (x @ y).square().sum())(x, y)
    assert module(x, y).flatten().tolist() == pytest.approx(wanted.flatten().tolist(), rel=1e-5)


def test_calls_are_pytorchs():
    torch = pytest.importorskip("torch")
    from torch.fx.experimental.proxy_tensor import make_fx as theirs

    for first, second, wanted in PRODUCTS.values():
        with torch.no_grad():
            module = theirs(torch.matmul)(torch.randn(first), torch.randn(second))
        found = calls(module).replace("_unsafe_view", "view").replace("transpose ", "")
        assert found == wanted, (first, second)

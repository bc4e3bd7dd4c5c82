"""Which nodes are dead: calls that write, sample or check stay, as PyTorch keeps them."""

import pytest

import rushlight
from rushlight.fx.experimental.proxy_tensor import make_fx

torch = pytest.importorskip("torch")

X = object()  # stands for the graph's input
OPERATORS = {
    "relu.default": (X,),
    "relu_.default": (X,),
    "add.Tensor": (X, X),
    "add_.Tensor": (X, X),
    "add.out": (X, X),
    "rand.default": ([2],),
    "rand_like.default": (X,),
    "randint.low": (0, 3, [2]),
    "randperm.default": (3,),
    "bernoulli.default": (X,),
    "bernoulli_.float": (X,),
    "multinomial.default": (X, 1),
    "normal_.default": (X,),
    "poisson.default": (X,),
    "dropout.default": (X, 0.5, True),
    "native_dropout.default": (X, 0.5, True),
    "rrelu.default": (X,),
    "scaled_dot_product_attention.default": (X, X, X),
    "native_batch_norm.default": (X, None, None, None, None, True, 0.1, 0.1),
    "copy_.default": (X, X),
    "resize_.default": (X, [1]),
    "detach_.default": (X,),
    "index_put_.default": (X, [], X),
    "view.default": (X, [1]),
    "item.default": (X,),
    "_assert_async.msg": (X, "message"),
    "_assert_scalar.default": (X, "message"),
}


def unread(library, target, args, kwargs=None):
    """A graph in which nobody reads a call, and the call."""
    graph = library.fx.Graph()
    x = graph.placeholder("x")
    call = graph.call_function(target, tuple(x if a is X else a for a in args), kwargs)
    graph.output(x)
    return graph, call


def facts(graph, call):
    """What is said of the call, and the nodes that are left."""
    said = call.is_impure(), call.is_impure(impure_random=False)
    return *said, graph.eliminate_dead_code(), [node.name for node in graph.nodes]


@pytest.mark.parametrize("name", OPERATORS)
def test_operators_of_aten(name):
    packet, overload = name.split(".")
    found = [
        facts(*unread(library, getattr(getattr(library.ops.aten, packet), overload), args))
        for library, args in ((torch, OPERATORS[name]), (rushlight, OPERATORS[name]))
    ]
    assert found[1] == found[0]


@pytest.mark.parametrize("name", ["add", "bernoulli", "normal_", "rand", "relu_"])
def test_packets_are_what_their_defaults_are(name):
    called = {"add": "Tensor"}.get(name, "default")
    packet = getattr(rushlight.ops.aten, name)
    one = unread(rushlight, packet, (X,))[1].is_impure()
    assert one == unread(rushlight, getattr(packet, called), (X,))[1].is_impure()


def test_functions_of_random_numbers():
    names = "rand randn_like bernoulli poisson multinomial dropout rrelu alpha_dropout".split()
    for name in names:
        assert facts(*unread(rushlight, getattr(rushlight, name), (X,))) == facts(
            *unread(torch, getattr(torch, name), (X,))
        ), name


@pytest.mark.parametrize("library", [torch, rushlight], ids=["torch", "rushlight"])
def test_operators_of_programs(library):
    @library.library.custom_op("test_dead_code::half", mutates_args=())
    def half(x: library.Tensor) -> library.Tensor:
        return x / 2

    @library.library.custom_op("test_dead_code::halve", mutates_args=("x",))
    def halve(x: library.Tensor) -> None:
        x.div_(2)

    operators = library.ops.test_dead_code
    assert facts(*unread(library, operators.half.default, (X,)))[2:] == (True, ["x", "output"])
    kept = False, ["x", "halve_default", "output"]
    assert facts(*unread(library, operators.halve.default, (X,)))[2:] == kept
    assert facts(*unread(library, operators.halve, (X,)))[2] is False


def test_definitions_of_operators_write():
    @rushlight.library.custom_op("test_dead_code::third", mutates_args=("x",))
    def third(x: rushlight.Tensor) -> None:
        x.div_(3)

    assert unread(rushlight, third, (X,))[1].is_impure()


def test_a_given_output_is_written():
    graph, call = unread(rushlight, rushlight.add, (X, X))
    assert not call.is_impure()
    call.kwargs = {"out": call.args[0]}
    assert call.is_impure() and not graph.eliminate_dead_code()


def with_branches(library):
    """A traced choice whose true branch computes what nobody reads."""

    class Choice(library.nn.Module):
        def __init__(self):
            super().__init__()
            inner, unused = library.fx.Graph(), library.fx.Graph()
            for graph in (inner, unused):
                x = graph.placeholder("x")
                graph.call_function(library.exp, (x,))
                graph.output(x)
            self.inner = library.fx.GraphModule(library.nn.Module(), inner)
            self.unused = library.fx.GraphModule(library.nn.Module(), unused)

    graph = library.fx.Graph()
    x = graph.placeholder("x")
    branch = graph.get_attr("inner")
    graph.output((x, branch))
    module = library.fx.GraphModule(Choice(), graph)
    module.add_module("unused", Choice().unused)
    changed = module.graph.eliminate_dead_code()
    names = [[n.name for n in part.graph.nodes] for part in (module.inner, module.unused)]
    return changed, names, "exp" in module.inner.code, module.graph.eliminate_dead_code()


def test_graphs_that_are_read_lose_theirs():
    found = with_branches(rushlight)
    assert found == with_branches(torch)
    assert found[0] and found[1] == [["x", "output"], ["x", "exp", "output"]]


def test_a_program_may_say_what_is_needed():
    for needed, left in ((lambda n: True, 3), (lambda n: n.op != "call_function", 2)):
        counts = []
        for library in (torch, rushlight):
            graph, _ = unread(library, library.relu, (X,))
            counts.append((graph.eliminate_dead_code(needed), len(graph.nodes)))
        assert counts == [(left == 2, left)] * 2


def test_a_write_of_a_captured_program_stays():
    def write(x):
        y = x * 1
        y.add_(1)
        return y * 2

    module = make_fx(write)(rushlight.ones(2))
    expected = module(rushlight.ones(2)).tolist()
    module.graph.eliminate_dead_code()
    module.recompile()
    assert module(rushlight.ones(2)).tolist() == expected == [4.0, 4.0]

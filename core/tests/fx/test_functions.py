"""Every function that PyTorch lets arguments override, called with proxies: one node each."""

import inspect
import operator
import sys
import warnings
from pathlib import Path

import pytest

import rushlight
from rushlight.overrides import handle_torch_function, has_torch_function

torch = pytest.importorskip("torch")
sys.path.insert(0, str(Path(__file__).parent))

from torch.overrides import get_testing_overrides, resolve_name  # noqa: E402

# Functions that are others' names or parts here, so that the node names those.
ALIASES = {
    "absolute": "abs", "arccos": "acos", "arccosh": "acosh", "arcsin": "asin", "arcsinh": "asinh",
    "arctan": "atan", "arctan2": "atan2", "arctanh": "atanh", "clip": "clamp", "divide": "div",
    "concat": "cat", "concatenate": "cat", "fix": "trunc", "greater": "gt", "greater_equal": "ge",
    "less": "lt", "less_equal": "le", "not_equal": "ne", "multiply": "mul", "negative": "neg",
    "subtract": "sub", "moveaxis": "movedim", "swapaxes": "transpose", "swapdims": "transpose",
    "ger": "outer", "_threshold": "threshold", "nonzero": "_nonzero",
    "special_expit": "sigmoid", "special_psi": "digamma", "special_gammaln": "lgamma",
    "special_gammainc": "igamma", "special_gammaincc": "igammac",
    "special_multigammaln": "mvlgamma", "frobenius_norm": "linalg_vector_norm",
    "nuclear_norm": "linalg_matrix_norm", "log_sigmoid": "logsigmoid",
}  # fmt: skip
# Functions that do not ask: methods are called on the proxy, or Python's numbers are read.
OTHERWISE = {
    "is_distributed", "is_nonzero", "kaiming_uniform_", "uniform_", "normal_", "constant_",
    "sym_float", "sym_ite", "sym_max", "sym_min", "sym_not", "sym_sqrt", "_sym_sqrt", "sym_sum",
    "hspmm", "smm", "sspaddmm", "detach", "get_device", "is_complex", "is_floating_point",
    "is_inference", "is_signed", "numel",
}  # fmt: skip


def public(library, name):
    found = library
    for part in name.split(".")[1:]:
        found = getattr(found, part)
    return found


def overridable():
    """Names and dummies of PyTorch's functions that exist here."""
    for function, dummy in get_testing_overrides().items():
        name = resolve_name(function)
        if name is None or not name.startswith("torch.") or ".Tensor." in name:
            continue
        if name.split(".")[1].startswith("_"):
            continue
        try:
            ours = public(rushlight, name)
        except AttributeError:
            continue
        if not isinstance(ours, rushlight.refusals.Refused):
            yield pytest.param(function, dummy, ours, id=name)


def call(library, function, dummy):
    """The nodes that a call with proxies for all required arguments makes; None if it fails."""
    required = [
        p
        for p in inspect.signature(dummy).parameters.values()
        if p.default is p.empty and p.kind is p.POSITIONAL_OR_KEYWORD
    ]
    graph = library.fx.Graph()
    tracer = library.fx.proxy.GraphAppendingTracer(graph)
    proxies = [library.fx.Proxy(graph.placeholder(f"p{i}"), tracer) for i in range(len(required))]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            function(*proxies)
        except Exception as error:
            return error
    return [node for node in graph.nodes if node.op != "placeholder"]


@pytest.mark.parametrize("function, dummy, ours", list(overridable()))
def test_function_becomes_one_node(function, dummy, ours):
    theirs = call(torch, function, dummy)
    if isinstance(theirs, Exception) or len(theirs) != 1:
        pytest.skip("PyTorch does not make one node of it")
    name = theirs[0].target if isinstance(theirs[0].target, str) else theirs[0].target.__name__
    if name in OTHERWISE:
        return
    found = call(rushlight, ours, dummy)
    assert not isinstance(found, Exception), found
    assert [node.op for node in found] == ["call_function"]
    wanted = {name, ALIASES.get(name), name.removeprefix("special_")}
    wanted |= {name.removesuffix("_with_indices")}
    assert found[0].target.__name__ in wanted
    assert len(found[0].all_input_nodes) == len(theirs[0].all_input_nodes)


class Logged:
    """A class of one's own that notes the functions it is given to."""

    @classmethod
    def __torch_function__(cls, function, types, args=(), kwargs=None):
        return function.__name__, args, kwargs


def test_functions_that_are_no_ops_pass_on_named_arguments():
    functional, value = rushlight.nn.functional, Logged()
    found = functional.dropout(value, 0.25, inplace=True)
    assert found == ("dropout", (value,), {"p": 0.25, "training": True, "inplace": True})
    weight = rushlight.ones(3)
    name, args, kwargs = functional.layer_norm(value, (3,), weight)
    assert (name, args) == ("layer_norm", (value, (3,)))
    assert kwargs["weight"] is weight and kwargs["eps"] == 1e-5
    assert functional.mse_loss(rushlight.ones(1), value)[0] == "mse_loss"
    assert functional.kl_div(rushlight.ones(1), target=value)[0] == "kl_div"
    assert functional.relu(value, True)[2] == {"inplace": True}
    assert rushlight.einsum("i,i->", rushlight.ones(1), value)[0] == "einsum"
    assert (rushlight.ones(1) + value)[0] == "add"
    assert rushlight.ones(3)[value][0] == "__getitem__"
    assert not has_torch_function((rushlight.ones(1), 3))


def test_subclasses_of_tensor_see_the_function_and_its_result_keeps_the_class():
    seen = []

    class Noting(rushlight.Tensor):
        @classmethod
        def __torch_function__(cls, function, types, args=(), kwargs=None):
            seen.append(function.__name__)
            return super().__torch_function__(function, types, args, kwargs or {})

    x = rushlight.ones(2, 4).as_subclass(Noting)
    out = rushlight.nn.functional.layer_norm(x, (4,))
    assert seen == ["layer_norm"] and type(out) is Noting
    assert handle_torch_function(rushlight.relu, (x,), x).shape == (2, 4)


def test_nested_sparse_and_transformed_tensors_go_on_as_before():
    functional = rushlight.nn.functional
    nested = rushlight.nested.nested_tensor(
        [rushlight.ones(2, 4), rushlight.ones(3, 4)], layout=rushlight.jagged
    )
    assert functional.layer_norm(nested, (4,)).is_nested
    assert functional.dropout(nested, 0.5, False).is_nested
    x = rushlight.randn(3, 2, 4)
    found = rushlight.vmap(lambda row: functional.layer_norm(row, (4,)))(x)
    assert rushlight.allclose(found, functional.layer_norm(x, (4,)))
    slope = rushlight.func.grad(lambda t: functional.mse_loss(t, 0 * t))(x)
    assert rushlight.allclose(slope, 2 * x / x.numel())


OPERATORS = (
    "add sub mul truediv floordiv mod pow matmul and_ or_ xor lshift rshift eq ne lt gt le ge"
).split()


@pytest.mark.parametrize("name", OPERATORS)
def test_operators_of_tensors_are_methods(name):
    graphs = []
    for library in (torch, rushlight):
        held = library.tensor([1, 2])
        graphs.append(library.fx.Tracer().trace(lambda x: getattr(operator, name)(held, x)))  # noqa: B023
    kinds = [[node.op for node in graph.nodes] for graph in graphs]
    assert kinds[0] == kinds[1] == ["placeholder", "get_attr", "call_method", "output"]
    held, other = rushlight.tensor([1, 2]), rushlight.tensor([3, 1])
    module = rushlight.fx.symbolic_trace(lambda x: getattr(operator, name)(held, x))
    assert rushlight.equal(module(other), getattr(operator, name)(held, other))


def test_writing_a_proxy_into_a_tensor_is_a_node():
    def program(library):
        held = library.zeros(3)

        def write(x):
            held[1] = x
            return held * 1

        return library.fx.Tracer().trace(write)

    theirs, ours = program(torch), program(rushlight)
    assert [node.name for node in ours.nodes] == [node.name for node in theirs.nodes]


def test_custom_functions_are_traced_through():
    def program(library):
        class Square(library.autograd.Function):
            @staticmethod
            def forward(ctx, x):
                ctx.save_for_backward(x)
                return x * x

            @staticmethod
            def backward(ctx, grad):
                return 2 * grad * ctx.saved_tensors[0]

        return library.fx.Tracer().trace(lambda x: Square.apply(x) + 1)

    names = [[node.name for node in program(library).nodes] for library in (torch, rushlight)]
    assert names[0] == names[1] == ["x", "mul", "add", "output"]


def test_proxies_are_written_into_tensors_and_buffers():
    def program(library):
        class Counting(library.nn.Module):
            def __init__(self):
                super().__init__()
                self.register_buffer("seen", library.zeros(2))

            def forward(self, x):
                self.seen += x
                return library.ones(2).mul_(x).addcmul_(x, x)

        return library.fx.Tracer().trace(Counting())

    found = [[(n.op, n.name) for n in program(library).nodes] for library in (torch, rushlight)]
    assert found[0] == found[1]

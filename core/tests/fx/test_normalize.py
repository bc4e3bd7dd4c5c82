"""Calls in one spelling, and joined products, beside PyTorch's."""

import importlib
import operator
import sys
import warnings
from pathlib import Path

import pytest

import rushlight

torch = pytest.importorskip("torch")
sys.path.insert(0, str(Path(__file__).parent))

from graph_agreement import arguments, plain, rows, same_values, target_name  # noqa: E402

LIBRARIES = (rushlight, torch)


def of(library, name):
    return importlib.import_module(f"{library.__name__}.fx.experimental.{name}")


def several_calls(library):
    F = library.nn.functional  # noqa: N806

    class Net(library.nn.Module):
        def __init__(self):
            super().__init__()
            self.layer, self.relu = library.nn.Linear(2, 3), library.nn.ReLU()
            self.weight = library.nn.Parameter(library.ones(3, 3))

        def forward(self, x, y):
            z = F.linear(library.add(self.layer(x), y, alpha=2), self.weight)
            z = F.gelu(F.relu(F.layer_norm(z, (3,))))
            z = F.softmax(z, dim=-1) + F.dropout(z, 0.5, False)
            z = library.sum(library.cat([z, z], 1).flatten(1), 1)
            return self.relu(z) / library.mul(z, 2)

    return library.fx.symbolic_trace(Net())


# PyTorch leaves calls of functions with several overloads as they are; their arguments are known
# here.
OVERLOADED = {"add": {"input": "%layer", "other": "%y", "alpha": "2"},
              "mul": {"input": "%sum_1", "other": "2"}}  # fmt: skip


@pytest.mark.parametrize("by_name", [True, False])
def test_arguments_are_pytorchs(by_name):
    found = []
    for library in LIBRARIES:
        worker = of(library, "normalize").NormalizeArgs(several_calls(library), by_name)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # PyTorch's about types of arguments
            made = worker.transform()
        assert {node.name for node in worker.node_map.values()} == (
            {node.name for node in made.graph.nodes if node.op != "output"}
        )
        found.append({n.name: [target_name(n.target), plain(n.args), plain(n.kwargs)]
                      for n in made.graph.nodes})  # fmt: skip
    ours, theirs = found
    for name, expected in OVERLOADED.items():
        args, kwargs = ours.pop(name)[1:]
        given = dict(zip(("input", "other"), args, strict=False))
        theirs.pop(name)
        if by_name:
            assert not args and kwargs == {f"'{k}'": v for k, v in expected.items()}
        else:
            assert {**{f"'{k}'": v for k, v in given.items()}, **kwargs} == (
                {f"'{k}'": v for k, v in expected.items()}
            )
    assert ours == theirs


def test_normalized_modules_compute_the_same():
    module = several_calls(rushlight)
    x, y = rushlight.randn(4, 2), rushlight.randn(4, 3)
    for by_name in (True, False):
        normalized = of(rushlight, "normalize").NormalizeArgs(module, by_name).transform()
        same_values(normalized(x, y), module(x, y))
    for node in normalized.graph.nodes:
        assert node.target is not operator.truediv or len(node.args) == 2


def test_functions_that_take_no_keywords_are_left():
    for library in LIBRARIES:
        graph = library.fx.symbolic_trace(lambda x: x + 1).graph
        add = next(n for n in graph.nodes if n.name == "add")
        assert add.normalized_arguments(None, normalize_to_only_use_kwargs=True) is None


def normalized_calls(library, function, by_name, x):
    """The arguments of the calls in a program of operators, or of functions, after the pass."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # PyTorch's about types of arguments
        made = of(library, "normalize").NormalizeArgs(function(library, x), by_name).transform()
    calls = [node for node in made.graph.nodes if node.op == "call_function"]
    return [[node.name, plain(node.args), plain(node.kwargs)] for node in calls]


def captured_operators(library, x):
    def function(x):
        return (x + 1).sum(0) * library.where(x > 0, x, x.exp())

    return of(library, "proxy_tensor").make_fx(function)(x)


def functions_of_any_arguments(library, x):
    return library.fx.symbolic_trace(
        lambda x: (library.max(x), library.max(x, 1), library.sum(x, 1))
    )


@pytest.mark.parametrize("by_name", [True, False])
@pytest.mark.parametrize("program", [captured_operators, functions_of_any_arguments])
def test_overloads_and_free_arguments_are_pytorchs(program, by_name):
    x = [[1.0, -2.0], [3.0, 4.0]]
    found = [
        normalized_calls(library, program, by_name, library.tensor(x)) for library in LIBRARIES
    ]
    assert found[0] == found[1]


def operators(library):
    def function(x, y):
        first = library.add(library.mul(x, y), library.sub(x, 2))
        second = library.div(first, library.remainder(y, 3)) + library.floor_divide(x, y)
        kinds = [getattr(library, name)(x, y) for name in ("eq", "ne", "lt", "le", "gt", "ge")]
        return library.abs(second), kinds

    return library.fx.symbolic_trace(function)


def test_operators_are_pytorchs():
    found = []
    for library in LIBRARIES:
        made = of(library, "normalize").NormalizeOperators(operators(library)).transform()
        kinds = [getattr(node.target, "__module__", None) for node in made.graph.nodes]
        assert kinds.count("_operator") == 13
        found.append((rows(made.graph), arguments(made.graph)))
    assert found[0] == found[1]
    x, y = rushlight.randn(5), rushlight.ones(5)
    same_values(made_of_ours()(x, y), operators(rushlight)(x, y))


def made_of_ours():
    return of(rushlight, "normalize").NormalizeOperators(operators(rushlight)).transform()


def test_named_arguments_are_kept():
    module = rushlight.fx.symbolic_trace(lambda x: rushlight.add(x, x, alpha=3))
    made = of(rushlight, "normalize").NormalizeOperators(module).transform()
    assert made(rushlight.ones(1)).tolist() == [4.0]


# --------------------------------------------------------------------------------- joined products
def products(library, weight):
    class Net(library.nn.Module):
        def __init__(self):
            super().__init__()
            self.weight = library.nn.Parameter(library.tensor(weight))

        def forward(self, a, b, c):
            first, second = library.matmul(a, self.weight), library.matmul(b, self.weight)
            return first + library.matmul(c, self.weight), second.relu()

    return Net()


def test_joined_products_are_pytorchs():
    weight = [[1.0, 2.0], [3.0, 4.0], [5.0, 6.0]]
    found = []
    for library in LIBRARIES:
        net = products(library, weight)
        made = of(library, "merge_matmul").merge_matmul(net)
        made.graph.eliminate_dead_code()
        made.recompile()
        inputs = [library.arange(3.0 * n).reshape(n, 3) for n in (2, 1, 2)]
        same_values(made(*inputs), net(*inputs))
        found.append([(n.op, target_name(n.target), len(n.users)) for n in made.graph.nodes])
    assert sorted(found[0]) == sorted(found[1])
    assert sum(name == "matmul" for _, name, _ in found[0]) == 1


def test_two_groups_of_products():
    def function(a, b, v, w):
        one, two = rushlight.matmul(a, v), rushlight.matmul(b, v)
        return one, two, rushlight.matmul(a, w), rushlight.matmul(b, w)

    made = of(rushlight, "merge_matmul").merge_matmul(function)
    assert len(made.graph.find_nodes(op="call_function", target=rushlight.matmul)) == 2
    inputs = [rushlight.randint(-3, 4, (n, 3)).float() for n in (2, 4, 3, 3)]
    same_values(made(*inputs), function(*inputs))


def in_a_row(library):
    return lambda a, w: library.matmul(library.matmul(a, w).relu(), w)


def test_dependent_products_stay():
    found = []
    for library in LIBRARIES:
        merging = of(library, "merge_matmul")
        made = merging.merge_matmul(in_a_row(library))
        found.append([(n.op, target_name(n.target)) for n in made.graph.nodes])
        a, w, first, relu, second, _ = made.graph.nodes
        asked = [(a, w), (second, first), (first, second), (second, a), (a, a), (relu, w)]
        found[-1] += [merging.may_depend_on(*pair) for pair in asked]
        found[-1] += [merging.may_depend_on(second, w, depth) for depth in range(3)]
        found[-1] += [merging.may_depend_on(relu, second, depth) for depth in range(4)]
        found[-1] += [merging.are_nodes_independent(x) for x in ([a, w], [a, first], [relu])]
    assert found[0] == found[1]


def test_results_are_split_as_pytorchs():
    sizes = []
    for library in LIBRARIES:
        inputs = [library.ones(n, 2) for n in (1, 3, 2)]
        split = of(library, "merge_matmul").split_result_tensors(library.arange(6), inputs)
        sizes.append([part.tolist() for part in split])
    assert sizes[0] == sizes[1] == [[0], [1, 2, 3], [4, 5]]

"""Numbers that are read outside of graphs are inputs of those behind, once they have changed."""

from __future__ import annotations

import math

import pytest
from part_checks import Noting, same

import rushlight
from rushlight import _dynamo


class Inputs(Noting):
    """Keeps the numbers among the inputs, too."""

    def __init__(self):
        super().__init__()
        self.numbers = []

    def __call__(self, graph_module, example_inputs):
        self.numbers.append([e for e in example_inputs if type(e) in (int, float)])
        return super().__call__(graph_module, example_inputs)


@pytest.fixture
def noting():
    return Inputs()


def reads_float(x):
    return x.sin() * x.sum().item()


def reads_int(x):
    return x.sin() * int(x.sum())


def computes(x):
    k = int(x.sum())
    print(end="")
    return x.sin() * (0.5 * k) + k // 2 - 2**k % 7 - -k, (k * 3, [k / 4])


def branches(x):
    k = int(x.sum())
    print(end="")
    y = x.cos() if k > 6 else x.sin()
    return y * k


def asks_for_truth(x):
    k = int(x.sum())
    print(end="")
    if k % 4 and not k == 6:
        return x.cos() - k
    return x.sin() + k


def makes_shapes(x):
    k = int(x.sum())
    print(end="")
    return x.repeat(k).sin()


def mixes(x):
    k = int(x.sum())
    print(end="")
    held = [k, k + 1]
    return x.clamp(max=held[1]).pow(k).where(x > k, k), str(x.shape)


def of_whole_numbers(x):
    k, half = int(x.sum()), x.sum().item() / 2
    print(end="")
    whole = x.to(rushlight.int32)
    return whole * k, whole * half, whole / k, k - whole


def looks_up(x):
    k = int(x.sum())
    print(end="")
    names = {2: "two", 4: "four"}
    return x * k, names.get(k), (1, 2, 3)[k % 3], [*range(k)], f"{k}", math.sqrt(k), max(k, 3)


def kinds(x):
    k = int(x.sum())
    print(end="")
    return x * k, type(k) is int, isinstance(k, int), k.bit_length(), k in (2, 4), -k


def only_numbers(x):
    k = int(x.sum())
    print(end="")
    n = k * 2 + 1
    print(end="")
    return x + n, n


def loops(x):
    for i in range(20):
        x = x.sin() + i
        print(end="")
    return x


PROGRAMS = [
    reads_float, reads_int, computes, branches, asks_for_truth, makes_shapes, mixes,
    of_whole_numbers, looks_up, kinds, only_numbers, loops,
]  # fmt: skip


@pytest.mark.filterwarnings("ignore:compile")
@pytest.mark.parametrize("program", PROGRAMS, ids=lambda f: f.__name__)
def test_results_are_pythons(program, noting):
    compiled = rushlight.compile(program, backend=noting)
    for number in (1, 2, 3, 4, 1, 5, 0.5, 12, 2, 3):
        x = rushlight.full((2,), float(number))
        found, expected = compiled(x), program(x)
        same(found, expected)
        leaves = [rushlight.utils._pytree.tree_leaves(v) for v in (found, expected)]
        assert [getattr(v, "dtype", type(v)) for v in leaves[0]] == [
            getattr(v, "dtype", type(v)) for v in leaves[1]
        ]


@pytest.mark.parametrize("program, numbers", [
    (reads_float, [[], [], [4.0]]), (reads_int, [[], [], [4]]), (computes, [[], [], [4]]),
    (branches, [[], [], [4], [8]]), (only_numbers, [[], [], [9]]), (loops, [[], [1]]),
], ids=lambda v: getattr(v, "__name__", ""))  # fmt: skip
def test_the_first_is_a_constant_and_the_next_an_input(program, numbers, noting):
    compiled = rushlight.compile(program, backend=noting)
    for number in (*range(1, 20), 2, 5):
        x = rushlight.full((2,), float(number))
        same(compiled(x), program(x))
    assert noting.numbers == numbers


def test_numbers_are_inputs_where_pytorchs_are():
    torch = pytest.importorskip("torch")

    def graphs_of(library, program):
        found = []

        def backend(graph_module, example_inputs):
            is_tensor = [isinstance(e, library.Tensor) and e.dim() > 0 for e in example_inputs]
            found.append((sum(is_tensor), len(is_tensor) - sum(is_tensor)))
            return graph_module.forward

        library._dynamo.reset()
        compiled = library.compile(program, backend=backend)
        for number in range(1, 6):
            compiled(library.full((2,), float(number)))
        return found

    for program in (reads_float, reads_int, branches):
        assert graphs_of(rushlight, program) == graphs_of(torch, program)


def test_numbers_that_stay_are_constants(noting):
    def program(x, width):
        k = x.sum().item()
        print(end="")
        return x.reshape(width, -1) * k

    compiled = rushlight.compile(program, backend=noting)
    for number in (1.0, 2.0, 3.0, 4.0):
        x = rushlight.full((6,), number)
        same(compiled(x, 2), program(x, 2))
    assert noting.numbers == [[], [], [12.0]]


@pytest.mark.filterwarnings("ignore:compile")
def test_gradients_and_errors(noting):
    def program(x):
        k = int(x.sum())
        print(end="")
        return (x.sin() * k).sum() / (5 // k)

    compiled = rushlight.compile(program, backend=noting)
    for number in (1.0, 2.0, 0.5, 2.5):
        grads = []
        for run in (compiled, program):
            x = rushlight.full((2,), number, requires_grad=True)
            run(x).backward()
            grads.append(x.grad)
        same(*grads)
    with pytest.raises(ZeroDivisionError):
        compiled(rushlight.zeros(2))


def test_sizes_do_not_compile_for_ever(noting):
    compiled = rushlight.compile(makes_shapes, backend=noting)
    with pytest.warns(UserWarning, match="was captured 8 times"):
        for number in range(1, 20):
            x = rushlight.full((2,), float(number))
            same(compiled(x), makes_shapes(x))
    assert len(noting.graphs) <= 2 + _dynamo.config.recompile_limit


@pytest.mark.parametrize("limit", [1, 3, 11])
def test_a_limit_of_ones_own_holds_for_parts(limit, noting):
    """PyTorch's `recompile_limit` is that of each part, too."""
    compiled = rushlight.compile(makes_shapes, backend=noting, recompile_limit=limit)
    with pytest.warns(UserWarning, match=f"was captured {limit} times"):
        for number in range(1, 20):
            x = rushlight.full((2,), float(number))
            same(compiled(x), makes_shapes(x))
    assert len(noting.graphs) == 1 + limit  # one graph until the break, which no number reaches


def test_the_ordinary_backend_takes_numbers():
    compiled = rushlight.compile(reads_int, backend=_dynamo.lookup_backend("inductor"))
    for number in range(1, 5):
        x = rushlight.full((2,), float(number))
        same(compiled(x), reads_int(x))

"""Arguments that are whole numbers and may differ from call to call; the larger and the smaller of
a size and a number."""

import io

import pytest

import rushlight
from rushlight.export import Dim, export, load, save, unflatten
from rushlight.export.dynamic_shapes import AdditionalInputs
from rushlight.export.graph_signature import InputKind, SymIntArgument
from rushlight.fx.experimental.symbolic_shapes import ConstraintViolationError

pytestmark = pytest.mark.filterwarnings("ignore:.*LeafSpec:FutureWarning")

AUTO = Dim.AUTO
FUNCTIONS = {
    "product": lambda x, n: (x * n, n + 1, n),
    "slice": lambda x, n: x[:n] + n // 2,
    "filled": lambda x, n: x.new_ones(n + 1, 2) * n,
    "index": lambda x, n: x[n % 4] - n,
    "repeated": lambda x, n: x[None].expand(n, -1, -1).reshape(n * 4, 3),
    "at least": lambda x, n: x.new_ones(max(n, 3)),
}


# As PyTorch: of four rows a slice to the example's 5 takes all, as it does for all numbers above.
LOWEST = {"slice": 5}


def model(library, function):
    class Net(library.nn.Module):
        def forward(self, x, n):
            return function(x, n)

    return Net()


def given(library):
    return library.arange(12.0).reshape(4, 3)


def plain(found):
    found = found if isinstance(found, tuple) else (found,)
    return [each if isinstance(each, int) else each.tolist() for each in found]


def archived(program):
    buffer = io.BytesIO()
    save(program, buffer)
    return load(buffer)


@pytest.mark.parametrize("name", FUNCTIONS)
def test_programs_take_any_number(name):
    function = FUNCTIONS[name]
    program = export(model(rushlight, function), (given(rushlight), 5), dynamic_shapes=(None, AUTO))
    (spec,) = [s for s in program.graph_signature.input_specs if isinstance(s.arg, SymIntArgument)]
    assert (spec.kind, spec.arg.name) == (InputKind.USER_INPUT, "n")
    lowest = LOWEST.get(name, 0)
    ranges = [(v.lower, v.upper) for v in program.range_constraints.values()]
    assert ranges == [(lowest, float("inf"))]
    decomposed = program.run_decompositions()
    for each in (program, decomposed, archived(program), archived(decomposed)):
        module = each.module()
        for n in (5, 1, 0, 2, 9):
            if n < lowest:
                with pytest.raises((AssertionError, RuntimeError), match="5"):
                    module(given(rushlight), n)
                continue
            wanted = plain(function(given(rushlight), n))
            assert plain(module(given(rushlight), n)) == wanted
    assert plain(unflatten(program)(given(rushlight), 7)) == plain(function(given(rushlight), 7))


@pytest.mark.parametrize("name", FUNCTIONS)
def test_the_programs_are_pytorchs(name, tmp_path):
    torch = pytest.importorskip("torch")
    if name == "at least":
        pytest.skip("PyTorch's program keeps to the choice of the example")
    function = FUNCTIONS[name]
    theirs = torch.export.export(
        model(torch, function), (given(torch), 5), dynamic_shapes=(None, torch.export.Dim.AUTO)
    )
    ours = export(model(rushlight, function), (given(rushlight), 5), dynamic_shapes=(None, AUTO))
    assert calls(ours) == calls(theirs)
    torch.export.save(theirs, tmp_path / "theirs.pt2")
    save(ours, tmp_path / "ours.pt2")
    loaded = torch.export.load(tmp_path / "ours.pt2").module()
    found = load(tmp_path / "theirs.pt2").module()
    for n in (5, 9, 6):
        wanted = plain(function(given(rushlight), n))
        assert plain(loaded(given(torch), n)) == wanted
        assert plain(found(given(rushlight), n)) == wanted


def calls(program):
    return sorted(str(n.target) for n in program.graph.nodes if n.op == "call_function")


def test_numbers_that_the_program_chooses_by():
    def function(x, n):
        return x + 1 if n == 1 else x * n

    program = export(model(rushlight, function), (given(rushlight), 5), dynamic_shapes=(None, AUTO))
    assert [v.lower for v in program.range_constraints.values()] == [2]
    with pytest.raises(AssertionError, match="n makes s0 1: expected at least 2"):
        program.module()(given(rushlight), 1)
    with pytest.raises(TypeError, match="input 'n' must be an int, not float"):
        program.module()(given(rushlight), 2.5)


def test_numbers_that_cannot_differ():
    def function(x, n):
        return sum(x * i for i in range(n))

    net, args = model(rushlight, function), (given(rushlight), 3)
    program = export(net, args, dynamic_shapes=(None, AUTO))
    assert program.graph_signature.user_inputs[1] == 3
    with pytest.raises(
        ConstraintViolationError, match=r"Constraints violated \(s0\)! You marked n as dynamic"
    ):
        export(net, args, dynamic_shapes=(None, Dim.DYNAMIC))
    with pytest.raises(ValueError, match="integers as dynamic through named Dims"):
        export(net, args, dynamic_shapes=(None, Dim("n")))
    with pytest.raises(rushlight._dynamo.exc.UserError, match="the argument is a float"):
        export(net, (given(rushlight), 3.0), dynamic_shapes=(None, AUTO))
    static = export(net, args, dynamic_shapes=(None, Dim.STATIC))
    assert static.graph_signature.user_inputs[1] == 3


def test_numbers_within_structures():
    class Net(rushlight.nn.Module):
        def forward(self, x, sizes):
            return x[: sizes["n"]] + sizes["k"][0], sizes["n"] * sizes["k"][0]

    more = AdditionalInputs()
    more.add((given(rushlight), {"n": 2, "k": [7]}))
    program = export(Net(), (given(rushlight), {"n": 3, "k": [2]}), dynamic_shapes=more)
    x, six = program.module()(given(rushlight), {"n": 1, "k": [6]})
    assert (x.tolist(), six) == ([[6.0, 7.0, 8.0]], 6)


@pytest.mark.parametrize(
    "function",
    [
        lambda n: rushlight.sym_min(n, 7), lambda n: rushlight.sym_max(n, 7),
        lambda n: min(n, 1000) + 1, lambda n: max(n - 3, 0) + 1,
        lambda n: rushlight.sym_ite(n > 5, n, 5),
    ],
)  # fmt: skip
def test_the_larger_and_the_smaller(function):
    class Net(rushlight.nn.Module):
        def forward(self, x):
            return x.new_ones(function(x.shape[0]))

    rows = Dim("rows", min=2, max=4096)
    program = export(Net(), (rushlight.ones(8),), dynamic_shapes=({0: rows},))
    for each in (program, program.run_decompositions()):
        for size in (2, 3, 7, 8, 40, 4096):
            assert each.module()(rushlight.ones(size)).shape == (function(size),)


def test_a_number_that_is_another_at_a_small_size_is_told():
    """Not given the value that it has at all larger sizes."""

    class Net(rushlight.nn.Module):
        def forward(self, x):
            return x.new_ones(3 if x.shape[0] < 5 else 7)

    rows = Dim("rows", min=2, max=4096)
    with pytest.raises(
        ConstraintViolationError, match="At 2 for x.shape.0. the program is another than at 8"
    ):
        export(Net(), (rushlight.ones(8),), dynamic_shapes=({0: rows},))

"""Numbers that programs compute of sizes, by which no captures at several sizes tell how: nodes, as
PyTorch 2.13 has them."""

import io

import pytest

import rushlight
from rushlight.export import Dim, export, load, save
from rushlight.export.serialization.values import FormatError

pytestmark = pytest.mark.filterwarnings("ignore:.*LeafSpec:FutureWarning")

# The program, and the nodes between the size and what is made with it.
PROGRAMS = {
    "round to digits": (lambda x: x * round(x.shape[0] / 3, 2), "truediv round"),
    "round to hundreds": (lambda x: x * round(x.shape[0] * 10, -2), "mul round"),
    "round of a part": (lambda x: x.new_zeros(round(x.shape[0] * 0.75)),
                        "sym_float mul round"),
    "power": (lambda x: x * x.shape[0] ** 0.3, "sym_float pow"),
    "power of two": (lambda x: x * 2 ** x.shape[0], "pow"),
    "abs": (lambda x: x * abs(x.shape[0] - 10), "sub abs"),
    "abs as a shape": (lambda x: x.new_ones(abs(x.shape[0] - 10), 2), "sub abs"),
    "abs as an index": (lambda x: x[abs(x.shape[0] - 10) - 3], "sub abs sub"),
    "abs in zeros": (lambda x: (x, rushlight.zeros(abs(x.shape[0] - 10)))[1], "sub abs"),
    "larger float": (lambda x: x * rushlight.sym_max(x.shape[0], 7.5), "sym_float sym_max"),
    "smaller float": (lambda x: x * rushlight.sym_min(x.shape[0], 7.5), "sym_float sym_min"),
    "rest of a float": (lambda x: x * (x.shape[0] * 0.5 % 2), "sym_float mul mod"),
    "rest by a float": (lambda x: x * (x.shape[0] % 2.5), "sym_float mod"),
    "rest of a number": (lambda x: x * (100 % x.shape[0]), "mod"),
    "several": (lambda x: x * ((x.shape[0] * 0.5 + 1) ** 2 - 3 / x.shape[0]),
                "sym_float mul add pow truediv sub"),
}  # fmt: skip
# Of which archives have no nodes, PyTorch's neither.
UNSAVED = {name for name in PROGRAMS if name.startswith(("round", "abs"))}


class Net(rushlight.nn.Module):
    def __init__(self, function):
        super().__init__()
        self.function = function

    def forward(self, x):
        return self.function(x)


def of_size(n):
    return rushlight.arange(n * 3.0).reshape(n, 3) + 0.5


def exported(function, example=6, dim=Dim.DYNAMIC):
    return export(Net(function), (of_size(example),), dynamic_shapes=({0: dim},))


def archived(program):
    buffer = io.BytesIO()
    save(program, buffer)
    return load(buffer)


def targets(program):
    """What is called between the size and the last function but those of tensors."""
    nodes = [n for n in program.graph.nodes if n.op == "call_function"]
    assert nodes[0].target is rushlight.ops.aten.sym_size.int
    return " ".join(n.target.__name__ for n in nodes[1:-1])


@pytest.mark.parametrize("name", PROGRAMS)
def test_values_and_nodes(name):
    function, words = PROGRAMS[name]
    program = exported(function)
    assert targets(program) == words
    forms = [program, program.run_decompositions()]
    if name in UNSAVED:
        with pytest.raises(FormatError, match="an archive cannot have"):
            save(program, io.BytesIO())
    else:
        forms.append(archived(program))
    for each in forms:
        module = each.module()
        for n in (6, 7, 9, 12, 13, 25):
            found, wanted = module(of_size(n)), function(of_size(n))
            assert found.shape == wanted.shape, (name, n)
            assert found.tolist() == wanted.tolist(), (name, n)


def test_sizes_of_tensors_that_are_made_with_them():
    program = exported(PROGRAMS["abs as a shape"][0])
    (made,) = program.graph.find_nodes(
        op="call_function", target=rushlight.ops.aten.new_ones.default
    )
    assert str(made.meta["sizes"]) == "(abs(s0 + -1*10), 2)"
    rounded = exported(PROGRAMS["round of a part"][0])
    (node,) = [n for n in rounded.graph.nodes if n.name == "round_1"]
    assert node.args[1] is None
    assert str(node.meta["val"]) == "round(float(s0)*0.75)"


def test_floats_by_value():
    """A quotient of floats that rounds: eager's, not that of the exact numbers."""
    program = exported(lambda x: x * ((x.shape[0] - 5.0) // 0.1 + x.shape[0] % 0.7))
    for n in (6, 7, 11):
        wanted = of_size(n) * ((n - 5.0) // 0.1 + n % 0.7)
        assert program.module()(of_size(n)).tolist() == wanted.tolist()


def test_results_that_are_numbers():
    program = exported(lambda x: (x + 1, x.shape[0] ** 0.3, abs(x.shape[0] - 10)))
    for n in (4, 6, 15):
        found = program.module()(of_size(n))
        assert found[1:] == (n**0.3, abs(n - 10))


def test_a_limit_that_one_size_reaches_is_no_clamp():
    """Captures at 6 and above 19 alone agree with ``max(s - 10, 4)``."""
    for dim in (Dim("n"), Dim.AUTO, Dim("n", min=3, max=40)):
        program = exported(lambda x: x * abs(x.shape[0] - 10), dim=dim)
        for n in (4, 7, 10, 13, 40):
            found = program.module()(of_size(n)).tolist()
            assert found == (of_size(n) * abs(n - 10)).tolist()


def test_inside_of_choices():
    def function(x):
        n = x.shape[0]
        return rushlight.cond(n > 7, lambda x: x * n**0.3, lambda x: x - abs(n - 10), (x,))

    program = exported(function)
    for n in (4, 6, 9, 15):
        wanted = of_size(n) * n**0.3 if n > 7 else of_size(n) - abs(n - 10)
        assert program.module()(of_size(n)).tolist() == wanted.tolist()


# ------------------------------------------------------------------------ sizes that are divided
class Rows(rushlight.nn.Module):
    def forward(self, x, n):
        return x.reshape(n, -1)


@pytest.mark.parametrize("free", [True, False])
def test_a_shape_that_a_number_divides(free):
    dims = ({0: Dim.DYNAMIC} if free else None, Dim.DYNAMIC)
    program = export(Rows(), (of_size(6), 3), dynamic_shapes=dims)
    (node,) = program.graph.find_nodes(
        op="call_function", target=rushlight.ops.aten.reshape.default
    )
    assert str(node.meta["sizes"]) == ("(s1, (3*s0)//s1)" if free else "(s0, 18//s0)")
    for each in (program, archived(program), program.run_decompositions()):
        for rows, n in ((6, 2), (6, 9)) + (((8, 4), (10, 5)) if free else ()):
            found = each.module()(of_size(rows), n)
            assert found.tolist() == of_size(rows).reshape(n, -1).tolist()
        with pytest.raises(RuntimeError, match="invalid for input of size 18"):
            each.module()(of_size(6), 4)


@pytest.mark.parametrize("dim", [Dim.DYNAMIC, Dim.AUTO])
def test_a_size_that_a_shape_divides(dim):
    program = exported(lambda x: x.unflatten(0, (-1, 4)) + 1, 8, dim)
    assert program.module()(of_size(12)).tolist() == (of_size(12).reshape(3, 4, 3) + 1).tolist()
    with pytest.raises(RuntimeError, match="invalid for input of size 11"):
        program.module()(of_size(11))


def test_archives_that_pytorch_reads(tmp_path):
    torch = pytest.importorskip("torch")
    for name in ("power of two", "smaller float", "rest of a float", "several"):
        path = tmp_path / "program.pt2"
        save(exported(PROGRAMS[name][0]), path)
        module = torch.export.load(path).module()
        for n in (7,):
            given = torch.arange(n * 3.0).reshape(n, 3) + 0.5
            wanted = PROGRAMS[name][0](of_size(n))
            assert module(given).tolist() == wanted.tolist(), name


def test_the_end_of_a_tensor_by_a_part_of_its_size():
    def function(x):
        n = x.shape[0]
        return x[: n // 2].sum() + x[-(n // 4) :]

    program = exported(function, 12)
    assert "neg" in targets(program).split()
    for each in (program, program.run_decompositions(), archived(program)):
        for n in (8, 12, 13, 31):
            assert each.module()(of_size(n)).tolist() == function(of_size(n)).tolist()

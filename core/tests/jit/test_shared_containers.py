"""`jit.script` of lists and dicts, and the classes of traced modules, as PyTorch's."""

import copy

import pytest

import rushlight

pytestmark = pytest.mark.filterwarnings("ignore:.*torch.jit:DeprecationWarning")


@pytest.fixture(params=["rushlight", "torch"])
def library(request):
    return pytest.importorskip(request.param)


def grow(values: list[int], table: dict[str, int]) -> int:
    values.append(7)
    table["c"] = len(values)
    return table["a"]


def test_functions_change_what_is_shared(library):
    values, table = library.jit.script([1, 2]), library.jit.script({"a": 5})
    assert library.jit.script(grow)(values, table) == 5
    assert list(values) == [1, 2, 7] and dict(table.items()) == {"a": 5, "c": 3}
    assert type(values).__name__ == "ScriptList" and type(table).__name__ == "ScriptDict"


def test_elements_are_of_one_type(library):
    for mixed in ([1, "a"], [library.nn.ReLU()], [1, 2.0]):
        with pytest.raises(library.jit.Error):
            library.jit.script(mixed)
    values, table = library.jit.script([1, 2]), library.jit.script({"a": 5})
    for change in (
        lambda: values.append("x"),
        lambda: values.extend([3, "x"]),
        lambda: values.__setitem__(0, "x"),
        lambda: values.insert(0, "x"),
        lambda: table.__setitem__("b", "x"),
        lambda: table.__setitem__(3, 1),
    ):
        with pytest.raises(TypeError):
            change()
    assert dict(table.items()) == {"a": 5}
    values.append(3)
    values[0] = 9
    assert len(values) == len(list(values)) and values[0] == 9 and 3 in values
    with pytest.raises(IndexError):
        values[50]
    with pytest.raises(KeyError):
        table["b"]
    nested = library.jit.script([[1], [2, 3]])
    assert [list(each) for each in nested] == [[1], [2, 3]]


def test_the_first_element_says_the_type():
    values, table = rushlight.jit.script([]), rushlight.jit.script({})
    values.append("x")
    table["x"] = 1.0
    assert rushlight.jit.script(values) is values
    with pytest.raises(TypeError, match="must be of type str, got int"):
        values.append(1)
    with pytest.raises(TypeError, match="a value of a ScriptDict must be of type float"):
        table["y"] = "z"
    with pytest.raises(TypeError, match="expected a function, a module or a class"):
        rushlight.jit.script((1, 2))


class Part:
    """Made a module of either library."""

    def forward(self, x):
        return x * 2


class Whole:
    """Made a module of either library."""

    def __init__(self, part):
        super().__init__()
        self.part = part

    def forward(self, x):
        return self.part(x) + 1


def test_classes_of_traced_modules(library):
    jit, nn = library.jit, library.nn
    model = type("Whole", (Whole, nn.Module), {})(type("Part", (Part, nn.Module), {})())
    traced = jit.trace(model, (library.ones(2),))
    assert type(traced).__mro__.count(jit.TopLevelTracedModule) == 1
    assert type(traced).__name__ == "TopLevelTracedModule"
    assert isinstance(traced, jit.ScriptModule) and isinstance(traced.part, jit.TracedModule)
    assert not isinstance(traced.part, jit.TopLevelTracedModule)
    assert not isinstance(jit.script(model), jit.TracedModule)
    assert (traced.original_name, traced.part.original_name) == ("Whole", "Part")
    assert [name for name, _ in traced.named_modules()] == ["", "part"]
    wanted = "Whole( original_name=Whole (part): Part(original_name=Part) )"
    assert str(traced).split() == wanted.split()
    assert copy.deepcopy(traced)(library.ones(2)).tolist() == [3.0, 3.0]
    assert isinstance(jit.freeze(traced.eval()), jit.RecursiveScriptModule)

"""Generators of the model's own in exported programs, as PyTorch 2.13 has them."""

import copy
import io

import pytest

import rushlight
from rushlight.export import Dim, export, unflatten
from rushlight.export.graph_signature import CustomObjArgument, InputKind
from rushlight.onnx.errors import UnsupportedOperatorError

# The call, the nodes of the program, and those after run_decompositions().
DRAWS = {
    "randn": (lambda x, g: x + rushlight.randn(3, generator=g),
              "randn.generator add.Tensor", "randn.generator add.Tensor"),
    "randint": (lambda x, g: x + rushlight.randint(0, 9, (3,), generator=g),
                "randint.low_generator add.Tensor", "randint.low_generator add.Tensor"),
    "normal_": (lambda x, g: x.clone().normal_(generator=g),
                "clone.default normal_.default", "clone.default normal_functional.default"),
    "bernoulli": (lambda x, g: rushlight.bernoulli(x, generator=g), "bernoulli.default", None),
    "bernoulli_": (lambda x, g: x.clone().bernoulli_(0.3, generator=g),
                   "clone.default bernoulli_.float", "clone.default bernoulli.p"),
    "uniform_": (lambda x, g: x.clone().uniform_(generator=g),
                 "clone.default uniform_.default", "clone.default uniform.default"),
    "multinomial": (lambda x, g: rushlight.multinomial(x, 2, generator=g),
                    "multinomial.default", "multinomial.default"),
    "several": (lambda x, g: rushlight.rand(3, generator=g) + x + rushlight.rand(3, generator=g),
                "rand.generator add.Tensor rand.generator add.Tensor",
                "rand.generator add.Tensor rand.generator add.Tensor"),
}  # fmt: skip
NAME = "obj_lifted_custom_0"


class Noisy(rushlight.nn.Module):
    def __init__(self, function, seed=5):
        super().__init__()
        self.function, self.generator = function, rushlight.Generator().manual_seed(seed)

    def forward(self, x):
        return self.function(x, self.generator)


def calls(program):
    nodes = [n for n in program.graph.nodes if n.op == "call_function"]
    return " ".join(str(n.target).removeprefix("aten.") for n in nodes)


@pytest.mark.parametrize("name", DRAWS)
def test_programs_draw_what_the_model_does(name):
    function, nodes, after = DRAWS[name]
    model, x = Noisy(function), rushlight.tensor([0.2, 0.5, 0.7])
    before = model.generator.get_state().tolist()
    program = export(model, (x,))
    decomposed = program.run_decompositions()
    assert model.generator.get_state().tolist() == before  # shapes alone draw no numbers
    assert calls(program) == nodes
    assert after is None or calls(decomposed) == after
    (drawn, given) = program.graph_signature.input_specs
    assert (drawn.kind, drawn.target, given.arg.name) == (
        InputKind.CUSTOM_OBJ, "lifted_custom_0", "x",
    )  # fmt: skip
    assert drawn.arg == CustomObjArgument(NAME, "torch._C.Generator")
    assert str(drawn) == f"{NAME}: CUSTOM_OBJ target='lifted_custom_0'"
    assert program.constants == {"lifted_custom_0": model.generator}
    found = []
    for call in (model, program.module(), decomposed.module(), unflatten(program)):
        model.generator.manual_seed(7)
        found.append([call(x).tolist() for _ in range(3)])
    assert found[0] == found[1] == found[2] == found[3]
    assert found[0][0] != found[0][1] or found[0][1] != found[0][2]


def test_where_generators_stand_among_inputs():
    class Whole(rushlight.nn.Module):
        def __init__(self):
            super().__init__()
            self.inner = Noisy(DRAWS["several"][0])
            self.weight = rushlight.nn.Parameter(rushlight.ones(3))
            self.register_buffer("mean", rushlight.ones(3))
            self.scale, self.other = rushlight.ones(3), rushlight.Generator()

        def forward(self, x):
            x = x * self.scale + self.mean
            x = self.inner(x) * self.weight + rushlight.randn(3, generator=self.inner.generator)
            return x + rushlight.rand(3, generator=self.other)

    program = export(Whole(), (rushlight.ones(3),))
    signature = program.graph_signature
    names = [
        "p_weight",
        "b_mean",
        "obj_inner_lifted_custom_0",
        "obj_lifted_custom_1",
        "c_scale",
        "x",
    ]
    assert [spec.arg.name for spec in signature.input_specs] == names
    assert [n.name for n in program.graph.nodes if n.op == "placeholder"] == names
    assert signature.lifted_custom_objs == ("inner.lifted_custom_0", "lifted_custom_1")
    assert signature.inputs_to_lifted_custom_objs == {
        "obj_inner_lifted_custom_0": "inner.lifted_custom_0",
        "obj_lifted_custom_1": "lifted_custom_1",
    }
    assert list(program.module().state_dict()) == ["weight", "mean"]
    # a copy of the program draws by itself
    twin = copy.deepcopy(program)
    assert twin.module()(rushlight.ones(3)).tolist() == program.module()(rushlight.ones(3)).tolist()


def test_generators_as_arguments_are_those_of_the_export():
    class Given(rushlight.nn.Module):
        def forward(self, x, generator):
            return x + rushlight.rand(3, generator=generator)

    first, other = (rushlight.Generator().manual_seed(seed) for seed in (1, 2))
    program = export(Given(), (rushlight.ones(3), first))
    specs = program.graph_signature.input_specs
    assert [(s.kind.name, s.arg.name) for s in specs] == [
        ("CUSTOM_OBJ", NAME), ("USER_INPUT", "x"), ("USER_INPUT", "generator"),
    ]  # fmt: skip
    assert program.run_decompositions().module()(rushlight.zeros(3), other).tolist() == (
        rushlight.rand(3, generator=rushlight.Generator().manual_seed(1)).tolist()
    )


def test_sizes_may_differ():
    model = Noisy(lambda x, g: x + rushlight.rand(x.shape[0], 2, generator=g))
    program = export(model, (rushlight.ones(3, 2),), dynamic_shapes=({0: Dim.DYNAMIC},))
    found = []
    for call in (model, program.module(), program.run_decompositions().module()):
        model.generator.manual_seed(3)
        found.append(call(rushlight.ones(5, 2)).tolist())
    assert found[0] == found[1] == found[2]


def test_what_cannot_hold_generators_says_so():
    program = export(Noisy(DRAWS["randn"][0]), (rushlight.ones(3),))
    with pytest.raises(UnsupportedOperatorError, match=f"'{NAME}' is a generator"):
        rushlight.onnx.export(program, (rushlight.ones(3),), io.BytesIO())


def test_numbers_are_pytorchs():
    torch = pytest.importorskip("torch")
    model = Noisy(DRAWS["several"][0])
    found = export(model, (rushlight.ones(3),)).module()(rushlight.zeros(3))
    generator = torch.Generator().manual_seed(5)
    wanted = torch.rand(3, generator=generator) + torch.rand(3, generator=generator)
    assert found.tolist() == wanted.tolist()

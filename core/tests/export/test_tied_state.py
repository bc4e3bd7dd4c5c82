"""Tensors of a model that have several names, and what is in no state dict, as in PyTorch."""

import io

import pytest

import rushlight

# of PyTorch's own classes, when it copies programs
pytestmark = pytest.mark.filterwarnings("ignore:.*LeafSpec:FutureWarning")


@pytest.fixture(params=["rushlight", "torch"])
def library(request):
    return pytest.importorskip(request.param)


class Tied:
    """Made a module of either library."""

    def __init__(self, library):
        super().__init__()
        self.embedding = library.nn.Embedding(5, 4)
        self.head = library.nn.Linear(4, 5, bias=False)
        self.head.weight = self.embedding.weight
        self.layer = library.nn.Linear(5, 5)
        self.again = self.layer
        self.register_buffer("shift", library.ones(5))
        self.register_buffer("same", self.shift)
        self.register_buffer("hidden", library.ones(5), persistent=False)
        self.plain = library.full((5,), 2.0)

    def forward(self, index):
        x = self.again(self.layer(self.head(self.embedding(index)) + self.shift))
        return x * self.same + self.hidden - self.plain


def made(library):
    model = type("Tied", (Tied, library.nn.Module), {})(library)
    return model, library.export.export(model, (library.tensor([1, 2]),))


PARAMETERS = [
    "embedding.weight", "head.weight", "layer.weight", "layer.bias", "again.weight", "again.bias",
]  # fmt: skip


def test_every_name_is_an_input(library):
    model, program = made(library)
    for each in (program, program.run_decompositions()):
        signature = each.graph_signature
        assert list(signature.parameters) == PARAMETERS
        assert list(signature.buffers) == ["shift", "same", "hidden"]
        assert [name for name, _ in each.named_parameters()] == PARAMETERS
        assert [name for name, _ in each.named_buffers()] == ["shift", "same", "hidden"]
        assert each.state_dict["head.weight"] is each.state_dict["embedding.weight"]
        assert sorted(each.constants) == ["hidden", "plain"]
        read = {str(n.name) for n in each.graph.nodes if n.op == "placeholder" and n.users}
        assert read == {
            "p_head_weight", "p_again_weight", "p_again_bias", "b_same", "b_hidden", "c_plain",
            "index",
        }  # fmt: skip


def test_state_dicts_of_modules_are_the_models(library):
    model, program = made(library)
    torch = pytest.importorskip("torch")
    for module in (
        program.module(),
        program.run_decompositions().module(),
        library.export.unflatten(program),
    ):
        assert sorted(module.state_dict()) == sorted(model.state_dict())
        other, _ = made(library)
        module.load_state_dict(other.state_dict())
        index = library.tensor([1, 2])
        found, wanted = (torch.tensor(m(index).tolist()) for m in (module, other))
        torch.testing.assert_close(found, wanted)
        named = dict(module.named_parameters(remove_duplicate=False))
        assert sorted(named) == sorted(PARAMETERS)
        assert named["head.weight"] is named["embedding.weight"]
        assert sorted(name for name, _ in module.named_parameters()) == [
            "embedding.weight", "layer.bias", "layer.weight",
        ]  # fmt: skip


def test_archives_are_read_by_pytorch():
    torch = pytest.importorskip("torch")
    model, program = made(rushlight)
    file = io.BytesIO()
    rushlight.export.save(program, file)
    file.seek(0)
    theirs = torch.export.load(file)
    assert list(theirs.graph_signature.parameters) == PARAMETERS
    found = theirs.module()(torch.tensor([1, 2]))
    torch.testing.assert_close(found, torch.tensor(model(rushlight.tensor([1, 2])).tolist()))


def test_writes_to_one_name_are_seen_by_the_other():
    class Counting(rushlight.nn.Module):
        def __init__(self):
            super().__init__()
            self.register_buffer("first", rushlight.zeros(2))
            self.register_buffer("second", self.first)

        def forward(self, x):
            self.second.add_(1)
            return self.first + x

    model = Counting()
    program = rushlight.export.export(model, (rushlight.ones(2),))
    decomposed = program.run_decompositions()
    assert decomposed.graph_signature.buffers_to_mutate == {"add": "second"}
    for each in (program, decomposed):
        module = each.module()
        before = module.first.tolist()
        assert module(rushlight.ones(2)).tolist() == [value + 2 for value in before]
        assert module.first is module.second
        assert module.first.tolist() == [value + 1 for value in before]

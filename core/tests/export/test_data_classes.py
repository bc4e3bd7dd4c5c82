"""`export.register_dataclass`: programs that take and give objects of data classes."""

import dataclasses
import io
import json
import warnings
import zipfile
from collections import namedtuple
from typing import Any

import pytest

import rushlight
from rushlight._dynamo.exc import UserError
from rushlight.export import Dim, export, load, register_dataclass, save, unflatten
from rushlight.export.dynamic_shapes import AdditionalInputs, ShapesCollection
from rushlight.export.serialization import FormatError
from rushlight.utils import _pytree as pytree


@dataclasses.dataclass
class Given:
    x: Any
    factor: int
    bias: Any = None


@dataclasses.dataclass
class Found:
    scaled: Any
    parts: Any
    note: Any = None


@dataclasses.dataclass
class Unnamed:
    x: Any


CLASSES = {Given: "tests.Given", Found: "tests.Found", Unnamed: None}


@pytest.fixture(autouse=True, scope="module")
def _registered():
    for cls, name in CLASSES.items():
        register_dataclass(cls, serialized_type_name=name)
    yield
    for cls in CLASSES:
        pytree._deregister_pytree_node(cls)


def scale(library):
    class Scale(library.nn.Module):
        def forward(self, given, *, more=None):
            scaled = given.x * given.factor
            if given.bias is not None:
                scaled = scaled + given.bias
            return Found(scaled, (scaled.sum(), given.factor))

    return Scale()


def same(one, two):
    leaves, spec = pytree.tree_flatten(one)
    others, other_spec = pytree.tree_flatten(two)
    assert spec == other_spec
    for a, b in zip(leaves, others, strict=True):
        assert a.tolist() == b.tolist() if isinstance(a, rushlight.Tensor) else a == b


def test_fields_are_inputs_and_outputs():
    given = Given(rushlight.tensor([1.0, 2.0]), 3)
    program = export(scale(rushlight), (given,))
    assert program.graph_signature.user_inputs == ("given_x", 3)
    assert program.call_spec.out_spec.type is Found
    module = program.module()
    same(module(given), Found(rushlight.tensor([3.0, 6.0]), (rushlight.tensor(9.0), 3)))
    with pytest.raises(AssertionError, match="given_factor"):
        module(Given(given.x, 4))
    with pytest.raises(ValueError, match="structure"):
        module(Given(given.x, 3, given.x))
    with pytest.raises(ValueError, match="structure"):
        module((given.x, 3))
    for other in (unflatten(program), program.run_decompositions().module()):
        same(other(given), module(given))


def test_named_tuples_give_names_too():
    class Add(rushlight.nn.Module):
        def forward(self, pair):
            return pair.left + pair.right

    pair = namedtuple("pair", "left right")(rushlight.ones(2), rushlight.ones(2))
    assert export(Add(), (pair,)).graph_signature.user_inputs == ("pair_left", "pair_right")


def test_a_kept_submodule_exchanges_data_classes():
    class Model(rushlight.nn.Module):
        def __init__(self):
            super().__init__()
            self.scale = scale(rushlight)

        def forward(self, x):
            return self.scale(Given(x, 2)).scaled + 1

    x = rushlight.tensor([1.0, 2.0])
    program = export(Model(), (x,), preserve_module_call_signature=("scale",))
    assert program.module_call_graph[1].signature.out_spec.type is Found
    assert unflatten(program)(x).tolist() == [3.0, 5.0]


@pytest.mark.parametrize("make", [list, tuple])
def test_sizes_stand_in_the_order_of_the_fields(make):
    given, size = Given(rushlight.ones(4), 3, rushlight.ones(1)), Dim("size")
    program = export(scale(rushlight), (given,), dynamic_shapes=(make([{0: size}, None, None]),))
    same(
        program.module()(Given(rushlight.ones(7), 3, rushlight.ones(1))),
        Found(rushlight.full((7,), 4.0), (rushlight.tensor(28.0), 3)),
    )
    with pytest.raises(UserError, match="'given' has 2 entries, the argument 3"):
        export(scale(rushlight), (given,), dynamic_shapes=(make([{0: size}, None]),))
    with pytest.raises(UserError, match="dynamic_shapes of 'given' is"):
        export(scale(rushlight), (given,), dynamic_shapes=({"x": {0: size}},))


def test_sizes_by_tensors_and_by_further_arguments():
    given = Given(rushlight.ones(4), 3)
    shapes, size = ShapesCollection(), Dim("size")
    shapes[given.x] = {0: size}
    assert shapes.dynamic_shapes(scale(rushlight), (given,)) == {"given": [{0: size}, None]}
    further = AdditionalInputs()
    further.add((Given(rushlight.ones(5), 3),))
    assert further.dynamic_shapes(scale(rushlight), (given,)) == {"given": [(Dim.DYNAMIC,), None]}
    for said in (shapes, further):
        program = export(scale(rushlight), (given,), dynamic_shapes=said)
        same(
            program.module()(Given(rushlight.ones(6), 3)),
            Found(rushlight.full((6,), 3.0), (rushlight.tensor(18.0), 3)),
        )


def test_what_cannot_be_registered():
    with pytest.raises(ValueError, match="already registered"):
        register_dataclass(Given)
    with pytest.raises(ValueError, match="no dataclass"):
        register_dataclass(int)


# ---------------------------------------------------------------------------------------- archives
def archived(program, library=rushlight):
    file = io.BytesIO()
    library.export.save(program, file)
    file.seek(0)
    return file


def test_archives_name_the_class():
    given = Given(rushlight.tensor([1.0, 2.0]), 3)
    program = export(scale(rushlight), (given,))
    found = load(archived(program))
    same(found.module()(given), program.module()(given))
    assert found.call_spec == program.call_spec
    same(found.example_inputs[0], (given,))


def test_classes_without_a_name_are_not_archived():
    class Wrap(rushlight.nn.Module):
        def forward(self, x):
            return Unnamed(x + 1)

    program = export(Wrap(), (rushlight.ones(2),))
    with pytest.raises(FormatError, match="serialized_type_name"):
        save(program, io.BytesIO())


@pytest.mark.parametrize(
    "old, new, error",
    [
        ("tests.Found", "tests.Other", "tests.Other cannot be read"),
        ("scaled", "other", "the fields of Found are"),
    ],
)
def test_archives_with_another_class_are_refused(old, new, error):
    program = export(scale(rushlight), (Given(rushlight.ones(2), 3),))
    file, changed = archived(program), io.BytesIO()
    with zipfile.ZipFile(file) as before, zipfile.ZipFile(changed, "w") as after:
        for info in before.infolist():
            content = before.read(info)
            if info.filename.endswith("model.json"):
                content = _replaced(content, old, new)
            after.writestr(info, content)
    changed.seek(0)
    with pytest.raises(FormatError, match=error):
        load(changed)


def _replaced(content, old, new):
    found = json.loads(content)
    call = found["graph_module"]["module_call_graph"][0]["signature"]
    assert old in call["out_spec"]
    call["out_spec"] = call["out_spec"].replace(old, new)
    return json.dumps(found).encode()


# ----------------------------------------------------------------------------------------- PyTorch
def test_archives_are_exchanged_with_pytorch():
    torch = pytest.importorskip("torch")
    import torch.export as _  # noqa: F401
    from torch.utils import _pytree as their_pytree

    for cls, name in CLASSES.items():
        torch.export.register_dataclass(cls, serialized_type_name=name)
    try:
        ours = export(scale(rushlight), (Given(rushlight.tensor([1.0, 2.0]), 3),))
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            theirs = torch.export.export(scale(torch), (Given(torch.tensor([1.0, 2.0]), 3),))
            with torch.serialization.safe_globals([Given]):  # of the example inputs
                read_there = torch.export.load(archived(ours))
            read_here = load(archived(theirs, torch))
        assert ours.graph_signature.user_inputs == theirs.graph_signature.user_inputs
        assert repr(ours.call_spec) == repr(theirs.call_spec)
        found = read_there.module()(Given(torch.tensor([2.0, 5.0]), 3))
        assert (found.scaled.tolist(), found.parts[1], found.note) == ([6.0, 15.0], 3, None)
        found = read_here.module()(Given(rushlight.tensor([2.0, 5.0]), 3))
        assert (found.scaled.tolist(), found.parts[1], found.note) == ([6.0, 15.0], 3, None)
    finally:
        for cls in CLASSES:
            their_pytree._deregister_pytree_node(cls)

"""Verifiers and dialects of programs, and the modules they give, as PyTorch's."""

import copy
import importlib
import io
import pickle

import pytest

import rushlight
from rushlight.export import export
from rushlight.export.serialization import FormatError
from rushlight.export.verifier import SpecViolationError, TrainingIRVerifier, Verifier

LIBRARIES = ["rushlight", "torch"]

# of PyTorch's own classes, when it copies programs
pytestmark = pytest.mark.filterwarnings("ignore:.*LeafSpec:FutureWarning")


@pytest.fixture(params=LIBRARIES)
def library(request):
    return pytest.importorskip(request.param)


def verifiers_of(library):
    home = "rushlight.export" if library is rushlight else "torch._export"
    return importlib.import_module(f"{home}.verifier")


def programs(library):
    """As exported, as decomposed, and both saved and loaded."""
    found = library.export.export(library.nn.Linear(3, 2), (library.ones(4, 3),))
    made = [found, found.run_decompositions()]
    for program in list(made):
        file = io.BytesIO()
        library.export.save(program, file)
        file.seek(0)
        made.append(library.export.load(file))
    return made


def remade(program, **named):
    return type(program)(
        program.graph_module, program.graph, program.graph_signature, program.state_dict,
        program.range_constraints, program.module_call_graph, program.example_inputs,
        program.constants, **named,
    )  # fmt: skip


def test_dialects_stay_when_programs_are_saved(library):
    found = programs(library)
    home = verifiers_of(library)
    assert [each.dialect for each in found] == ["TRAINING", "ATEN"] * 2
    kinds = [home.TrainingIRVerifier, home.Verifier]
    assert [each.verifier for each in found] == kinds * 2
    assert [each.verifiers for each in found] == [[kind] for kind in kinds] * 2
    assert copy.deepcopy(found[0]).dialect == "TRAINING"


def test_programs_of_the_dialect_aten_have_no_writes(library):
    class Writes(library.nn.Module):
        def forward(self, x):
            return x.relu_()

    home = verifiers_of(library)
    program = library.export.export(Writes(), (library.ones(2),))
    assert remade(program, verifiers=program.verifiers).dialect == "TRAINING"
    with pytest.raises(home.SpecViolationError, match=r"aten\.relu_\.default"):
        remade(program)
    with pytest.raises(AssertionError, match="must be subclasses of Verifier"):
        remade(program, verifiers=[int])


def test_a_dialect_of_ones_own(library):
    home = verifiers_of(library)

    class OwnVerifier(home.Verifier):
        dialect = "OWN"
        seen = []

        def check_valid_op(self, op):
            if "linear" in str(op):
                raise home.SpecViolationError("linear is none of ours")

        def check_additional(self, gm):
            self.seen.append(len(gm.graph.nodes))

    exported, decomposed, *_ = programs(library)
    with pytest.raises(home.SpecViolationError, match="linear is none of ours"):
        remade(exported, verifiers=[OwnVerifier])
    made = remade(decomposed, verifiers=[OwnVerifier])
    assert (made.dialect, OwnVerifier.seen) == ("OWN", [len(decomposed.graph.nodes)])
    with pytest.raises(AssertionError):
        type("Unnamed", (home.Verifier,), {})


def test_an_archive_of_an_unknown_dialect():
    kind = type("Passing", (Verifier,), {"dialect": "PASSING"})
    program = remade(programs(rushlight)[1], verifiers=[kind])
    file = io.BytesIO()
    rushlight.export.save(program, file)
    assert rushlight.export.load(io.BytesIO(file.getvalue())).verifier is kind
    changed = io.BytesIO(file.getvalue().replace(b"PASSING", b"PASSAGE"))
    with pytest.raises(FormatError):
        rushlight.export.load(changed)


def test_parts_cannot_be_set(library):
    program = library.export.export(library.nn.Linear(3, 2), (library.ones(4, 3),))
    for name in ("graph", "graph_module", "state_dict", "graph_signature", "verifier", "verifiers",
                 "range_constraints", "module_call_graph", "constants", "dialect"):  # fmt: skip
        with pytest.raises(RuntimeError, match=name):
            setattr(program, name, getattr(program, name))


def test_modules_of_programs_have_one_mode(library):
    module = library.export.export(library.nn.Dropout(0.5), (library.ones(4),)).module()
    for call in (module.train, module.eval, lambda: module.train(False)):
        with pytest.raises(NotImplementedError):
            call()
    with pytest.raises(NotImplementedError):
        library.nn.Sequential(module).eval()
    assert module.training
    assert not copy.deepcopy(module).eval().training
    assert not copy.copy(module).eval().training


class Scale:
    """Made a module of either library."""

    def forward(self, x, k):
        return x * k


@pytest.mark.parametrize("guards", [True, False])
def test_guards_of_modules(library, guards):
    model = type("Scale", (Scale, library.nn.Module), {})()
    batch = library.export.Dim("batch", max=8)
    shapes = {"x": {0: batch}, "k": None}
    program = library.export.export(model, (library.ones(4, 3), 2), dynamic_shapes=shapes)
    module = program.module(check_guards=guards)
    assert module(library.ones(7, 3), 2).tolist() == [[2.0] * 3] * 7
    error = AssertionError if guards else RuntimeError
    for args in ((library.ones(4, 3), 3), (library.ones(4, 4), 2), (library.ones(9, 3), 2)):
        with pytest.raises(error):
            module(*args)
    if not guards:
        assert module(library.ones(7, 3, dtype=library.float64), 2).dtype is library.float64


def test_a_module_without_guards_is_exported_with_other_sizes(library):
    program = library.export.export(library.nn.ReLU(), (library.ones(4, 3),))
    module = program.module(check_guards=False)
    size = library.export.Dim("size", max=6)
    again = library.export.export(module, (library.ones(4, 3),), dynamic_shapes=({0: size},))
    assert again.module()(library.ones(6, 3)).shape == (6, 3)
    with pytest.raises(RuntimeError):
        module(library.ones(6, 3))


def test_a_pickled_module_runs():
    module = export(rushlight.nn.Linear(3, 2), (rushlight.ones(4, 3),)).module()
    again = pickle.loads(pickle.dumps(module))
    x = rushlight.randn(4, 3)
    assert again(x).tolist() == module(x).tolist()
    assert not again.eval().training


def test_the_signature_is_checked_by_every_verifier():
    program = export(rushlight.nn.ReLU(), (rushlight.ones(2),))
    program.graph_signature.output_specs.clear()
    for kind in (Verifier, TrainingIRVerifier):
        with pytest.raises(SpecViolationError, match="1 outputs, the signature 0"):
            kind().check(program)

"""Generators in ``.pt2`` archives."""

import io
import pickle
import pickletools
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

import rushlight
from rushlight.export import export, load, save
from rushlight.export.graph_signature import CustomObjArgument, InputKind
from rushlight.export.serialization.generators import pickled, unpickled
from rushlight.export.serialization.values import FormatError

sys.path.insert(0, str(Path(__file__).parent))
from drawing_models import DRAWN, STATES, model_of  # noqa: E402

HERE = Path(__file__).parent
NAME = "obj_lifted_custom_0"
X = [0.2, 0.5, 0.7]


def drawn(program):
    call, x = program.module(), rushlight.tensor(X)
    return [call(x).tolist() for _ in range(2)]


def archived(program, **options):
    file = io.BytesIO()
    save(program, file, **options)
    file.seek(0)
    return file


@pytest.mark.parametrize("name", DRAWN)
@pytest.mark.parametrize("state", STATES)
def test_programs_that_are_read_draw_alike(name, state):
    program = export(model_of(rushlight, name, state), (rushlight.tensor(X),))
    first, second = (load(archived(program)) for _ in range(2))
    wanted = drawn(program)
    assert drawn(first) == wanted
    assert drawn(second.run_decompositions()) == wanted  # each has a generator of its own


def test_what_is_read_is_described_alike():
    program = export(model_of(rushlight, "rand", "seeded"), (rushlight.tensor(X),))
    found = load(archived(program))
    assert str(found.graph_signature) == str(program.graph_signature)
    assert str(found.graph) == str(program.graph)
    spec = next(s for s in found.graph_signature.input_specs if s.kind is InputKind.CUSTOM_OBJ)
    assert (spec.arg, spec.target) == (
        CustomObjArgument(NAME, "torch._C.Generator"), "lifted_custom_0",
    )  # fmt: skip
    node = next(n for n in found.graph.nodes if n.name == NAME)
    assert node.meta["val"] == spec.arg
    assert set(found.constants) == {"shift", "lifted_custom_0"}
    again = load(archived(found))  # what was read can be written
    assert drawn(again) == drawn(program)


@pytest.mark.parametrize("protocol", [2, 3, 4, 5])
def test_pickles_have_pytorchs_names(protocol):
    generator = rushlight.Generator().manual_seed(7)
    content = pickled(generator, protocol)
    names = [arg for op, arg, _ in pickletools.genops(content) if op.name == "GLOBAL"]
    assert names[:4] == [
        "torch._C Generator", "torch device", "torch._utils _rebuild_tensor_v2",
        "torch.storage _load_from_bytes",
    ]  # fmt: skip
    found = unpickled(content, "g")
    assert found.initial_seed() == 7
    assert found.get_state().tolist() == generator.get_state().tolist()
    # PyTorch's numbers of this seed
    assert rushlight.rand(3, generator=found).tolist() == pytest.approx(
        [0.5349, 0.1988, 0.6592], abs=5e-5
    )
    program = export(model_of(rushlight, "rand", "drawn"), (rushlight.tensor(X),))
    assert drawn(load(archived(program, pickle_protocol=protocol))) == drawn(program)


def test_pickles_that_make_anything_else_are_refused():
    class Sneaky:
        def __reduce__(self):
            return print, ("run",)

    good = pickled(rushlight.Generator(), 2)
    for content, words in (
        (pickle.dumps(Sneaky(), 2), "names __builtin__.print"),
        (pickle.dumps([1, 2], 2), "is a list"),
        (good[:100], "ends early"),
        (good.replace(b"X\x03\x00\x00\x00cpu", b"X\x03\x00\x00\x00abc"), "abc"),
        (good + b" " * (1 << 16), "more than"),
    ):
        with pytest.raises(FormatError, match=f"'g' is no generator that can be read.*{words}"):
            unpickled(content, "g")


def test_objects_of_other_classes_are_refused():
    program = export(model_of(rushlight, "rand", "seeded"), (rushlight.tensor(X),))
    source = zipfile.ZipFile(archived(program))
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w") as target:
        for name in source.namelist():
            changed = source.read(name).replace(b"torch._C.Generator", b"my.Tokenizer")
            target.writestr(name, changed)
    file.seek(0)
    with pytest.raises(FormatError, match=r"object of class 'my\.Tokenizer'"):
        load(file)


def test_generators_as_arguments_cannot_be_written():
    class Given(rushlight.nn.Module):
        def forward(self, x, generator):
            return x + rushlight.rand(3, generator=generator)

    program = export(Given(), (rushlight.ones(3), rushlight.Generator()))
    with pytest.raises(FormatError, match="'generator' is a generator that the program was given"):
        save(program, io.BytesIO())


def in_pytorch(script, folder):
    """Run a function of ``pytorch_generators.py`` in a process of its own."""
    command = [sys.executable, str(HERE / "pytorch_generators.py"), script, str(folder)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr[-2000:]


def numbers(file):
    """What a file of PyTorch's holds, as a flat list."""
    return [n for row in rushlight.load(file) for n in row]


def test_archives_of_pytorch_draw_what_it_draws(tmp_path):
    pytest.importorskip("torch")
    in_pytorch("write", tmp_path)
    files = sorted(tmp_path.glob("*.pt2"))
    assert len(files) == len(DRAWN) * len(STATES)
    for file in files:
        found = [n for row in drawn(load(file)) for n in row]
        assert found == pytest.approx(numbers(file.with_suffix(".pt")), rel=1e-6), file.name


def test_pytorch_draws_what_its_archives_do(tmp_path):
    pytest.importorskip("torch")
    wanted = {}
    for name in DRAWN:
        for state in STATES:
            program = export(model_of(rushlight, name, state), (rushlight.tensor(X),))
            file = tmp_path / f"{name}-{state}.pt2"
            save(program, file)
            wanted[file] = [n for row in drawn(program) for n in row]
    in_pytorch("read", tmp_path)
    for file, expected in wanted.items():
        assert numbers(file.with_suffix(".pt")) == pytest.approx(expected, rel=1e-6), file.name
        again = drawn(load(file.with_suffix(".again")))
        assert [n for row in again for n in row] == expected

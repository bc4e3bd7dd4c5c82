"""`export.save` and `export.load`: archives that PyTorch reads, and those that it writes."""

import io
import json
import subprocess
import sys
import zipfile
from operator import getitem
from pathlib import Path

import pytest

import rushlight
from rushlight import nn
from rushlight.export import export, load, save
from rushlight.export.serialization import FormatError

HERE = Path(__file__).parent
sys.path.insert(0, str(HERE))


class Net(nn.Module):
    """Every kind of input and result that an archive has."""

    def __init__(self):
        super().__init__()
        self.body = nn.Sequential(nn.Linear(3, 4), nn.BatchNorm1d(4), nn.GELU("tanh"))
        self.register_buffer("shift", rushlight.full((4,), 0.5), persistent=False)
        self.scale = rushlight.arange(4.0)

    def forward(self, x, pair, *, twice=False, name="a"):
        x = self.body(x) + self.shift * self.scale
        values, places = x.max(1)
        parts = x.chunk(2, 1)
        x[:, 0] = float("inf")
        y = rushlight.where(x > 1, x.double(), 2.0) * (2 if twice else 1)
        return {"out": y, "best": (values, places), "parts": list(parts), "n": (3, None, "b")}, (
            pair[0] + pair[1]["key"]
        )


def arguments():
    rushlight.manual_seed(0)
    return (rushlight.randn(2, 3), [rushlight.ones(2), {"key": rushlight.zeros(1)}]), {
        "twice": True,
        "name": "a",
    }


def program():
    args, kwargs = arguments()
    return export(Net(), args, kwargs)


def written(found):
    buffer = io.BytesIO()
    save(found, buffer)
    return buffer.getvalue()


@pytest.mark.parametrize("apart", [False, True])
def test_what_is_read_is_what_was_written(apart, tmp_path):
    from capture_agreement import same_values

    before = program()
    before = before.run_decompositions() if apart else before
    save(before, tmp_path / "net.pt2")
    after = load(tmp_path / "net.pt2")
    args, kwargs = arguments()
    ours, theirs = after.module()(*args, **kwargs), before.module()(*args, **kwargs)
    same_values(ours[1], theirs[1])
    for key in ("out", "best", "parts"):
        same_values(ours[0][key], theirs[0][key], exact=False)
    ours, theirs = ([str(n.target) for n in p.graph.nodes if n.target is not getitem] for p in (
        after, before,
    ))  # fmt: skip
    assert ours == theirs
    assert str(after.graph_signature) == str(before.graph_signature)
    assert list(after.state_dict) == list(before.state_dict)
    assert isinstance(after.state_dict["body.0.weight"], nn.Parameter)
    assert after.constants["scale"].tolist() == [0.0, 1.0, 2.0, 3.0]
    assert after.call_spec.in_spec == before.call_spec.in_spec
    assert after.example_inputs[1] == kwargs
    node = next(n for n in after.graph.nodes if n.op == "call_function")
    assert "test_serialization.py" in node.stack_trace and node.meta["val"].shape == (
        (3, 4) if apart else (2, 4)
    )


def test_values_after_reading():
    from capture_agreement import same_values

    args, kwargs = arguments()
    found = load(io.BytesIO(written(program()))).module()(*args, **kwargs)
    expected = Net()
    expected.load_state_dict(program().state_dict)
    assert found[0]["n"] == (3, None, "b")
    assert [t.shape for t in found[0]["parts"]] == [(2, 2), (2, 2)]
    same_values(found[1], rushlight.ones(2))


# ---------------------------------------------------------------------------------- with PyTorch
def other_process(script, folder):
    """Run a function of ``pytorch_archives.py`` in a process of its own."""
    command = [sys.executable, str(HERE / "pytorch_archives.py"), script, str(folder)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=600)
    assert done.returncode == 0, done.stdout[-3000:] + done.stderr[-3000:]


def rows():
    from capture_agreement import TABLE

    return list(enumerate(TABLE))


@pytest.fixture(scope="module")
def of_pytorch(tmp_path_factory):
    pytest.importorskip("torch")
    folder = tmp_path_factory.mktemp("theirs")
    other_process("write", folder)
    return folder


# Layers whose graphs have an op that is not here: the layer, or its row -> the op.
UNREAD = {
    "FractionalMaxPool2d": "fractional_max_pool2d",
    "FractionalMaxPool3d": "fractional_max_pool3d",
    "EmbeddingBag": "embedding_bag.padding_idx",
    "88-Embedding": "embedding_renorm_",
}


def test_layers_that_pytorch_wrote(of_pytorch):
    from capture_agreement import same_values

    read = 0
    for file in sorted(of_pytorch.glob("*.pt2")):
        name = file.stem.partition("-")[2]
        result = rushlight.load(file.with_suffix(".pt"))
        lacking = UNREAD.get(name) or UNREAD.get(file.stem)
        if lacking is not None:
            with pytest.raises(FormatError, match=lacking):
                load(file)
            continue
        found = load(file)
        args, kwargs = found.example_inputs
        rushlight.manual_seed(5)
        with rushlight.no_grad():
            same_values(found.module()(*args, **kwargs), result, exact=False)
        read += 1
    assert read > 100


def test_layers_that_pytorch_reads(tmp_path):
    pytest.importorskip("torch")
    from capture_agreement import build, detached, inputs_for, same_values, seeded
    from test_layers import _is_refused

    expected = {}
    for i, (name, args, kwargs, specs) in rows():
        if _is_refused(name, kwargs):
            continue
        layer = build(rushlight, name, args, kwargs).eval()
        inputs = detached(inputs_for(rushlight, specs))
        expected[f"{i}-{name}"] = seeded(layer, inputs)
        try:
            save(export(layer, tuple(inputs)), tmp_path / f"{i}-{name}.pt2")
        except FormatError as error:
            assert "ATen lacks" in str(error)
            del expected[f"{i}-{name}"]
    other_process("read", tmp_path)
    for stem, value in expected.items():
        same_values(rushlight.load(tmp_path / f"{stem}.pt"), value, exact=False)
    assert len(expected) > 140


# ------------------------------------------------------------------------------- damaged files
def changed(content, change):
    """An archive with other members: ``change(name, content)`` gives the content, or None."""
    buffer = io.BytesIO()
    with zipfile.ZipFile(io.BytesIO(content)) as old, zipfile.ZipFile(buffer, "w") as new:
        for info in old.infolist():
            kept = change(info.filename.partition("/")[2], old.read(info))
            if kept is not None:
                new.writestr(zipfile.ZipInfo(info.filename), kept)
    buffer.seek(0)
    return buffer


def with_model(change):
    """An archive with another program."""

    def edit(name, content):
        if name != "models/model.json":
            return content
        found = json.loads(content)
        change(found)
        return json.dumps(found).encode()

    return changed(written(program()), edit)


@pytest.mark.parametrize(
    "name", ["archive_format", "models/model.json", "data/weights/weight_0", "byteorder",
             "data/constants/model_constants_config.json"],
)  # fmt: skip
def test_a_member_is_missing(name):
    broken = changed(written(program()), lambda n, content: None if n == name else content)
    with pytest.raises(FormatError, match="archive_format|missing"):
        load(broken)


def test_damage_is_noticed():
    content = written(program())
    with pytest.raises(FormatError, match="no archive"):
        load(io.BytesIO(content[: len(content) // 2]))
    with pytest.raises(FormatError, match="no archive"):
        load(io.BytesIO(b"nothing"))
    at = content.index(b'"graph_module"') + 30
    with pytest.raises(FormatError, match="'models/model.json' is damaged"):
        load(io.BytesIO(content[:at] + b"#" + content[at + 1 :]))
    short = changed(content, lambda n, c: c[:-1] if n == "data/weights/weight_0" else c)
    with pytest.raises(FormatError, match=r"weight_0"):
        load(short)
    with pytest.raises(FormatError, match="JSON"):
        load(changed(content, lambda n, c: b"{" if n == "models/model.json" else c))


def _graph(found):
    return found["graph_module"]["graph"]


def _first(found):
    return _graph(found)["nodes"][0]


HOSTILE = {
    "another function": lambda f: _first(f).update(target="os.system"),
    "another namespace": lambda f: _first(f).update(target="torch.ops.mine.run.default"),
    "an op that is none": lambda f: _first(f).update(target="torch.ops.aten.__class__.default"),
    "an attribute of an op": lambda f: _first(f).update(target="torch.ops.aten.add.__init__"),
    "code for a name": lambda f: _first(f).update(name="x = __import__('os')"),
    "a keyword for a name": lambda f: _first(f).update(name="import"),
    "an unknown tensor": lambda f: _first(f)["inputs"][0].update(arg={"as_tensor": {"name": "q"}}),
    "an unknown kind": lambda f: _first(f)["inputs"][0].update(arg={"as_graph": {}}),
    "no tensors": lambda f: _graph(f).update(tensor_values={}),
    "no nodes": lambda f: _graph(f).update(nodes=[]),
    "another version": lambda f: f["schema_version"].update(major=9),
    "sizes that differ": lambda f: f.update(range_constraints={"s0": {}}),
    "code for a parameter": lambda f: f["graph_module"]["signature"]["input_specs"][0][
        "parameter"
    ].update(parameter_name='a");print("'),
    "code for an argument": lambda f: f["graph_module"]["module_call_graph"][0]["signature"].update(
        forward_arg_names=["x=print()", "pair", "twice", "name"]
    ),
    "a structure of a class": lambda f: f["graph_module"]["module_call_graph"][0][
        "signature"
    ].update(in_spec='[1, {"type": "os.system", "context": "null", "children_spec": []}]'),
    "not a program": lambda f: f.clear(),
    "a list": lambda f: f.update(graph_module=[]),
}


@pytest.mark.parametrize("name", HOSTILE)
def test_what_no_program_has_is_refused(name):
    with pytest.raises(FormatError):
        load(with_model(HOSTILE[name]))


def test_pickles_are_read_as_tensors_alone():
    import pickle

    class Bad:
        def __reduce__(self):
            return print, ("run",)

    def replace(name, content):
        return pickle.dumps(Bad()) if name.endswith("model.pt") else content

    with pytest.raises(Exception, match=r"(?i)print|weights|unsupported|not allowed"):
        load(changed(written(program()), replace))


def test_what_an_archive_cannot_have(tmp_path):
    class Own(nn.Module):
        def forward(self, x):
            return rushlight.nn.functional.embedding_bag(x, rushlight.ones(4, 2))

    found = export(Own(), (rushlight.zeros((2, 2), dtype=rushlight.int64),))
    with pytest.raises(FormatError, match="node '_embedding_bag' calls"):
        save(found, tmp_path / "own.pt2")
    assert not (tmp_path / "own.pt2").exists()
    with pytest.raises(TypeError, match="must be an ExportedProgram"):
        save(Own(), tmp_path / "own.pt2")
    with pytest.raises(NotImplementedError, match="extra_files"):
        save(program(), tmp_path / "own.pt2", extra_files={"a": "b"})

"""`export.save` and `export.load`: archives that PyTorch reads, and those that it writes."""

import io
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
from archived_programs import Net, arguments, program, written  # noqa: E402


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
    assert "archived_programs.py" in node.stack_trace and node.meta["val"].shape == (
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


def test_extra_files_are_those_of_pytorch(tmp_path):
    texts = {"note.txt": "r\u00e9sum\u00e9", "folder/labels.json": "[]"}
    save(program(), tmp_path / "net.pt2", extra_files=texts, opset_version={"aten": 10})
    found = {"note.txt": "", "other": "stays"}
    read = load(tmp_path / "net.pt2", extra_files=found, expected_opset_version={"aten": 10})
    assert found == texts | {"other": "stays"}
    assert len(read.graph.nodes) == len(program().graph.nodes)
    with zipfile.ZipFile(tmp_path / "net.pt2") as archive:  # where PyTorch 2.13 has them
        assert archive.read("net/extra/folder/labels.json") == b"[]"
    load(tmp_path / "net.pt2")


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


@pytest.mark.parametrize("name", ["block1-0", "0", "a b", "ä", "a,b;c"])
def test_modules_may_have_names_that_are_no_identifiers(name, tmp_path):
    class Named(nn.Module):
        def __init__(self):
            super().__init__()
            self.add_module(name, nn.Linear(3, 2))

        def forward(self, x):
            return self._modules[name](x)

    model, x = Named(), rushlight.ones(1, 3)
    save(export(model, (x,)), tmp_path / "named.pt2")
    found = load(tmp_path / "named.pt2")
    assert set(found.state_dict) == {f"{name}.weight", f"{name}.bias"}
    assert rushlight.equal(found.module()(x), model(x))


@pytest.mark.parametrize("protocol", [2, 3, 4, 5])
def test_the_pickle_protocol_of_example_inputs(protocol):
    whole = io.BytesIO()
    save(export(nn.Linear(3, 2), (rushlight.ones(1, 3),)), whole, pickle_protocol=protocol)
    with zipfile.ZipFile(whole) as archive:
        inner = io.BytesIO(archive.read("archive/data/sample_inputs/model.pt"))
    with zipfile.ZipFile(inner) as archive:
        (name,) = (name for name in archive.namelist() if name.endswith("data.pkl"))
        assert archive.read(name)[:2] == bytes([0x80, protocol])
    whole.seek(0)
    (x,), kwargs = load(whole).example_inputs
    assert x.tolist() == [[1.0, 1.0, 1.0]] and kwargs == {}


def test_unknown_pickle_protocols_are_refused():
    program = export(nn.Linear(3, 2), (rushlight.ones(1, 3),))
    with pytest.raises(ValueError, match="pickle protocol must be <= "):
        save(program, io.BytesIO(), pickle_protocol=9)

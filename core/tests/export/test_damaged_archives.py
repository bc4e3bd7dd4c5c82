"""Damaged and hostile archives of exported programs are errors that name the part."""

import io
import json
import sys
import zipfile
from pathlib import Path

import pytest

import rushlight
from rushlight import nn
from rushlight.export import export, load, save
from rushlight.export.serialization import FormatError

sys.path.insert(0, str(Path(__file__).parent))
from archived_programs import program, written  # noqa: E402


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
            return rushlight.lobpcg(x, 1)[0]

    found = export(Own(), (rushlight.eye(9),))
    with pytest.raises(FormatError, match="node '_lobpcg' calls"):
        save(found, tmp_path / "own.pt2")
    assert not (tmp_path / "own.pt2").exists()
    with pytest.raises(TypeError, match="must be an ExportedProgram"):
        save(Own(), tmp_path / "own.pt2")
    with pytest.raises(AssertionError, match="extra file 'a' must be a str, not bytes"):
        save(program(), tmp_path / "own.pt2", extra_files={"a": b"b"})


def test_damaged_extra_files_are_named():
    buffer = io.BytesIO()
    save(program(), buffer, extra_files={"note.txt": "text"})
    content = changed(buffer.getvalue(), lambda name, old: b"\xff" if "note" in name else old)
    load(content)
    content.seek(0)
    found = {}
    with pytest.raises(FormatError, match="'extra/note.txt' is no text"):
        load(content, extra_files=found)
    assert found == {}

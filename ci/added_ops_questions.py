"""Ask a copy of core, to which ci/add_an_op.py added ops, what follows from their declarations.

Usage: python ci/added_ops_questions.py FOLDER NAME ...   (the copy's sources on PYTHONPATH)
"""

from __future__ import annotations

import inspect
import sys
from pathlib import Path

import numpy as np

import rushlight
from rushlight.func import fallback_counts, vmap
from rushlight.ops._table.op import TABLE
from rushlight.testing.ops import generate
from rushlight.testing.samples import samples_of

AUTOCAST = {"float32": rushlight.float32, None: rushlight.bfloat16}


def documented(folder: Path) -> set[str]:
    """The names that the reference of the docs has an entry of, functions and methods."""
    sys.path.insert(0, str(folder / "docs"))
    from reference.homes import members
    from reference.pages import Entry

    found = set()
    for path in ("rushlight", "rushlight.Tensor"):
        for name, function in members(path):
            entry = Entry(path, name, function)
            is_open = any("*args" in line for line in entry.signature.lines)
            if entry.doc.text and entry.example and not is_open:
                found.add((path.rpartition(".")[2], name))
    return found


def tested() -> dict[str, set[str]]:
    """By op, the generated tests that are there for it."""
    tests: dict = {}
    generate(tests)
    found: dict[str, set[str]] = {}
    for name, test in tests.items():
        for mark in getattr(test, "pytestmark", ()):
            if mark.name == "parametrize":
                for given in mark.args[1]:
                    op = given[0] if isinstance(given, tuple) else given
                    found.setdefault(op.name, set()).add(name)
    return found


def check_forms(name, op, args, kwargs):
    """The method, ``out=`` (what is no view) and the in-place form give what the function gives."""
    function = getattr(rushlight, name)
    expected = function(*args, **kwargs)
    assert rushlight.equal(getattr(args[0], name)(*args[1:], **kwargs), expected), "the method"
    if op.kind == "view":
        assert expected._base is args[0], "a view says whose memory it has"
    elif op.kind != "composite":
        out = rushlight.empty_like(expected)
        assert function(*args, out=out, **kwargs) is out and rushlight.equal(out, expected), "out="
    if op.kind == "elementwise":
        changed = args[0].clone()
        assert getattr(changed, name + "_")() is changed, "in place"
        assert rushlight.equal(changed, expected), "in place"


def check_vmap(name, args, kwargs):
    """A batch gives what its examples give, at once."""
    function = getattr(rushlight, name)
    batch = rushlight.stack([args[0], args[0] * 0.5])
    fallback_counts(reset=True)
    found = vmap(lambda x: function(x, *args[1:], **kwargs))(batch)
    assert not fallback_counts(), "vmap loops"
    for row, example in zip(found, batch, strict=True):
        rushlight.testing.assert_close(row, function(example, *args[1:], **kwargs))


def check_autocast(name, op, args, kwargs):
    """The result of bfloat16 inputs has the dtype that the declaration asks for."""
    if op.kind == "composite":
        return  # its parts say it
    wanted = AUTOCAST[op.options.get("autocast")]
    with rushlight.autocast("cpu", rushlight.bfloat16):
        found = getattr(rushlight, name)(args[0].to(rushlight.bfloat16), *args[1:], **kwargs)
    assert found.dtype == wanted, f"autocast gives {found.dtype}, declared {wanted}"


def check(name: str, entries: set, tests: dict[str, set[str]]) -> None:
    """Everything that has to follow for an op of this name."""
    op = TABLE[name]
    args, kwargs = samples_of(op)[-1]
    check_forms(name, op, args, kwargs)
    check_vmap(name, args, kwargs)
    check_autocast(name, op, args, kwargs)
    wanted = {"test_gradient", "test_variants", "test_meta", "test_errors", "test_documented"}
    assert wanted <= tests[name], f"generated tests lack {wanted - tests[name]}"
    assert {("rushlight", name), ("Tensor", name)} <= entries, "the docs have no entry"
    parameters = list(inspect.signature(getattr(rushlight, name)).parameters)
    assert parameters[: len(op.names)] == list(op.names), f"the signature is {parameters}"
    if op.cpu_kernel is not op.body:
        check_kernel(op, args)


def check_kernel(op, args):
    """The kernel takes float32, so the body does not run, and gives what the body gives."""
    tensors = [a.float() if isinstance(a, rushlight.Tensor) else a for a in args]
    arrays = [a.numpy() if isinstance(a, rushlight.Tensor) else a for a in tensors]
    called = set()
    sys.setprofile(lambda frame, event, arg: called.add(frame.f_code))
    found = getattr(rushlight, op.name)(*tensors).numpy()
    sys.setprofile(None)
    assert op.body.__code__ not in called, "the body runs where the kernel should"
    np.testing.assert_allclose(found, op.body(*arrays), rtol=1e-6)


def main() -> int:
    folder, names = Path(sys.argv[1]), sys.argv[2:]
    assert Path(rushlight.__file__).is_relative_to(folder), f"{rushlight.__file__} is no copy"
    entries, tests, failed = documented(folder), tested(), 0
    for name in names:
        try:
            check(name, entries, tests)
        except Exception as error:
            failed += 1
            print(f"{name}: {type(error).__name__}: {error}")
    print(f"{len(names) - failed} of {len(names)} ops: all forms, vmap, autocast, docs, signature")
    return bool(failed)


if __name__ == "__main__":
    sys.exit(main())

"""The types of results that the compiler gives ATen ops, against PyTorch's schemas."""

import json
import subprocess
import sys

import pytest

from rushlight.jit import kinds, scalars, tensors, tree

_SCHEMAS = """
import json, torch
rows = []
for schema in torch._C._jit_get_all_schemas():
    if schema.name.startswith("aten::"):
        arguments = [[a.name, str(a.type), a.kwarg_only, a.has_default_value()]
                     for a in schema.arguments]
        rows.append([schema.name[6:], schema.overload_name, arguments,
                     [str(r.type) for r in schema.returns], [r.name for r in schema.returns]])
print(json.dumps(rows))
"""
# Results that are not one of a kind: numbers by the dtype, tensors or lists by an argument.
_OPEN = {"item", "qscheme", "to_dense_backward", "dict", "names", "unflatten_dense_tensors"}


@pytest.fixture(scope="module")
def schemas():
    pytest.importorskip("torch")
    done = subprocess.run(
        [sys.executable, "-c", _SCHEMAS], capture_output=True, text=True, check=True
    )
    return json.loads(done.stdout)


def _kind(text):
    simple = {"Tensor": kinds.TENSOR, "int": kinds.INT, "bool": kinds.BOOL, "float": kinds.FLOAT,
              "Scalar": kinds.NUMBER, "number": kinds.NUMBER, "Device": kinds.DEVICE,
              "List[Tensor]": kinds.list_of(kinds.TENSOR), "List[int]": kinds.list_of(kinds.INT),
              "str": kinds.STR, "Optional[Tensor]": kinds.optional(kinds.TENSOR),
              "SymInt": kinds.INT, "List[SymInt]": kinds.list_of(kinds.INT)}  # fmt: skip
    return simple.get(text)


def _wanted(returns):
    found = [_kind(text) for text in returns]
    if None in found:
        return None
    if not found:
        return kinds.NONE
    return found[0] if len(found) == 1 else kinds.Type("Tuple", *found)


def test_result_types_are_those_of_pytorch(schemas):
    wrong, count = [], 0
    for name, overload, arguments, returns, _ in schemas:
        if not tensors.exists(name) or name in _OPEN or "out" in overload.split("_"):
            continue
        if not arguments or arguments[0][1] not in ("Tensor", "List[Tensor]"):
            continue
        if arguments[0][1] == "List[Tensor]" and name in scalars.FUNCTIONS:
            continue  # the language's own, on lists
        args, kwargs = [], {}
        for label, text, keyword_only, has_default in arguments:
            if has_default:
                continue
            value = tree.Name(label, type=_kind(text) or kinds.UNKNOWN)
            if keyword_only:
                kwargs[label] = value
            else:
                args.append(value)
        wanted = _wanted(returns)
        if wanted is None or name.endswith("_backward"):
            continue
        count += 1
        found = tensors.result(name, args, kwargs)
        if not kinds.fits(found, wanted):
            wrong.append(f"{name}.{overload}: {found}, PyTorch {wanted}")
    assert count > 500
    assert not wrong, "\n".join(wrong)


def test_names_of_results_are_those_of_pytorch(schemas):
    wrong, count = [], 0
    for name, overload, _, _, names in schemas:
        named = name.startswith("linalg_") and len(names) > 1 and all(names)
        if named and not overload and tensors.exists(name):
            count += 1
            if tensors.result(name, [tree.Name("A", type=kinds.TENSOR)], {}).fields != tuple(names):
                wrong.append(f"{name}: {tensors._fields(name)}, PyTorch {names}")
    assert count > 10
    assert not wrong, "\n".join(wrong)

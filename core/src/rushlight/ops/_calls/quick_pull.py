"""`quick(node, grad)`: a node's gradients where nothing is unusual, written for each plan.

It is `unpack` and `pull` of :mod:`rushlight.ops._table.recording` in one function, with the
built-in functions of elementwise formulas called in place; NotImplemented where saved values are
held by hooks of the user or were written to. It is called in passes that record nothing.
"""

from __future__ import annotations

from rushlight.machine import np
from rushlight.machine.generated_python import function_of
from rushlight.tensor import construction as make


def written(op, plan, names, text, formulas, same):
    """The function. `text` is what `pull` returns and `names` what it refers to; `formulas`, where
    all are elementwise, are ``(name, its FusedFormula, its arguments as source)`` or None each."""
    count = len(plan.inputs)
    lines = ["def quick(node, grad):"]
    if plan.inputs or plan.outputs:
        lines += ["saved = node.saved", "if saved is None or node.packed: return NO"]
    for i in range(count):
        lines += [f"t{i} = saved[{i}]", f"storage = t{i}._storage",
                  f"if storage is not None and storage.version and not same(node, {i}, "
                  "storage.version): return NO"]  # fmt: skip
    every = range(count + len(plan.outputs))
    outputs = [i for i in every[count:] if i not in plan.spares]
    for i in outputs:
        lines += [f"o{i}, d{i}, s{i}, _ = saved[{i}]", f"if type(o{i}) is not ndarray: return NO",
                  f"if s{i}.version and not same(node, {i}, s{i}.version): return NO"]  # fmt: skip
    if "values[" in text:
        lines.append("values = node.values or defaults")
    if formulas:
        lines += _in_place(formulas, count, names)
    for i in outputs:
        lines += [f"t{i} = make.made(o{i}, d{i})", f"t{i}._storage = s{i}"]
    if plan.inputs or plan.outputs:
        known = [f"t{i}, " if i < count or i in outputs else "None, " for i in every]
        lines.append(f"saved = ({''.join(known)})")
    lines.append(f"return {text}")
    names.update(NO=NotImplemented, same=same, ndarray=np.ndarray, make=make, defaults=op.defaults)
    return function_of("\n    ".join(lines), "quick", f"{op.name} backward call", names)


def _in_place(formulas, count, names):
    """Lines that call built-in functions on the arrays, and go on where one is missing or fails."""
    tests, calls, results, taken = ["type(array) is ndarray"], [], [], []
    for entry in formulas:
        if entry is None or entry[1].identity:
            results.append("None" if entry is None else "grad")
            continue
        name, fused, arguments = entry
        arrays, numbers = ["array"], []
        for argument in arguments[1:]:
            if argument.startswith("saved["):
                i = int(argument[6:-1])
                arrays.append(f"t{i}._array" if i < count else f"o{i}")
                test = f"t{i}._dtype is dtype" if i < count else f"d{i} is dtype"
                tests += [] if test in tests else [test]
            else:
                numbers.append(argument)
        names[f"{name}_doors"] = fused.doors if numbers else fused.doors[float]
        found = f"{name}_doors[code]"
        if numbers:
            calls.append(f"kind = type({numbers[0]})")
            known = [f"kind in {name}_doors", *(f"type({n}) is kind" for n in numbers[1:])]
            found = f"{name}_doors[kind][code] if {' and '.join(known)} else None"
        call = f"NO if door is None else door({', '.join(arrays + numbers)})"
        result = f"make.made({name}_array, dtype)"
        if len(arrays) == 1 and fused.identity_by_default:
            call = f"None if values is defaults else {call}"
            result = f"grad if {name}_array is None else {result}"
        calls += [f"door = {found}", f"{name}_array = {call}"]
        taken.append(f"{name}_array is not NO")
        results.append(result)
    if not taken:
        return [f"return ({', '.join(results)},)"]
    return [
        "array, dtype = grad._array, grad._dtype",
        f"if {' and '.join(tests)}:",
        "    code = dtype.code",
        *(f"    {line}" for line in calls),
        f"    if {' and '.join(taken)}: return ({', '.join(results)},)",
    ]

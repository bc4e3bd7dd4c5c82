"""Saved inputs that were written to, computed again from a result.

PyTorch computes ``c / x`` in two steps and saves the first; ours is one kernel that saves `x`,
which programs may write to afterwards. A declaration says in ``restored={"input": formula}`` how
such an input follows from results and attributes. These results are saved too, as spares: no
gradient formula reads them, so that a write to one matters only where it is needed.
"""

from __future__ import annotations

from rushlight.machine.generated_python import function_of


def restorations(op, plan, argument):
    """Source text of what restores each saved input of a new plan, and the formulas it calls, by
    name; `argument` gives the source of a formula's parameter and has it saved."""
    texts, names = {}, {}
    for name, formula in op.options.get("restored", {}).items():
        flat = op.tensor_positions.index(op.index[name])
        if flat in plan.inputs:
            code = formula.__code__
            arguments = [argument(p) for p in code.co_varnames[: code.co_argcount]]
            texts[flat] = f"restore{flat}({', '.join(arguments)})"
            names[f"restore{flat}"] = formula
    return texts, names


def prepare(op, plan, text, texts, names):
    """Note in a plan whose gradients are `text` which saved values are spares, and the functions
    ``f(saved, values)`` that restore inputs, by their number among the saved values."""
    count = len(plan.inputs) + len(plan.outputs)
    plan.spares = frozenset(i for i in range(count) if texts and f"saved[{i}]" not in text)
    plan.restores = {
        plan.inputs.index(flat): function_of(
            f"def restore(saved, values):\n    return {source}",
            "restore",
            f"{op.name} saved input {flat}",
            names,
        )
        for flat, source in texts.items()
    }


def restored(node, values, modified):
    """The saved values of a node; `modified` are the errors of those that were written to, by
    number, and the first that matters is raised."""
    plan = node.plan
    for i, error in modified.items():
        if i in plan.spares:
            continue
        # the value of one tensor alone, for those who look at it, is never computed again
        restore = plan.restores.get(i) if len(values) > 1 else None
        if restore is None or not plan.spares.isdisjoint(modified):
            raise error
        values[i] = restore(values, node.values or node.op.defaults)
    return values

"""Run PyTorch's op table through Rushlight's function transforms and say what agrees.

For every entry, on PyTorch's samples in float64: `vmap` against a loop over the examples (all
tensors batched, and the first alone), forward mode against reverse mode
(``<v, jvp(t)> = <vjp(v), t>``), `vmap` of either, and forward over reverse mode. Printed are the
number of entries that agree, those for which `vmap` loops, and those that fail, with the reason.

Usage: python ci/pytorch/func.py [NAME ...] [--samples N] [--json FILE] [--least N]
"""

from __future__ import annotations

import argparse
import json
import os
import sys
import time
import warnings
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

import oracle

BATCH = 2
SECONDS = 60


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n")[0])
    parser.add_argument("names", nargs="*")
    parser.add_argument("--samples", type=int, default=4)
    parser.add_argument("--json")
    parser.add_argument("--least", type=int, default=0, help="fail if fewer entries agree")
    arguments = parser.parse_args()
    if not oracle.install():
        print(f"torch oracle not available ({oracle.REQUIREMENT}): the table was NOT run")
        return 1
    os.environ.setdefault("OMP_NUM_THREADS", "1")
    import table
    import torch

    torch.set_num_threads(1)
    warnings.simplefilter("ignore")
    start, found = time.monotonic(), {}
    for info in table.chosen(arguments.names):
        found[table.full_name(info)] = examine(info, arguments.samples)
    return report(found, time.monotonic() - start, arguments)


def report(found, seconds, arguments):
    """Print what was found; the exit status."""
    agree = [
        n
        for n, r in found.items()
        if r["vmap"] == "ok" and r["jvp"] in ("ok", "none") and r["composed"] in ("ok", "none")
    ]
    looped = {n: r["loops"] for n, r in found.items() if r["loops"]}
    failing = {n: r for n, r in found.items() if n not in agree and r["vmap"] != "skip"}
    for name, result in failing.items():
        for check in CHECKS:
            if result[check] not in ("ok", "none"):
                print(f"{name} {check}: {result[check]}")
    print(f"vmap loops over the batch in {len(looped)} entries: {looped}")
    forward = sum(r["jvp"] == "ok" for r in found.values())
    composed = sum(r["composed"] == "ok" for r in found.values())
    print(
        f"{len(found)} entries: {len(agree)} agree (forward mode in {forward}, compositions in "
        f"{composed}), "
        f"{len(failing)} do not, {sum(r['vmap'] == 'skip' for r in found.values())} have no "
        f"samples that can be batched; {seconds:.0f} s"
    )
    if arguments.json:
        with open(arguments.json, "w") as file:
            json.dump(found, file, indent=1, sort_keys=True)
            file.write("\n")
    return 1 if len(agree) < arguments.least else 0


def examine(info, most):
    """The checks of one entry."""
    import table_checks as checks
    import torch

    from rushlight.func import fallback_counts

    result = {"vmap": "skip", "jvp": "none", "composed": "none", "loops": []}
    dtype = torch.float64
    if dtype not in info.supported_dtypes("cpu"):
        dtype = next(
            (d for d in (torch.int64, torch.bool, torch.complex128, torch.float32)
             if d in info.supported_dtypes("cpu")), None)  # fmt: skip
    try:
        checks.limit(SECONDS)
        function = checks.function_of(info)
        pairs = sample_pairs(info, dtype, most)
    except Exception as error:  # noqa: BLE001 - such as a function that does not exist
        result["vmap"] = f"{type(error).__name__}: {str(error)[:150]}"
        checks.limit(0)
        return result
    fallback_counts(reset=True)
    for check, run in CHECKS.items():
        if check != "vmap" and (not info.supports_autograd or result["vmap"] == "skip"):
            continue
        try:
            checks.limit(SECONDS)
            outcomes = [run(info, function, pair) for pair in pairs]
            if any(outcomes):
                result[check] = "ok"
        except Exception as error:  # noqa: BLE001 - what failed is the result
            result[check] = f"{type(error).__name__}: {str(error)[:200]}"
            if os.environ.get("TRACE"):
                raise
        finally:
            checks.limit(0)
        if check == "vmap":
            result["loops"] = sorted(fallback_counts())
    return result


def sample_pairs(info, dtype, most):
    """Samples of two seeds that differ in the elements only."""
    import torch

    torch.manual_seed(0)
    first = list(info.sample_inputs("cpu", dtype))
    torch.manual_seed(1)
    second = list(info.sample_inputs("cpu", dtype))
    step = max(len(first) // most, 1)
    return list(zip(first, second, strict=False))[::step][:most]


def arguments_of(info, pair):
    """Our arguments, the examples of each tensor leaf, and how to put leaves back."""
    import table_checks as checks

    import rushlight
    from rushlight.utils._pytree import tree_flatten

    flat = []
    for sample in pair:
        try:
            given = checks.ours((sample.input, tuple(sample.args), dict(sample.kwargs)))
        except checks.Unavailable:
            return None
        leaves, spec = tree_flatten(given)
        flat.append([v.detach() if isinstance(v, rushlight.Tensor) else v for v in leaves])
    one, two = flat
    examples = {}
    for i, leaf in enumerate(one):
        if not isinstance(leaf, rushlight.Tensor) or leaf.device.type == "meta":
            continue
        other = two[i] if len(two) == len(one) else leaf
        same = isinstance(other, rushlight.Tensor) and other.shape == leaf.shape
        examples[i] = (leaf, other if same else leaf)
    return one, spec, examples


def caller(function, leaves, spec, places):
    """The entry as a function of the tensors at `places`."""
    from rushlight.utils._pytree import tree_unflatten

    def call(*tensors):
        given = list(leaves)
        for place, tensor in zip(places, tensors, strict=True):
            given[place] = tensor
        input, args, kwargs = tree_unflatten(given, spec)
        return function(input, *args, **kwargs)

    return call


def check_vmap(info, function, pair):
    """`vmap` gives what a loop gives."""
    import table_checks as checks

    import rushlight

    found = arguments_of(info, pair)
    if found is None or not found[2]:
        return False
    leaves, spec, examples = found
    for places in {tuple(examples), tuple(examples)[:1]}:
        call = caller(function, leaves, spec, places)
        rows = [[examples[p][b].clone() for p in places] for b in range(BATCH)]
        rushlight.manual_seed(42)
        try:
            expected = [processed(info, pair[0], call(*row)) for row in rows]
        except Exception:  # noqa: BLE001 - an example that the function refuses by itself
            return False
        if not all(isinstance(t, rushlight.Tensor) for t in outputs(expected[0])):
            return False
        stacks = [rushlight.stack([row[k] for row in rows]) for k in range(len(places))]
        rushlight.manual_seed(42)
        got = rushlight.vmap(
            lambda *t, call=call: tuple(outputs(processed(info, pair[0], call(*t)))),
            randomness="different",
        )(*stacks)
        for k, tensor in enumerate(outputs(got)):
            want = rushlight.stack([outputs(e)[k] for e in expected])
            if info.name in RANDOM:
                if tensor.shape != want.shape:
                    raise AssertionError(f"shape {tensor.shape}, a loop gives {want.shape}")
                continue
            checks.compare(tensor, checks.theirs(want), f"{checks.told(pair[0])} {places}", 10)
    return True


# What is drawn differs from a loop's draws: only shapes are compared.
RANDOM = frozenset(
    "bernoulli multinomial normal poisson rand_like randn_like randint_like exponential cauchy "
    "geometric log_normal uniform randint randn rand empty_like new_empty new_empty_strided empty "
    "empty_strided empty_permuted pca_lowrank svd_lowrank resize_ resize_as_ "
    "nn.functional.dropout nn.functional.dropout2d nn.functional.dropout3d "
    "nn.functional.alpha_dropout nn.functional.feature_alpha_dropout_with_train "
    "nn.functional.feature_alpha_dropout nn.functional.rrelu "
    "nn.functional.scaled_dot_product_attention nn.functional.multi_head_attention_forward "
    "nn.functional.fractional_max_pool2d nn.functional.fractional_max_pool3d "
    "nn.functional.feature_alpha_dropout_without_train".split()
)


def outputs(result):
    """The leaves of a result."""
    from rushlight.utils._pytree import tree_flatten

    return tree_flatten(result)[0]


def processed(info, sample, result):
    """What is compared of a result that is determined only up to a sign or an order."""
    import table_checks as checks

    return checks.processed(info, sample, result, True)


def check_jvp(info, function, pair):
    """``<v, jvp(t)> = <vjp(v), t>`` for random t and v."""
    import rushlight
    from rushlight.func import jvp, vjp

    found = arguments_of(info, pair)
    if found is None:
        return False
    leaves, spec, examples = found
    places = [p for p, (t, _) in examples.items() if t.is_floating_point() or t.is_complex()]
    if not places:
        return False
    call = caller(function, leaves, spec, places)

    def floats(*tensors):
        rushlight.manual_seed(42)
        flat = outputs(processed(info, pair[0], call(*tensors)))
        return tuple(t for t in flat if isinstance(t, rushlight.Tensor)
                     and (t.is_floating_point() or t.is_complex()))  # fmt: skip

    primals = [examples[p][0].clone() for p in places]
    try:
        out, pull = vjp(floats, *primals)
        cotangents = tuple(random_like(o, k) for k, o in enumerate(out))
        if not out:
            return False
        gradients = pull(cotangents)
    except Exception:  # noqa: BLE001 - not differentiable by reverse mode either
        return False
    moves = [random_like(p, 100 + k) for k, p in enumerate(primals)]
    values, tangents = jvp(floats, tuple(p.clone() for p in primals), tuple(moves))
    left = sum(inner(v, t) for v, t in zip(cotangents, tangents, strict=True))
    right = sum(inner(g, t) for g, t in zip(gradients, moves, strict=True))
    scale = sum(abs(inner(g.abs(), t.abs())) for g, t in zip(gradients, moves, strict=True))
    if any(bool((v != v).any()) for v in values):
        return True  # a derivative of NaN is none
    if left != left and right != right:
        return True
    if not abs(left - right) <= tolerance(values) * max(scale, 1):
        raise AssertionError(f"forward {left}, reverse {right}")
    for a, b in zip(values, out, strict=True):
        if a.shape != b.shape:
            raise AssertionError(f"shape {a.shape} for {b.shape}")
    return True


def check_compositions(info, function, pair):
    """`vmap` of forward and of reverse mode against loops; forward over reverse mode against
    reverse over reverse."""
    import rushlight
    from rushlight.func import jvp, vjp, vmap

    found = arguments_of(info, pair)
    if found is None or info.name in RANDOM:
        return False
    leaves, spec, examples = found
    places = [p for p, (t, _) in examples.items() if t.is_floating_point() or t.is_complex()]
    if not places:
        return False
    call = caller(function, leaves, spec, places)

    def floats(*tensors):
        flat = outputs(processed(info, pair[0], call(*tensors)))
        return tuple(t for t in flat if isinstance(t, rushlight.Tensor)
                     and (t.is_floating_point() or t.is_complex()))  # fmt: skip

    rows = [tuple(examples[p][b].clone() for p in places) for b in range(BATCH)]
    moves = [tuple(random_like(t, 10 * b + k) for k, t in enumerate(rows[b])) for b in range(BATCH)]
    count = len(places)

    def pulled(*both):
        out, pull = vjp(floats, *both[:count])
        return pull(both[count:])

    try:
        outs = [vjp(floats, *row)[0] for row in rows]
        cotangents = [tuple(random_like(o, k) for k, o in enumerate(o)) for o in outs]
        gradients = [pulled(*r, *c) for r, c in zip(rows, cotangents, strict=True)]
    except Exception:  # noqa: BLE001 - not differentiable
        return False
    if any(bool((v != v).any()) for o in outs for v in o):
        return False
    if any(len({t.shape for t in column}) > 1 for column in zip(*outs, strict=True)):
        return False
    same(vmap(pulled)(*stacks(rows, cotangents)), gradients, "vmap of vjp")
    tangents = [jvp(floats, r, m)[1] for r, m in zip(rows, moves, strict=True)]
    pushed = vmap(lambda *both: jvp(floats, both[:count], both[count:])[1])
    same(pushed(*stacks(rows, moves)), tangents, "vmap of jvp")
    fixed = cotangents[0]
    try:
        first, again = vjp(lambda *t: pulled(*t, *fixed), *rows[0])
        seeds = tuple(random_like(g, 50 + k) for k, g in enumerate(first))
        right = sum(inner(g, m) for g, m in zip(again(seeds), moves[0], strict=True))
    except Exception:  # noqa: BLE001 - not differentiable twice
        return True
    forward = jvp(lambda *t: pulled(*t, *fixed), rows[0], moves[0])[1]
    left = sum(inner(s, t) for s, t in zip(seeds, forward, strict=True))
    size = sum(abs(inner(s.abs(), t.abs())) for s, t in zip(seeds, forward, strict=True))
    if right == right and not abs(left - right) <= tolerance(first) * max(size, abs(right), 1):
        raise AssertionError(f"forward over reverse {left}, reverse over reverse {right}")
    return True


def stacks(*rows):
    """The tensors of several rows of examples, stacked."""
    import rushlight

    return [rushlight.stack(list(c)) for part in rows for c in zip(*part, strict=True)]


def same(found, expected, what):
    """Raise unless all examples are those of a loop."""
    import table_checks as checks

    for tensor, *rows in zip(found, *expected, strict=True):
        for i, row in enumerate(rows):
            checks.compare(tensor[i], checks.theirs(row), what, 10)


def tolerance(values):
    """How near two sums must be, by the narrowest result."""
    width = min(t.itemsize // (2 if t.is_complex() else 1) for t in values)
    return {2: 2e-2, 4: 1e-5}.get(width, 1e-7)


def random_like(tensor, seed):
    import numpy as np

    import rushlight

    draws = np.random.default_rng(seed)
    array = draws.standard_normal(tuple(tensor.shape))
    if tensor.is_complex():
        array = array + 1j * draws.standard_normal(tuple(tensor.shape))
    return rushlight.tensor(array).to(tensor.dtype)


def inner(a, b):
    import numpy as np

    a, b = (t.detach().float() if t.itemsize == 2 else t.detach() for t in (a, b))
    return float(np.real(np.vdot(a.numpy(), b.numpy())))


CHECKS = {"vmap": check_vmap, "jvp": check_jvp, "composed": check_compositions}


if __name__ == "__main__":
    sys.exit(main())

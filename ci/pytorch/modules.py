"""Run PyTorch's own table of modules against Rushlight and say what agrees.

The table (`torch.testing._internal.common_modules`) ships inside PyTorch's wheel with constructor
arguments, inputs and error inputs of every entry. For each of them: the same seed gives the same
repr and state dict; outputs and gradients agree in training and evaluation; deepcopy, pickle and a
state dict from PyTorch give the same outputs; errors have PyTorch's types. Float32 gradients that
differ by more than the tolerance pass where they are as near to float64 as PyTorch's.

Entries known not to pass stand in ci/pytorch/modules_known.toml with their reasons.

Usage: python ci/pytorch/modules.py [NAME ...] [--dtypes float32,float64] [--checks forward,state]
       [--verbose]
"""

from __future__ import annotations

import argparse
import copy
import os
import pickle
import sys
import time
import warnings
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

import known_failures
import oracle

KNOWN = Path(__file__).with_name("modules_known.toml")
CHECKS = ("state", "forward", "gradient", "second", "copies", "errors")


def own_arguments(made):
    """Constructor arguments as Rushlight's; layers are built anew with the same state."""
    import table_checks as checks
    import torch

    from rushlight import nn

    def own(value):
        if isinstance(value, torch.nn.TransformerEncoderLayer):
            return own_layer(value)
        if callable(value) and hasattr(nn.functional, getattr(value, "__name__", " ")):
            return getattr(nn.functional, value.__name__)
        return checks.ours(value)

    return tuple(own(v) for v in made.args), {k: own(v) for k, v in made.kwargs.items()}


def own_layer(theirs):
    """Rushlight's encoder layer with the settings and state of PyTorch's."""
    import table_checks as checks

    from rushlight import nn

    layer = nn.TransformerEncoderLayer(
        theirs.linear1.in_features,
        theirs.self_attn.num_heads,
        theirs.linear1.out_features,
        theirs.dropout.p,
        getattr(nn.functional, theirs.activation.__name__),
        theirs.norm1.eps,
        theirs.self_attn.batch_first,
        theirs.norm_first,
        theirs.linear1.bias is not None,
    )
    layer.to(checks.ours(theirs.linear1.weight.dtype))
    layer.load_state_dict({k: checks.ours(v) for k, v in theirs.state_dict().items()})
    return layer


class Pair:
    """One sample built on both sides under one seed."""

    def __init__(self, info, sample, training, kind):
        import table_checks as checks
        import torch

        import rushlight

        self.checks, self.torch, self.rushlight = checks, torch, rushlight
        made = sample.constructor_input
        args, kwargs = own_arguments(made)
        kwargs.pop("device", None)
        torch.manual_seed(11)
        self.theirs = info.module_cls(*made.args, **made.kwargs)
        rushlight.manual_seed(11)
        self.ours = getattr(rushlight.nn, info.module_cls.__name__)(*args, **kwargs)
        self.theirs.train(training), self.ours.train(training)
        self.state = [m.state_dict() for m in (self.ours, self.theirs)]
        self.theirs.to(kind), self.ours.to(checks.ours(kind))
        self.forward = sample.forward_input

    def inputs(self):
        """Positional and keyword inputs of both sides; floats with gradients."""

        def fresh(value):
            if isinstance(value, self.torch.Tensor) and value.is_floating_point():
                return value.detach().clone().requires_grad_(value.requires_grad)
            if isinstance(value, (list, tuple)):
                return type(value)(fresh(v) for v in value)
            return value

        args = tuple(fresh(v) for v in self.forward.args)
        kwargs = {k: fresh(v) for k, v in self.forward.kwargs.items()}
        own = self.checks.ours((args, kwargs))
        return (args, kwargs), own

    def call(self, library, module, given):
        """The outputs of one side, flattened."""
        library.manual_seed(5)
        return self.checks.tensors(module(*given[0], **given[1]))


def compare_all(pair, found, expected, what):
    """All tensors of two lists."""
    if len(found) != len(expected):
        raise pair.checks.Mismatch(f"{what}: {len(found)} results, expected {len(expected)}")
    for a, b in zip(found, expected, strict=True):
        if a is None or b is None:
            empty = b if a is None else pair.checks.theirs(a) if a is not None else None
            if empty is not None and bool((empty != 0).any()):
                raise pair.checks.Mismatch(f"{what}: there on one side only")
            continue
        pair.checks.compare(a, b, what, 10.0 if what == "gradient" else 1.0)


def check_state(pair):
    """The same printed form and state dict for the same seed."""
    if repr(pair.ours) != repr(pair.theirs):
        raise pair.checks.Mismatch(f"repr is {pair.ours!r}, expected {pair.theirs!r}")
    own, other = pair.ours.state_dict(), pair.theirs.state_dict()
    if list(own) != list(other):
        raise pair.checks.Mismatch(f"state dict has {list(own)}, expected {list(other)}")
    if "Lazy" not in type(pair.theirs).__name__:
        for key, value in other.items():
            pair.checks.compare(own[key], value, f"initial {key}")


def check_forward(pair):
    """Outputs, and buffers after the call."""
    given, own = pair.inputs()
    expected = pair.call(pair.torch, pair.theirs, given)
    found = pair.call(pair.rushlight, pair.ours, own)
    compare_all(pair, found, expected, "output")
    compare_all(pair, list(pair.ours.buffers()), list(pair.theirs.buffers()), "buffer")


def gradients(pair, library, module, given, order):
    """Derivatives of a weighted sum of the outputs: of inputs and parameters."""
    outputs = [t for t in pair.call(library, module, given) if t.requires_grad]
    leaves = [t for t in pair.checks.tensors(given) if t.requires_grad] + list(module.parameters())
    if not outputs or not leaves:
        return []

    def total(parts):
        terms = []
        for i, part in enumerate(parts):
            generator = pair.torch.Generator().manual_seed(i + 1)
            weight = pair.torch.rand(tuple(part.shape), generator=generator) + 0.5
            weight = pair.checks.ours(weight) if library is pair.rushlight else weight
            terms.append((part * weight.to(part.dtype)).sum())
        return sum(terms[1:], terms[0])

    first = library.autograd.grad(
        total(outputs), leaves, create_graph=order == 2, allow_unused=True
    )
    if order == 1:
        return list(first)
    again = [t for t in first if t is not None and t.requires_grad]
    if not again:
        return [*first, *[None] * len(leaves)]
    second = library.autograd.grad(total(again), leaves, allow_unused=True)
    return [*first, *second]


def check_gradient(pair, order=1):
    """First derivatives."""
    given, own = pair.inputs()
    expected = gradients(pair, pair.torch, pair.theirs, given, order)
    found = gradients(pair, pair.rushlight, pair.ours, own, order)
    if order == 2 and not any(t is not None and t.requires_grad for t in expected):
        # PyTorch's first derivatives are constants to it: having second ones is no fault.
        found, expected = (part[: len(part) // 2] for part in (found, expected))
    try:
        compare_all(pair, found, expected, "gradient")
    except pair.checks.Mismatch:
        compare_near(pair, found, expected, exact_gradients(pair, given, order))


def compare_near(pair, found, expected, exact):
    """:func:`compare_all`; a gradient outside the tolerance must be as near to float64."""
    for own, other, wide in zip(found, expected, exact[: len(found)], strict=True):
        try:
            compare_all(pair, [own], [other], "gradient")
        except pair.checks.Mismatch:
            if own is None or other is None or not pair.checks.as_near(own, other, wide):
                raise


def exact_gradients(pair, given, order):
    """PyTorch's gradients in float64 for the same parameters and inputs."""
    module = copy.deepcopy(pair.theirs).to(pair.torch.float64)
    return gradients(pair, pair.torch, module, pair.checks.widened(given), order)


def check_second(pair):
    """First and second derivatives."""
    check_gradient(pair, 2)


def check_copies(pair):
    """deepcopy, pickle, and state dicts in both directions."""
    given, own = pair.inputs()
    pair.call(pair.rushlight, pair.ours, own)  # lazy modules get their shapes
    pair.call(pair.torch, pair.theirs, given)
    with pair.rushlight.no_grad():
        state = {k: pair.checks.theirs(v) for k, v in pair.ours.state_dict().items()}
        pair.theirs.load_state_dict(state)
        pair.ours.load_state_dict({k: pair.checks.ours(v) for k, v in state.items()})
        copies = [copy.deepcopy(pair.ours), pickle.loads(pickle.dumps(pair.ours))]  # noqa: S301
        expected = [pair.checks.theirs(t) for t in pair.call(pair.rushlight, pair.ours, own)]
        for made in copies:
            compare_all(pair, pair.call(pair.rushlight, made, own), expected, "copy")


def check_errors(info, dtype):
    """Every error input raises PyTorch's type, at construction or forward."""
    import table_checks as checks
    import torch

    import rushlight

    if info.module_error_inputs_func is None:
        return
    cls = getattr(rushlight.nn, info.module_cls.__name__)
    cases = info.module_error_inputs_func(
        info, device="cpu", dtype=dtype, requires_grad=False, training=True
    )
    for case in cases:
        sample, wanted = case.module_error_input, case.error_type
        made, given = checks.ours(
            (
                (tuple(sample.constructor_input.args), dict(sample.constructor_input.kwargs)),
                None
                if sample.forward_input is None
                else (tuple(sample.forward_input.args), dict(sample.forward_input.kwargs)),
            )
        )
        made[1].pop("device", None)
        try:
            module = cls(*made[0], **made[1])
            if given is not None:
                module(*given[0], **given[1])
        except Exception as error:  # noqa: BLE001 - its type is what is compared
            if not isinstance(error, wanted):
                raise checks.Mismatch(
                    f"{made}: {type(error).__name__} ({error}), expected {wanted.__name__}"
                ) from error
        else:
            raise checks.Mismatch(f"{made}: accepted; PyTorch raises {wanted.__name__}")
    del torch


RUN = {
    "state": check_state, "forward": check_forward, "gradient": check_gradient,
    "second": check_second, "copies": check_copies,
}  # fmt: skip


def examine(info, dtype, names):
    """The failures of one entry in one dtype, by check."""
    import table_checks as checks
    import torch

    failures = {}
    kind = getattr(torch, dtype)
    if kind not in info.dtypes:
        return None
    for name in names:
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                if name == "errors":
                    check_errors(info, kind)
                elif name != "second" or info.supports_gradgrad:
                    _run_samples(info, kind, name, checks)
        except Exception as error:  # noqa: BLE001 - whatever goes wrong is the finding
            text = " ".join(f"{type(error).__name__}: {error}".split())
            failures[f"{dtype} {name}"] = text[:300]
    return failures


def _run_samples(info, kind, name, checks):
    import torch

    for training in (True, False) if info.train_and_eval_differ else (True,):
        torch.manual_seed(3)  # the samples are random
        samples = info.module_inputs_func(
            info, device="cpu", dtype=kind, requires_grad=name != "copies", training=training
        )
        for sample in samples:
            if sample.forward_input is None:
                continue
            try:
                pair = Pair(info, sample, training, kind)
                RUN[name](pair)
            except checks.Unavailable:
                continue
            except Exception as error:
                if "derivative for aten::" in str(error):
                    continue  # PyTorch has no second derivative: having it is no fault
                made = sample.constructor_input
                where = f"{made.args} {made.kwargs} train={training}"
                raise type(error)(f"{where}: {error}") from error


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n")[0])
    parser.add_argument("names", nargs="*")
    parser.add_argument("--dtypes", default="float32,float64")
    parser.add_argument("--checks", default=",".join(CHECKS))
    parser.add_argument("--verbose", action="store_true", help="passing entries too")
    arguments = parser.parse_args()
    if not oracle.install():
        print(f"torch oracle not available ({oracle.REQUIREMENT}): the table was NOT run")
        return 1
    os.environ.setdefault("OMP_NUM_THREADS", "1")
    import torch
    from torch.testing._internal.common_modules import module_db

    torch.set_num_threads(1)
    entries = [
        info
        for info in module_db
        if not arguments.names or info.name.removeprefix("nn.") in arguments.names
    ]
    start, bad = time.monotonic(), {}
    for info in entries:
        failures = {}
        for dtype in arguments.dtypes.split(","):
            failures |= examine(info, dtype, arguments.checks.split(",")) or {}
        if failures:
            bad[info.name] = failures
        if failures or arguments.verbose:
            print(f"{info.name}: {f'{len(failures)} checks fail' if failures else 'ok'}")
            for what, text in failures.items():
                print(f"    {what}: {text}")
            sys.stdout.flush()
    good = len(entries) - len(bad)
    seconds = time.monotonic() - start
    print(f"\n--- PyTorch's module table: {good} of {len(entries)} entries pass, {seconds:.0f} s")
    return 1 if known_failures.surprises(KNOWN, list(bad), [i.name for i in entries]) else 0


if __name__ == "__main__":
    raise SystemExit(main())

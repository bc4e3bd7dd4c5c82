"""Run PyTorch's own table of optimizers against Rushlight and say what agrees.

The table (`torch.testing._internal.common_optimizers`) ships inside PyTorch's wheel with settings,
schedulers and error inputs of every optimizer. For each setting: 20 steps in float64 stay within
1e-6 (also with groups, names, foreach, fused and complex parameters), float32 stays close; state
dicts have the same entries and go over in both directions; copies go on alike; gradients pass
through differentiable steps; schedulers agree over 50 epochs with a resume in the middle; errors
have PyTorch's types.

Entries known not to pass stand in ci/pytorch/optimizers_known.toml with their reasons.

Usage: python ci/pytorch/optimizers.py [NAME ...] [--checks trajectory,state,errors] [--verbose]
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

KNOWN = Path(__file__).with_name("optimizers_known.toml")
STEPS, EPOCHS = 20, 50
TOLERANCE = {"float64": 1e-6, "complex128": 1e-6, "float32": 2e-4, "complex64": 2e-4}


WIDER = {"float32": "float64", "complex64": "complex128"}


class Difference(AssertionError):
    """Something that is not PyTorch's."""


class Run:
    """An optimizer of one library with parameters and a loss that are the same in both."""

    def __init__(self, library, name, kwargs, dtype="float64", grouped=False, matrices=False):
        self.library, self.kwargs = library, kwargs
        kind = getattr(library, dtype)
        self.sparse = name == "SparseAdam"
        shapes = [(4, 3), (3, 5)] if matrices else [(4, 3), (3,), (2, 2) if self.sparse else ()]
        self.params = [start(library, shape, kind, i) for i, shape in enumerate(shapes)]
        given = self.params
        if grouped:
            half = {"params": [("second", p) for p in given[1:]], "lr": 0.02}
            given = [{"params": [("first", given[0])]}, half]
        self.optimizer = getattr(library.optim, name)(given, **kwargs)

    def loss(self):
        """A smooth function with curvature that differs between elements."""
        total = 0
        for i, p in enumerate(self.params):
            p = self.library.view_as_real(p) if p.is_complex() else p
            total = total + ((p - 0.3 * i) ** 2).sum() * (0.5 + i) + (3 * p).cos().sum() * 0.2
        return total

    def closure(self):
        """Loss with gradients."""
        self.optimizer.zero_grad()
        value = self.loss()
        value.backward()
        if self.sparse:  # with some rows left out, as embeddings give them
            for step, p in enumerate(self.params):
                rows = self.library.arange(p.shape[0]) % 3 != step
                rows = rows.view(-1, *[1] * (p.dim() - 1))
                p.grad = (p.grad * rows).to_sparse(1)
        return value

    def go(self, steps):
        """So many steps."""
        for _ in range(steps):
            if type(self.optimizer).__name__ == "LBFGS":
                self.optimizer.step(self.closure)
            else:
                self.closure()
                self.optimizer.step()
        return self


def start(library, shape, kind, seed):
    """The same starting values in both libraries."""
    import numpy

    values = numpy.random.default_rng(seed).standard_normal(shape)
    if kind.is_complex:
        values = values + 1j * numpy.random.default_rng(seed + 9).standard_normal(shape)
    return library.tensor(values, dtype=kind).requires_grad_()


def own(value, known=None):
    """PyTorch's value as Rushlight's; one tensor in two places stays one."""
    import table_checks as checks
    import torch

    import rushlight

    known = {} if known is None else known
    if isinstance(value, dict):
        return {k: own(v, known) for k, v in value.items()}
    if isinstance(value, (list, tuple)):
        return type(value)(own(v, known) for v in value)
    if not isinstance(value, torch.Tensor):
        return value
    if id(value) not in known:
        made = checks.ours(value.detach())
        if isinstance(value, torch.nn.Parameter):
            made = rushlight.nn.Parameter(made)
        if value.grad is not None:
            made.grad = checks.ours(value.grad)
        known[id(value)] = made
    return known[id(value)]


def close(found, expected, what, tolerance):
    """Raise unless two tensors (one of each side) agree."""
    import table_checks as checks
    import torch

    found, expected = checks.theirs(found.detach()), expected.detach()
    if found.dtype != expected.dtype or found.shape != expected.shape:
        raise Difference(
            f"{what}: {found.dtype} {tuple(found.shape)}, expected {expected.dtype} "
            f"{tuple(expected.shape)}"
        )
    if not torch.allclose(found, expected, rtol=tolerance, atol=tolerance, equal_nan=True):
        error = (found - expected).abs().max()
        raise Difference(f"{what}: off by {error:.3g}")


def same_params(ours, theirs, what, tolerance):
    """All parameters of two runs."""
    for i, (a, b) in enumerate(zip(ours.params, theirs.params, strict=True)):
        close(a, b, f"{what}, parameter {i}", tolerance)


def as_near(ours, theirs, entry, variant, steps):
    """Whether our rounding errors after so many steps are at most twice PyTorch's own, which the
    same steps in twice the precision show: some optimizers magnify the last bits."""
    import torch

    exact = Run(torch, entry.name, variant, WIDER[str(theirs.params[0].dtype)[6:]],
                matrices=entry.matrices).go(steps)  # fmt: skip
    off = [
        max(
            float((torch.as_tensor(p.detach().numpy()).to(e.dtype) - e.detach()).abs().max())
            for p, e in zip(run.params, exact.params, strict=True)
        )
        for run in (ours, theirs)
    ]
    return off[0] <= 2 * off[1]


class Entry:
    """One optimizer of the table."""

    def __init__(self, info):
        self.info, self.name = info, info.name
        self.matrices = self.name == "Muon"
        inputs = info.optim_inputs_func("cpu")
        self.settings = [item.kwargs for item in inputs]

    def pair(self, kwargs, **options):
        """The same run in both libraries."""
        import torch

        import rushlight

        options.setdefault("matrices", self.matrices)
        return (
            Run(rushlight, self.name, own(copy.deepcopy(kwargs)), **options),
            Run(torch, self.name, copy.deepcopy(kwargs), **options),
        )

    def variants(self, kwargs):
        """The setting plain, and with each implementation that PyTorch has for it."""
        import torch

        yield kwargs
        tensors = any(isinstance(v, torch.Tensor) for v in kwargs.values())
        if "foreach" in self.info.supported_impls:
            yield {**kwargs, "foreach": False}
            if not tensors:
                yield {**kwargs, "foreach": True}
        if "fused" in self.info.supported_impls and "cpu" in self.info.supports_fused_on:
            yield {**kwargs, "fused": True}


def check_trajectory(entry, kwargs):
    """20 steps, in float64, float32 and complex numbers, with groups and names."""
    for variant in entry.variants(kwargs):
        kinds = ["float64", "float32"]
        if entry.info.supports_complex and not variant.get("fused"):
            kinds += ["complex128", "complex64"]
        for dtype in kinds:
            pair = entry.pair(variant, dtype=dtype)
            for step in range(STEPS):
                ours, theirs = (r.go(1) for r in pair)
                try:
                    same_params(ours, theirs, f"{variant} {dtype} step {step}", TOLERANCE[dtype])
                except Difference:
                    if dtype not in WIDER or not as_near(ours, theirs, entry, variant, step + 1):
                        raise
    if entry.info.supports_param_groups:
        ours, theirs = entry.pair(kwargs, grouped=True)
        same_params(ours.go(STEPS), theirs.go(STEPS), "groups", 1e-6)
        if repr(ours.optimizer).replace("rushlight", "torch") != repr(theirs.optimizer):
            raise Difference(f"repr is {ours.optimizer!r}, expected {theirs.optimizer!r}")


def compare_state(found, expected, what):
    """Entries, types and values of two state dicts."""
    import torch

    import rushlight

    if isinstance(expected, torch.Tensor):
        if not isinstance(found, rushlight.Tensor):
            raise Difference(f"{what} is a {type(found).__name__}, expected a tensor")
        close(found, expected, what, 1e-6)
    elif isinstance(expected, dict):
        if set(found) != set(expected):
            raise Difference(f"{what} has {list(found)}, expected {list(expected)}")
        for key, value in expected.items():
            compare_state(found[key], value, f"{what}[{key!r}]")
    elif isinstance(expected, (list, tuple)):
        if len(found) != len(expected) or type(found) is not type(expected):
            raise Difference(f"{what} is {found}, expected {expected}")
        for i, value in enumerate(expected):
            compare_state(found[i], value, f"{what}[{i}]")
    elif isinstance(expected, float):
        if abs(float(found) - expected) > 1e-6 * max(1, abs(expected)):
            raise Difference(f"{what} is {found!r}, expected {expected!r}")
    elif found != expected:
        raise Difference(f"{what} is {found!r}, expected {expected!r}")


def check_state(entry, kwargs):
    """State dicts agree; each side goes on from the other's."""
    import table_checks as checks

    for dtype in ("float64", "float32"):
        pair = entry.pair(kwargs, dtype=dtype)
        for run in pair:
            run.go(5)
        ours, theirs = (run.optimizer.state_dict() for run in pair)
        if dtype == "float64":
            compare_state(ours, theirs, "state dict")
        swapped = entry.pair(kwargs, dtype=dtype)
        for run, old in zip(swapped, pair, strict=True):
            for p, q in zip(run.params, old.params, strict=True):
                p.data.copy_(q.detach())
        swapped[0].optimizer.load_state_dict(own(theirs))
        swapped[1].optimizer.load_state_dict(_theirs(ours, checks))
        for run in (*pair, *swapped):
            run.go(5)
        for run in swapped:
            library = 0 if run is swapped[0] else 1
            other = (run, pair[1]) if library == 0 else (pair[0], run)
            same_params(*other, f"{dtype} resumed from the other side", TOLERANCE[dtype])


def _theirs(value, checks):
    if isinstance(value, dict):
        return {k: _theirs(v, checks) for k, v in value.items()}
    if isinstance(value, (list, tuple)):
        return type(value)(_theirs(v, checks) for v in value)
    return checks.theirs(value)


def check_copies(entry, kwargs):
    """Deep and pickled copies of optimizer and parameters go on like the original."""
    run = entry.pair(kwargs)[0].go(5)
    made = [copy.copy(run), copy.copy(run)]
    both = (run.params, run.optimizer)
    made[0].params, made[0].optimizer = copy.deepcopy(both)
    made[1].params, made[1].optimizer = pickle.loads(pickle.dumps(both))  # noqa: S301 - our own
    run.go(5)
    for i, other in enumerate(made):
        other.go(5)
        for a, b in zip(other.params, run.params, strict=True):
            if not bool((a == b).all()):
                raise Difference(f"{'pickled' if i else 'deep'} copy goes another way")


def differentiated(library, name, kwargs, steps):
    """Gradients of the parameters after recorded steps: of start values and gradients."""
    shape = (4, 3)
    first = start(library, shape, library.float64, 1)
    grads = [start(library, shape, library.float64, i + 2) for i in range(steps)]
    p = first.clone()
    optimizer = getattr(library.optim, name)([p], **kwargs, differentiable=True)
    for grad in grads:
        p.grad = grad.clone()
        optimizer.step()
    weight = start(library, shape, library.float64, 7).detach()
    return library.autograd.grad((p * weight).sum(), [first, *grads], allow_unused=True)


def check_differentiable(entry, kwargs):
    """Derivatives through three steps, or through one where PyTorch's own cannot do more."""
    import torch

    import rushlight

    if "differentiable" not in entry.info.supported_impls:
        return
    if any(isinstance(v, torch.Tensor) for v in kwargs.values()):
        return
    steps = 3
    found = differentiated(rushlight, entry.name, kwargs, steps)
    try:
        expected = differentiated(torch, entry.name, kwargs, steps)
    except RuntimeError:  # PyTorch overwrites what it saved
        steps = 1
        found = differentiated(rushlight, entry.name, kwargs, steps)
        expected = differentiated(torch, entry.name, kwargs, steps)
    for i, (a, b) in enumerate(zip(found, expected, strict=True)):
        if (a is None) != (b is None):
            present = a if b is None else b
            if bool((present != 0).any()):
                raise Difference(f"gradient {i} is there on one side only")
        elif a is not None:
            close(a, b, f"gradient {i}", 1e-6)


def check_schedulers(entry, kwargs):
    """The table's schedulers over 50 epochs, saved and resumed in the middle."""
    import torch

    import rushlight

    for makers in entry.info.scheduler_inputs:
        made = []
        for run in entry.pair(kwargs):
            with Names(torch if run.library is torch else rushlight):
                made.append(schedule(run, makers))
        for epoch, (a, b) in enumerate(zip(*made, strict=True)):
            if abs(a - b) > 1e-9 * abs(b):
                raise Difference(f"epoch {epoch}: rate {a}, expected {b}")


class Names:
    """The scheduler classes that the table's functions name, taken from one library."""

    def __init__(self, library):
        self.library, self.kept = library, {}

    def __enter__(self):
        from torch.testing._internal import common_optimizers as table

        for name in dir(table):
            found = getattr(self.library.optim.lr_scheduler, name, None)
            if found is not None and name.endswith(("LR", "Plateau")):
                self.kept[name] = getattr(table, name)
                setattr(table, name, found)

    def __exit__(self, *error):
        from torch.testing._internal import common_optimizers as table

        for name, value in self.kept.items():
            setattr(table, name, value)


def schedule(run, makers):
    """Learning rates of 50 epochs."""
    schedulers = [make(run.optimizer) for make in makers]
    rates = []
    for epoch in range(EPOCHS):
        if epoch == EPOCHS // 2:
            saved = copy.deepcopy([s.state_dict() for s in schedulers])
            state = copy.deepcopy(run.optimizer.state_dict())
            schedulers = [make(run.optimizer) for make in makers]
            run.optimizer.load_state_dict(state)
            for scheduler, old in zip(schedulers, saved, strict=True):
                scheduler.load_state_dict(old)
        run.go(1)
        for scheduler in schedulers:
            if type(scheduler).__name__ == "ReduceLROnPlateau":
                scheduler.step(1.0)
            else:
                scheduler.step()
        rates.append(float(run.optimizer.param_groups[0]["lr"]))
    return rates


def check_errors(entry):
    """Error inputs raise (or warn) with PyTorch's type, at construction or in the step."""
    import table_checks as checks
    import torch
    from torch.testing._internal.common_optimizers import OptimizerErrorEnum

    import rushlight

    if entry.info.optim_error_inputs_func is None:
        return
    cls = getattr(rushlight.optim, entry.name)
    for case in entry.info.optim_error_inputs_func("cpu", torch.float32):
        item = case.optimizer_error_input
        try:
            params = own(item.params)
        except checks.Unavailable:  # a sparse parameter
            continue
        if params is None:
            params = [rushlight.nn.Parameter(rushlight.rand(2, 3))]
        with warnings.catch_warnings():
            warnings.simplefilter("error", UserWarning)
            try:
                made = cls(params, **own(item.kwargs))
                if case.error_on == OptimizerErrorEnum.STEP_ERROR:
                    made.step()
            except Exception as error:  # noqa: BLE001 - its type is what is compared
                if not isinstance(error, case.error_type):
                    raise Difference(
                        f"{item.desc}: {type(error).__name__} ({error}), expected "
                        f"{case.error_type.__name__}"
                    ) from error
            else:
                raise Difference(f"{item.desc}: accepted, expected {case.error_type.__name__}")


CHECKS = {
    "trajectory": check_trajectory, "state": check_state, "copies": check_copies,
    "differentiable": check_differentiable, "schedulers": check_schedulers, "errors": check_errors,
}  # fmt: skip


def examine(info, names):
    """The failures of one entry by check and setting."""
    entry, failures = Entry(info), {}
    for name in names:
        whole = name == "errors"
        for kwargs in [None] if whole else entry.settings:
            try:
                with warnings.catch_warnings():
                    warnings.simplefilter("ignore")
                    CHECKS[name](entry) if whole else CHECKS[name](entry, kwargs)
            except Exception as error:  # noqa: BLE001 - whatever goes wrong is the finding
                text = " ".join(f"{type(error).__name__}: {error}".split())
                failures[f"{name} {'' if whole else kwargs}"] = text[:300]
    return failures


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n")[0])
    parser.add_argument("names", nargs="*")
    parser.add_argument("--checks", default=",".join(CHECKS))
    parser.add_argument("--verbose", action="store_true", help="passing entries too")
    arguments = parser.parse_args()
    if not oracle.install():
        print(f"torch oracle not available ({oracle.REQUIREMENT}): the table was NOT run")
        return 1
    os.environ.setdefault("OMP_NUM_THREADS", "1")
    import torch
    from torch.testing._internal.common_optimizers import optim_db

    torch.set_num_threads(1)
    entries = [i for i in optim_db if not arguments.names or i.name in arguments.names]
    begun, bad = time.monotonic(), {}
    for info in entries:
        failures = examine(info, arguments.checks.split(","))
        if failures:
            bad[info.name] = failures
        if failures or arguments.verbose:
            print(f"{info.name}: {f'{len(failures)} checks fail' if failures else 'ok'}")
            for what, text in failures.items():
                print(f"    {what}: {text}")
            sys.stdout.flush()
    good, seconds = len(entries) - len(bad), time.monotonic() - begun
    print(f"\n--- PyTorch's optimizer table: {good} of {len(entries)} pass, {seconds:.0f} s")
    return 1 if known_failures.surprises(KNOWN, list(bad), [i.name for i in entries]) else 0


if __name__ == "__main__":
    raise SystemExit(main())

"""What ops save: after a call every input and every result is written to in place, one at a time,
and backward must do what it does in PyTorch: work and give the same, or refuse.

Refusing where PyTorch works is a failure, and so is another gradient. Working where PyTorch
refuses is allowed where the gradient is the one without the write; these are counted.
"""

from __future__ import annotations

import collections
import typing

import table_checks as checks
import torch
from table_values import Mismatch, ours, theirs

import rushlight

SAMPLES = 12  # of one op
WRITTEN = 6  # tensors of one sample that are written to, inputs and results
lenient: collections.Counter[str] = collections.Counter()  # ours works, PyTorch refuses; by op


def mapped(value, function):
    """The same structure with `function` of its tensors."""
    if isinstance(value, (torch.Tensor, rushlight.Tensor)):
        return function(value)
    if isinstance(value, (list, tuple)):
        made = [mapped(v, function) for v in value]
        return type(value)(*made) if hasattr(value, "_fields") else type(value)(made)
    if isinstance(value, dict):
        return {k: mapped(v, function) for k, v in value.items()}
    return value


def write(tensor):
    """Change every element of a tensor in place."""
    if tensor.is_floating_point() or tensor.is_complex():
        tensor.add_(1)
    elif "bool" in str(tensor.dtype):
        tensor.logical_not_()
    else:
        tensor.zero_()  # an index stays one


def overlaps(tensor):
    """Whether elements of a tensor of PyTorch's share memory: what a write gives is not defined."""
    if tensor.layout != torch.strided or not tensor.numel():
        return False
    size = tensor.untyped_storage().nbytes() // tensor.element_size()
    places = torch.arange(size).as_strided(tensor.shape, tensor.stride(), tensor.storage_offset())
    return places.unique().numel() < tensor.numel()


class Outcome(typing.NamedTuple):
    """What a call with a write behind it came to."""

    state: str  # "works", "constant", or what was refused: "write" or "backward"
    gradients: tuple | None
    error: Exception | None
    every: list  # the tensors that may be written to, inputs and then results
    places: list  # which results are differentiated


def tried(info, sample, call, given, at, home, places=None):
    """A call whose tensor number `at` is written to afterwards (None: none is), and backward."""
    leaves = [t for t in checks.tensors(given) if t.requires_grad]
    written = mapped(given, lambda t: t.clone())  # a leaf must not be written to
    home.manual_seed(7)
    results = call(written[0], *written[1], **written[2])
    found = checks.tensors(checks.processed(info, sample, results, home is rushlight))
    every = [*checks.tensors(written), *checks.tensors(results)]
    if places is None:
        places = [i for i, t in enumerate(found) if t.requires_grad]
    outcome = Outcome("constant", None, None, every, places)
    if at is not None:
        try:
            write(every[at])
        except Exception as error:  # noqa: BLE001 - such as a result that is many views
            return outcome._replace(state="write", error=error)
    try:
        total = None
        for place in places:
            part = found[place]
            if not part.requires_grad:
                continue
            weight = checks._weight(part if home is torch else theirs(part.detach()), place)
            term = (part * (weight if home is torch else ours(weight))).sum()
            term = home.real(term) if term.is_complex() else term
            total = term if total is None else total + term
        if total is None:
            return outcome
        gradients = home.autograd.grad(total, leaves, allow_unused=True)
        return outcome._replace(state="works", gradients=gradients)
    except Exception as error:  # noqa: BLE001 - any refusal
        return outcome._replace(state="backward", error=error)


def compared(info, sample, place, found, expected, plain):
    """Raise Mismatch unless an outcome is PyTorch's."""
    place = f"{place} written, {checks.told(sample)}"
    wanted = expected.gradients
    if expected.state != "works":
        if found.state != "works":
            return
        lenient[info.name] += 1
        if expected.state == "write":
            return
        wanted = plain.gradients  # PyTorch refuses: what it gives without the write
    elif found.state != "works":
        raise Mismatch(f"{place}: {found.state} refused: {str(found.error)[:200]}")
    same(found.gradients, wanted, place)


def same(found, expected, place):
    """Raise Mismatch unless two lists of gradients hold the same; a missing one of ours is zero."""
    for number, (a, b) in enumerate(zip(found, expected, strict=True)):
        a, b = (None if t is None else checks.dense(theirs(t)) for t in (a, b))
        if b is None:
            continue  # not the subject here: PyTorch loses that of istft's window
        if a is None:
            if bool((b != 0).any()):
                raise Mismatch(f"{place}: gradient {number} is missing")
            continue
        checks.compare(a, b, f"{place}: gradient {number}", 10.0)


def check_saved(info, function, samples):
    """Every sample, every tensor written to."""
    for sample in samples[:SAMPLES]:
        given = sample.input, tuple(sample.args), dict(sample.kwargs)
        if not checks.leaves(sample):
            continue
        try:
            own = ours(given)
            plain = tried(info, sample, info.op, given, None, torch)
        except Exception:  # noqa: BLE001 - PyTorch does not take this sample, or it is not ours
            continue
        if plain.state != "works":
            continue
        count = len(checks.tensors(given))
        for at, written in enumerate(plain.every[: count + WRITTEN]):
            if WRITTEN <= at < count or overlaps(written):
                continue
            place = f"input {at}" if at < count else f"result {at - count}"
            expected = tried(info, sample, info.op, given, at, torch, plain.places)
            try:
                found = tried(info, sample, function, own, at, rushlight, plain.places)
            except Exception as error:
                raise checks._located(error, sample) from error
            try:
                compared(info, sample, place, found, expected, plain)
            except Mismatch:
                if "works" != found.state or expected.state == "write":
                    raise
                # Rounding errors are the subject of another check: the write changes nothing here,
                # and nothing there.
                own_plain = tried(info, sample, function, own, None, rushlight, plain.places)
                same(found.gradients, own_plain.gradients, place)
                if expected.state == "works":
                    same(expected.gradients, plain.gradients, place)

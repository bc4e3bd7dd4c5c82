"""What stands in an error about values that differ."""

from __future__ import annotations

import rushlight


def _headed(identifier, usual, exact, body):
    """A title of what differs, by its usual word, another one or a function of the usual."""
    what = identifier(usual) if callable(identifier) else identifier or usual
    return f"{what} are not {'equal' if exact else 'close'}!\n\n{body}"


def _allowed(exact, limit):
    return "" if exact else f" (up to {limit} allowed)"


def make_scalar_mismatch_msg(actual, expected, *, rtol, atol, identifier=None) -> str:
    """How much two numbers differ; `identifier` says what they are."""
    exact = rtol == atol == 0
    difference = abs(actual - expected)
    relative = float("inf") if expected == 0 else difference / abs(expected)
    body = (
        f"Expected {expected} but got {actual}.\n"
        f"Absolute difference: {difference}{_allowed(exact, atol)}\n"
        f"Relative difference: {relative}{_allowed(exact, rtol)}"
    )
    return _headed(identifier, "Scalars", exact, body)


def make_tensor_mismatch_msg(actual, expected, matches, *, rtol, atol, identifier=None) -> str:
    """How many elements of two tensors differ by `matches`, and where most."""
    exact = rtol == atol == 0
    kind = rushlight.promote_types(actual.dtype, expected.dtype)
    # Differences of unsigned numbers would wrap around.
    if not (kind.is_floating_point or kind.is_complex):
        actual, expected = actual.to(rushlight.int64), expected.to(rushlight.int64)
    difference = (actual - expected).abs()
    relative = difference / expected.abs()
    count = int((~matches).sum())
    lines = [f"Mismatched elements: {count} / {matches.numel()} ({count / matches.numel():.1%})"]
    for name, values, limit in (("absolute", difference, atol), ("relative", relative, rtol)):
        values = values.masked_fill(matches, 0)
        at = int(values.argmax())
        found = rushlight.unravel_index(rushlight.tensor(at), matches.shape)
        index = tuple(int(each) for each in found)
        worst = values.reshape(-1)[at].item()
        lines.append(
            f"Greatest {name} difference: {worst} at index {index}{_allowed(exact, limit)}"
        )
    return _headed(identifier, "Tensor-likes", exact, "\n".join(lines))

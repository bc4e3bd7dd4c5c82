"""Einstein summation, by permutations and batched matrix products."""

from __future__ import annotations

import functools
import math

from rushlight.backends import opt_einsum
from rushlight.ops._table.aten import in_aten
from rushlight.ops.linalg.products import bmm, mm
from rushlight.tensor.overriding import call_by_override
from rushlight.tensor.tensor import EXACT

_SPARE = [chr(c) for c in range(0x391, 0x3C9)]  # labels of dimensions behind an ellipsis


def _split(equation, operands):
    """Labels of every operand and of the result, the ellipsis spelled out."""
    text = equation.replace(" ", "")
    left, arrow, right = text.partition("->")
    terms = left.split(",")
    if not operands:
        raise ValueError("einsum(): expected an equation and at least one operand, got none")
    if len(terms) != len(operands):
        raise RuntimeError(
            f"einsum(): the equation '{equation}' names {len(terms)} operands, but "
            f"{len(operands)} were given"
        )
    labels, widest = [], 0
    for term, operand in zip(terms, operands, strict=True):
        named = len(term.replace("...", ""))
        extra = operand.dim() - named
        if extra < 0 or (extra and "..." not in term):
            raise RuntimeError(
                f"einsum(): the subscripts '{term}' name {named} dimensions, but the operand has "
                f"shape {list(operand.shape)}"
            )
        widest = max(widest, extra)
        labels.append((term, extra))
    spelled = [list(t.replace("...", "".join(_SPARE[widest - n : widest]))) for t, n in labels]
    if arrow:
        out = list(right.replace("...", "".join(_SPARE[:widest])))
    else:
        counts = "".join("".join(s) for s in spelled)
        once = sorted(c for c in set(counts) if counts.count(c) == 1 and c not in _SPARE)
        out = [*_SPARE[:widest], *once]
    unknown = set(out) - {c for s in spelled for c in s}
    if unknown or len(set(out)) != len(out):
        raise RuntimeError(f"einsum(): output subscripts of '{equation}' are repeated or unknown")
    return spelled, out


def _unrepeated(tensor, labels):
    """Repeated labels of one operand as its diagonal."""
    labels = list(labels)
    for label in set(labels):
        while labels.count(label) > 1:
            first = labels.index(label)
            second = labels.index(label, first + 1)
            if tensor.shape[first] != tensor.shape[second]:
                raise RuntimeError(
                    f"einsum(): subscript '{label}' is repeated for dimensions of sizes "
                    f"{tensor.shape[first]} and {tensor.shape[second]}"
                )
            tensor = tensor.diagonal(0, first, second)
            del labels[second], labels[first]
            labels.append(label)
    return tensor, labels


def _sizes(tensors, labels):
    sizes = {}
    for tensor, names in zip(tensors, labels, strict=True):
        for name, size in zip(names, tensor.shape, strict=True):
            known = sizes.get(name, 1)
            if size not in (1, known) and known != 1:
                raise RuntimeError(
                    f"einsum(): subscript '{name}' has size {size} and size {known} in different "
                    "operands"
                )
            sizes[name] = max(size, known) if size else 0
    return sizes


def _summed(tensor, labels, keep):
    """Sum over the labels that nobody needs any more."""
    gone = [i for i, name in enumerate(labels) if name not in keep]
    if gone:
        tensor = tensor.sum(tuple(gone))
    return tensor, [name for name in labels if name in keep]


def _arranged(tensor, labels, wanted, sizes):
    """Dimensions in the order of `wanted`, expanded to their common sizes."""
    tensor = tensor.permute(tuple(labels.index(name) for name in wanted))
    return tensor.expand(tuple(sizes[name] for name in wanted))


def _product(a, b, keep, sizes):
    """Two operands as one batched matrix product; labels in `keep` survive."""
    (left, left_names), (right, right_names) = a, b
    left, left_names = _summed(left, left_names, keep | set(right_names))
    right, right_names = _summed(right, right_names, keep | set(left_names))
    both = [n for n in left_names if n in right_names]
    batch, inner = [n for n in both if n in keep], [n for n in both if n not in keep]
    rows = [n for n in left_names if n not in both]
    columns = [n for n in right_names if n not in both]

    def size(names):
        return math.prod(sizes[n] for n in names)

    left = _arranged(left, left_names, batch + rows + inner, sizes)
    right = _arranged(right, right_names, batch + inner + columns, sizes)
    out = bmm(
        left.reshape(size(batch), size(rows), size(inner)),
        right.reshape(size(batch), size(inner), size(columns)),
    )
    names = batch + rows + columns
    return out.reshape(tuple(sizes[n] for n in names)), names


class _Shape:
    """What reading an equation wants to know of an operand."""

    def __init__(self, shape):
        self.shape = shape

    def dim(self):
        return len(self.shape)


def _steps(names, shape, gone, groups):
    """How an operand becomes a matrix (or a batch of them): sums, order and shape, each None where
    nothing is to do."""
    sums = tuple(i for i, n in enumerate(names) if n in gone) or None
    left = [n for n in names if n not in gone]
    sizes = dict(zip(names, shape, strict=True))
    order = tuple(left.index(n) for group in groups for n in group)
    size = tuple(math.prod(sizes[n] for n in group) for group in groups)
    size = size[1:] if not groups[0] else size
    same = size == tuple(sizes[left[i]] for i in order)
    return sums, None if order == tuple(range(len(order))) else order, None if same else size


@functools.lru_cache(maxsize=1024)
def _pair_plan(equation, first, second):
    """The steps of a product of two operands of these shapes; None where it takes the long way."""
    labels, out = _split(equation, (_Shape(first), _Shape(second)))
    sizes = {}
    for names, shape in zip(labels, (first, second), strict=True):
        if len(set(names)) != len(names):
            return None
        for name, size in zip(names, shape, strict=True):
            if sizes.setdefault(name, size) != size:
                return None
    left, right = labels
    gone = [n for n in left if n not in right and n not in out]
    lost = [n for n in right if n not in left and n not in out]
    batch = [n for n in left if n in right and n in out]
    inner = [n for n in left if n in right and n not in out]
    rows = [n for n in left if n not in right and n in out]
    columns = [n for n in right if n not in left and n in out]
    names = batch + rows + columns
    order = tuple(names.index(n) for n in out)
    return (
        _steps(left, first, gone, (batch, rows, inner)),
        _steps(right, second, lost, (batch, inner, columns)),
        bool(batch),
        tuple(sizes[n] for n in names),
        None if order == tuple(range(len(order))) else order,
    )


def _matrix(tensor, steps):
    sums, order, size = steps
    if sums is not None:
        tensor = tensor.sum(sums)
    if order is not None:
        tensor = tensor.permute(order)
    return tensor if size is None else tensor.reshape(size)


def _pair(a, b, plan):
    """The product of two operands by its plan."""
    left, right, batched, shape, order = plan
    out = (bmm if batched else mm)(_matrix(a, left), _matrix(b, right))
    if tuple(out.shape) != shape:
        out = out.reshape(shape)
    return out if order is None else out.permute(order)


@functools.lru_cache(maxsize=1024)
def _pair_equations(equation, count):
    """Products of two that make one of several operands, from left to right; None where the
    equation leaves its output or dimensions open."""
    terms, arrow, out = equation.replace(" ", "").partition("->")
    terms = terms.split(",")
    known = len(set(out)) == len(out) and set(out) <= set("".join(terms))
    if not arrow or "." in equation or len(terms) != count or not known:
        return None
    current, steps = terms[0], []
    for i, term in enumerate(terms[1:], 1):
        later = set(out).union(*terms[i + 1 :])
        kept = "".join(dict.fromkeys(n for n in current + term if n in later))
        kept = out if i == count - 1 else kept
        steps.append(f"{current},{term}->{kept}")
        current = kept
    return steps


def _pairs(equation, operands):
    """The product of several operands by the plans of two at a time, or None."""
    equations = _pair_equations(equation, len(operands))
    if equations is None:
        return None
    current, plans = tuple(operands[0].shape), []
    for step, operand in zip(equations, operands[1:], strict=True):
        plan = _pair_plan(step, current, tuple(operand.shape))
        if plan is None:
            return None
        plans.append(plan)
        *_, shape, order = plan
        current = shape if order is None else tuple(shape[i] for i in order)
    out = operands[0]
    for operand, plan in zip(operands[1:], plans, strict=True):
        out = _pair(out, operand, plan)
    return out


def _needed(out, parts):
    """The labels of the result and of the operands that remain."""
    return set(out) | {name for _, names in parts for name in names}


def _multiplied(parts, out, sizes):
    """The product of all parts: from left to right, or as the package opt_einsum plans."""
    if opt_einsum.enabled and len(parts) > 2:
        return _by_plan(parts, out, sizes)
    made = parts[0]
    for i, part in enumerate(parts[1:], 1):
        made = _product(made, part, _needed(out, parts[i + 1 :]), sizes)
    return made


def _by_plan(parts, out, sizes):
    """The product of all parts in the order of a plan."""
    text = ",".join("".join(names) for _, names in parts) + "->" + "".join(out)
    shapes = tuple(tuple(tensor.shape) for tensor, _ in parts)
    for step in _plan(text, shapes, opt_einsum.strategy):
        taken = [parts[i] for i in sorted(step)]
        parts = [part for i, part in enumerate(parts) if i not in step]
        made = taken[0]
        for i, part in enumerate(taken[1:], 1):
            made = _product(made, part, _needed(out, parts + taken[i + 1 :]), sizes)
        parts.append(made)
    return parts[0]


@functools.lru_cache(maxsize=256)
def _plan(text, shapes, strategy):
    """The positions of the operands of each product; a result stands behind those that remain."""
    package = opt_einsum.get_opt_einsum()
    return package.contract_path(text, *shapes, shapes=True, optimize=strategy)[0]


def _form(equation, *operands):
    if len(operands) == 1 and isinstance(operands[0], tuple | list):
        operands = operands[0]
    return "einsum", {"equation": equation, "tensors": list(operands)}


@in_aten("einsum(str equation, Tensor[] tensors, *, int[]? path=None) -> Tensor", call=_form)
def einsum(equation, *operands):
    """Sums of products of tensors, written with one letter per dimension.

    >>> rushlight.einsum("ij,jk->ik", rushlight.ones(2, 3), rushlight.ones(3, 2))
    tensor([[3., 3.],
            [3., 3.]])
    """
    if len(operands) == 1 and isinstance(operands[0], (list, tuple)):
        operands = tuple(operands[0])
    if not EXACT.issuperset(map(type, operands)):  # asked for the operands one by one, as there
        found = call_by_override(einsum, (equation, *operands), {})
        if found is not NotImplemented:
            return found
    if len(operands) == 2:
        plan = _pair_plan(equation, *(tuple(t.shape) for t in operands))
        if plan is not None:
            return _pair(*operands, plan)
    elif len(operands) > 2 and isinstance(equation, str) and not opt_einsum.enabled:
        found = _pairs(equation, operands)
        if found is not None:
            return found
    labels, out = _split(equation, operands)
    parts = [_unrepeated(t, names) for t, names in zip(operands, labels, strict=True)]
    sizes = _sizes([t for t, _ in parts], [names for _, names in parts])
    tensor, names = _summed(*_multiplied(parts, out, sizes), set(out))
    return _arranged(tensor, names, out, sizes) if names or out else tensor

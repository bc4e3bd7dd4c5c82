"""Collectives in which ranks send each other different tensors: gather, scatter, all to all."""

from __future__ import annotations

import functools
from typing import TYPE_CHECKING

from rushlight.distributed import buffers
from rushlight.distributed.buffers import check_dtypes, check_tensor, check_tensors, flat, fresh
from rushlight.distributed.collectives import _check_list, finished, root_in, started
from rushlight.distributed.groups import resolved
from rushlight.machine import np

if TYPE_CHECKING:
    from collections.abc import Sequence

    from rushlight.distributed.process_group import ProcessGroup
    from rushlight.distributed.works import Work
    from rushlight.tensor.tensor import Tensor


def _exchanged(group, name, op, tensors, sends, receives, finish, result):
    """Issue messages; both are lists of (flat array, rank of the group)."""
    carrier = group.carrier(name, (sends or receives)[0][0])
    sends, own_out = _without_own(group, sends)
    receives, own_in = _without_own(group, receives)
    for (sent, _), (received, _) in zip(own_out, own_in, strict=True):
        np.copyto(received, sent)
    # By the number of the collective, which all ranks count alike: later ones do not mix with it.
    tag = (group.number + 1) % 32768
    return started(
        carrier, group, name, op, tensors,
        lambda: carrier.exchange(sends, receives, tag), finish, result,
    )  # fmt: skip


def _without_own(group, messages):
    own = [m for m in messages if m[1] == group.rank()]
    return [m for m in messages if m[1] != group.rank()], own


def gather(
    tensor: Tensor,
    gather_list: Sequence[Tensor] | None = None,
    dst: int | None = None,
    group: ProcessGroup | int | None = None,
    async_op: bool = False,
    group_dst: int | None = None,
) -> Work | None:
    """Fill `gather_list` on rank `dst` (0 by default), one tensor a rank, with all tensors."""
    name = gather.__name__
    check_tensor(name, "tensor", tensor)
    found = resolved(group)
    if found is None:
        return None
    dst = 0 if dst is None and group_dst is None else dst
    root = root_in(name, found, "dst", dst, group_dst)
    receives, outputs = [], []
    if found.rank() == root:
        outputs = _listed(name, "gather_list", gather_list, found, "destination")
        check_dtypes(name, [*outputs, tensor])
        receives = [(fresh(t), rank) for rank, t in enumerate(outputs)]
    elif gather_list:
        raise ValueError("Argument ``gather_list`` must NOT be specified on non-destination ranks.")

    finish = functools.partial(buffers.store_all, outputs, [wire for wire, _ in receives])
    sends = [(flat(tensor), root)]
    work = _exchanged(found, name, root, (tensor,), sends, receives, finish, outputs)
    return finished(work, async_op)


def _listed(operation, argument, tensors, group, side):
    if not tensors:
        raise ValueError(f"Argument ``{argument}`` must be specified on {side} rank.")
    check_tensors(operation, argument, tensors)
    _check_list(operation, argument, tensors, group)
    return list(tensors)


def scatter(
    tensor: Tensor,
    scatter_list: Sequence[Tensor] | None = None,
    src: int | None = None,
    group: ProcessGroup | int | None = None,
    async_op: bool = False,
    group_src: int | None = None,
) -> Work | None:
    """Fill `tensor` on each rank with its one of rank `src`'s `scatter_list` (0 by default)."""
    name = scatter.__name__
    check_tensor(name, "tensor", tensor)
    found = resolved(group)
    if found is None:
        return None
    src = 0 if src is None and group_src is None else src
    root = root_in(name, found, "src", src, group_src)
    sends = []
    if found.rank() == root:
        inputs = _listed(name, "scatter_list", scatter_list, found, "source")
        check_dtypes(name, [*inputs, tensor])
        sends = [(flat(t), rank) for rank, t in enumerate(inputs)]
    elif scatter_list:
        raise ValueError("Argument ``scatter_list`` must NOT be specified on non-source ranks.")
    wire = fresh(tensor)
    work = _exchanged(
        found, name, root, (tensor,), sends, [(wire, root)],
        lambda: buffers.store(tensor, wire), [tensor],
    )  # fmt: skip
    return finished(work, async_op)


def all_to_all(
    output_tensor_list: Sequence[Tensor],
    input_tensor_list: Sequence[Tensor],
    group: ProcessGroup | int | None = None,
    async_op: bool = False,
) -> Work | None:
    """Send each rank its tensor of `input_tensor_list` and fill `output_tensor_list` with what all
    ranks have for this one. Shapes may differ from rank to rank."""
    check_tensors("all_to_all", "output_tensor_list", output_tensor_list)
    check_tensors("all_to_all", "input_tensor_list", input_tensor_list)
    check_dtypes("all_to_all", [*input_tensor_list, *output_tensor_list])
    found = resolved(group)
    if found is None:
        return None
    _check_list("all_to_all", "output_tensor_list", output_tensor_list, found)
    _check_list("all_to_all", "input_tensor_list", input_tensor_list, found)
    sends = [(flat(t), rank) for rank, t in enumerate(input_tensor_list)]
    receives = [(fresh(t), rank) for rank, t in enumerate(output_tensor_list)]
    wires = [wire for wire, _ in receives]
    finish = functools.partial(buffers.store_all, output_tensor_list, wires)
    work = _exchanged(
        found, "all_to_all", None, (), sends, receives, finish, list(output_tensor_list)
    )
    return finished(work, async_op)


def all_to_all_single(
    output: Tensor,
    input: Tensor,
    output_split_sizes: Sequence[int] | None = None,
    input_split_sizes: Sequence[int] | None = None,
    group: ProcessGroup | int | None = None,
    async_op: bool = False,
) -> Work | None:
    """Send each rank its rows of `input` and fill `output` with the rows from all ranks.

    The split sizes are numbers of rows (of the first dimension) by rank; without them all ranks get
    equally many.
    """
    name = "all_to_all_single"
    check_tensor(name, "output", output)
    check_tensor(name, "input", input)
    check_dtypes(name, [input, output])
    found = resolved(group)
    if found is None:
        return None
    sent = _rows(name, "input", flat(input), input, input_split_sizes, found)
    wire = fresh(output)
    if np.may_share_memory(wire, sent[0][0]):
        wire = np.empty_like(wire)
    received = _rows(name, "output", wire, output, output_split_sizes, found)
    work = _exchanged(
        found, name, None, (), sent, received, lambda: buffers.store(output, wire), [output]
    )
    return finished(work, async_op)


def _rows(operation, argument, elements, tensor, sizes, group):
    """The elements of a tensor by rank."""
    rows = tensor.shape[0] if tensor.dim() else 1
    if not sizes:
        if rows % group.size():
            raise ValueError(
                f"{operation}: {argument} has {rows} rows, which {group.size()} ranks cannot share "
                f"equally; pass {argument}_split_sizes"
            )
        sizes = [rows // group.size()] * group.size()
    if len(sizes) != group.size() or sum(sizes) != rows:
        raise ValueError(
            f"{operation}: {argument}_split_sizes {list(sizes)} must be {group.size()} numbers "
            f"whose sum is {rows}, the rows of {argument}"
        )
    row = elements.size // rows if rows else 0
    parts = np.split(elements, np.cumsum([size * row for size in sizes])[:-1])
    return [(part, rank) for rank, part in enumerate(parts)]

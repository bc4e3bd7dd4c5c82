"""Collectives that autograd knows. Every rank must run backward, in the same order.

Results are new tensors; a rank's gradient is what the losses of all ranks together give.
"""

from __future__ import annotations

from rushlight.autograd.function import Function
from rushlight.distributed import collectives, exchanges
from rushlight.distributed.groups import resolved
from rushlight.distributed.reduce_op import ReduceOp
from rushlight.ops.creation.tensors import empty_like, zeros_like


def broadcast(tensor, src, group=None):
    """The tensor of rank `src`, on every rank; the gradients' sum goes there."""
    return _Broadcast.apply(src, group, tensor)


def gather(tensor, dst=0, group=None):
    """All ranks' tensors as a tuple on rank `dst`, zeros elsewhere."""
    return _Gather.apply(dst, group, tensor)


def scatter(tensors, src=0, group=None):
    """This rank's one of the tensors of rank `src`."""
    return _Scatter.apply(src, group, *tensors)


def reduce(tensor, dst, op=ReduceOp.SUM, group=None):
    """The reduction of all ranks' tensors on rank `dst`; elsewhere the tensor itself."""
    return _Reduce.apply(dst, op, group, tensor)


def reduce_scatter(output, input_list, op=ReduceOp.SUM, group=None):
    """This rank's part of the reduction of all ranks' lists; `output` tells its shape."""
    return _ReduceScatter.apply(op, group, output, *input_list)


def all_gather(tensor, group=None):
    """All ranks' tensors as a tuple, on every rank."""
    return _AllGather.apply(group, tensor)


def all_to_all(output_tensor_list, input_tensor_list, group=None):
    """What all ranks have for this one, as a tuple; the outputs tell the shapes."""
    return _AllToAll.apply(group, output_tensor_list, *input_tensor_list)


def all_to_all_single(output, input, output_split_sizes=None, input_split_sizes=None, group=None):
    """The rows that all ranks have for this one; `output` tells their shape."""
    return _AllToAllSingle.apply(group, output, output_split_sizes, input_split_sizes, input)


def all_reduce(tensor, op=ReduceOp.SUM, group=None):
    """The reduction of all ranks' tensors, on every rank."""
    return _AllReduce.apply(op, group, tensor)


def _size(group):
    return resolved(group).size()


def _sum_of_parts(parts, group):
    """The sum of what all ranks have for this one: a rank's gradient of what all ranks got."""
    own = empty_like(parts[resolved(group).rank()])
    collectives.reduce_scatter(own, [part.contiguous() for part in parts], group=group)
    return own


class _Broadcast(Function):
    @staticmethod
    def forward(ctx, src, group, tensor):
        ctx.src, ctx.group = src, group
        result = tensor.detach().clone()
        collectives.broadcast(result, src, group)
        return result

    @staticmethod
    def backward(ctx, grad):
        total = grad.contiguous().clone()
        collectives.reduce(total, ctx.src, group=ctx.group)
        found = resolved(ctx.group)
        if found.ranks[found.rank()] != ctx.src:
            total.zero_()
        return None, None, total


class _Gather(Function):
    @staticmethod
    def forward(ctx, dst, group, tensor):
        ctx.dst, ctx.group = dst, group
        found = resolved(group)
        every = [zeros_like(tensor) for _ in range(found.size())]
        here = found.world_rank == dst
        exchanges.gather(tensor.contiguous(), every if here else None, dst, group)
        return tuple(every)

    @staticmethod
    def backward(ctx, *grads):
        here = resolved(ctx.group).world_rank == ctx.dst
        grad = empty_like(grads[0])
        parts = [g.contiguous() for g in grads] if here else None
        exchanges.scatter(grad, parts, ctx.dst, ctx.group)
        return None, None, grad


class _Scatter(Function):
    @staticmethod
    def forward(ctx, src, group, *tensors):
        ctx.src, ctx.group = src, group
        here = resolved(group).world_rank == src
        result = zeros_like(tensors[0])
        parts = [each.contiguous() for each in tensors] if here else None
        exchanges.scatter(result, parts, src, group)
        return result

    @staticmethod
    def backward(ctx, grad):
        every = [zeros_like(grad) for _ in range(_size(ctx.group))]
        here = resolved(ctx.group).world_rank == ctx.src
        exchanges.gather(grad.contiguous(), every if here else None, ctx.src, ctx.group)
        return None, None, *every


class _Reduce(Function):
    @staticmethod
    def forward(ctx, dst, op, group, tensor):
        ctx.dst, ctx.group = dst, group
        result = tensor.detach().clone()
        collectives.reduce(result, dst, op, group)
        return result

    @staticmethod
    def backward(ctx, grad):
        grad = grad.contiguous().clone()
        collectives.broadcast(grad, ctx.dst, ctx.group)
        return None, None, None, grad


class _ReduceScatter(Function):
    @staticmethod
    def forward(ctx, op, group, output, *inputs):
        ctx.group = group
        result = empty_like(output)
        collectives.reduce_scatter(result, [each.contiguous() for each in inputs], op, group)
        return result

    @staticmethod
    def backward(ctx, grad):
        every = [empty_like(grad) for _ in range(_size(ctx.group))]
        collectives.all_gather(every, grad.contiguous(), ctx.group)
        return None, None, None, *every


class _AllGather(Function):
    @staticmethod
    def forward(ctx, group, tensor):
        ctx.group = group
        every = [empty_like(tensor) for _ in range(_size(group))]
        collectives.all_gather(every, tensor.contiguous(), group)
        return tuple(every)

    @staticmethod
    def backward(ctx, *grads):
        return None, _sum_of_parts(grads, ctx.group)


class _AllToAll(Function):
    @staticmethod
    def forward(ctx, group, outputs, *inputs):
        ctx.group, ctx.like = group, [each.detach() for each in inputs]
        results = [empty_like(each) for each in outputs]
        exchanges.all_to_all(results, [each.contiguous() for each in inputs], group)
        return tuple(results)

    @staticmethod
    def backward(ctx, *grads):
        found = [empty_like(each) for each in ctx.like]
        exchanges.all_to_all(found, [grad.contiguous() for grad in grads], ctx.group)
        return None, None, *found


class _AllToAllSingle(Function):
    @staticmethod
    def forward(ctx, group, output, output_sizes, input_sizes, input):
        ctx.group, ctx.sizes, ctx.like = group, (output_sizes, input_sizes), input.detach()
        result = empty_like(output)
        exchanges.all_to_all_single(result, input.contiguous(), output_sizes, input_sizes, group)
        return result

    @staticmethod
    def backward(ctx, grad):
        outputs, inputs = ctx.sizes
        found = empty_like(ctx.like)
        exchanges.all_to_all_single(found, grad.contiguous(), inputs, outputs, ctx.group)
        return None, None, None, None, found


class _AllReduce(Function):
    @staticmethod
    def forward(ctx, op, group, tensor):
        ctx.op, ctx.group = op, group
        result = tensor.detach().clone()
        collectives.all_reduce(result, op, group)
        return result

    @staticmethod
    def backward(ctx, grad):
        return None, None, _AllReduce.apply(ctx.op, ctx.group, grad)


__all__ = [
    "all_gather", "all_reduce", "all_to_all", "all_to_all_single", "broadcast", "gather", "reduce",
    "reduce_scatter", "scatter",
]  # fmt: skip

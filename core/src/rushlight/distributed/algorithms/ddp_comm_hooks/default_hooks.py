"""Hooks that reduce a bucket of gradients, some of them in fewer bits."""

from __future__ import annotations

from rushlight import dtypes
from rushlight.distributed import collectives
from rushlight.distributed.groups import default_group
from rushlight.futures import Future

__all__ = [
    "allreduce_hook", "bf16_compress_hook", "bf16_compress_wrapper", "fp16_compress_hook",
    "fp16_compress_wrapper",
]  # fmt: skip


def _started(group, tensor):
    group = default_group() if group is None else group
    tensor.div_(group.size())
    work = collectives.all_reduce(tensor, group=group, async_op=True)
    return work.get_future().then(lambda done: done.value()[0])


def allreduce_hook(process_group, bucket) -> Future:
    """The average over the ranks: what happens without a hook."""
    return _started(process_group, bucket.buffer())


def _compressed(process_group, bucket, dtype):
    buffer = bucket.buffer()
    smaller = _started(process_group, buffer.to(dtype))
    return smaller.then(lambda done: buffer.copy_(done.value()))


def fp16_compress_hook(process_group, bucket) -> Future:
    """The average, of gradients rounded to float16."""
    return _compressed(process_group, bucket, dtypes.float16)


def bf16_compress_hook(process_group, bucket) -> Future:
    """The average, of gradients rounded to bfloat16."""
    return _compressed(process_group, bucket, dtypes.bfloat16)


def _wrapped(hook, dtype):
    def wrapper(state, bucket):
        buffer = bucket.buffer()
        bucket.set_buffer(buffer.to(dtype))
        return hook(state, bucket).then(lambda done: buffer.copy_(done.value()))

    return wrapper


def fp16_compress_wrapper(hook):
    """A hook that gets its bucket rounded to float16."""
    return _wrapped(hook, dtypes.float16)


def bf16_compress_wrapper(hook):
    """A hook that gets its bucket rounded to bfloat16."""
    return _wrapped(hook, dtypes.bfloat16)

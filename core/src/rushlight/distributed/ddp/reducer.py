"""The reducer: starts the reduction of a bucket when its gradients are complete, and writes back.

Buckets are reduced in their order on every rank. Backward only starts reductions; what they bring
is waited for when backward has ended.
"""

from __future__ import annotations

from rushlight.autograd import engine
from rushlight.autograd.mode import no_grad
from rushlight.autograd.node import NODES
from rushlight.distributed import collectives
from rushlight.distributed.ddp.buckets import Bucket, GradBucket, divided
from rushlight.machine import np
from rushlight.ops.creation.tensors import tensor as make


class Reducer:
    """Averages the gradients of parameters over the ranks of a group."""

    def __init__(self, names, parameters, group, capacity, as_views, find_unused, static):
        self.names = dict(zip(map(id, parameters), names, strict=True))
        self.parameters, self.group = parameters, group
        self.as_views, self.find_unused, self.static = as_views, find_unused, static
        self.buckets = [Bucket(i, ps) for i, ps in enumerate(divided(parameters, capacity))]
        self.where = {
            id(p): (bucket, place)
            for bucket in self.buckets
            for place, p in enumerate(bucket.parameters)
        }
        self.hook = None  # (state, function)
        self.divisor = group.size()
        self.active = False  # between a forward that expects a reduction and its end
        self.next = 0  # the bucket to be reduced next
        self.ready: set[int] = set()
        self.used: set[int] = set()  # since the last reduction
        self.counts: dict[int, int] | None = None  # of gradients a pass, where the graph is static
        self.seen: dict[int, int] = {}
        self.queued = False
        self.handles = [p.register_post_accumulate_grad_hook(self._arrived) for p in parameters]

    # -- a forward and its backward ---------------------------------------------------------------

    def prepare(self, outputs) -> None:
        """A forward is done whose backward is to be reduced."""
        if self.active and self.ready:
            self._refuse_unfinished()
        self.active, self.next, self.queued = True, 0, False
        self.ready.clear()
        self.seen = {}
        for bucket in self.buckets:
            bucket.begin()
        if self.static and self.counts is not None:
            unused = [p for p in self.parameters if not self.counts.get(id(p))]
        elif self.find_unused and not self.static:
            reached = _leaves_below(outputs)
            unused = [p for p in self.parameters if id(p) not in reached]
        else:
            unused = []
        for parameter in unused:
            self._mark(parameter, parameter.grad if id(parameter) in self.used else None)

    def _refuse_unfinished(self):
        missing = [self.names[id(p)] for p in self.parameters if id(p) not in self.ready]
        self.active = False
        raise RuntimeError(
            "Expected to have finished reduction in the prior iteration before starting a new one. "
            "This error indicates that your module has parameters that were not used in producing "
            "loss. You can enable unused parameter detection by passing the keyword argument "
            "`find_unused_parameters=True` to DistributedDataParallel, and by making sure all "
            "`forward` function outputs participate in calculating loss. Parameters which did not "
            f"receive grad for rank {self.group.world_rank}: {', '.join(missing)}"
        )

    def _arrived(self, parameter):
        """A gradient was added to a parameter's."""
        key = id(parameter)
        self.used.add(key)
        if not self.active:
            return
        if not self.queued:
            self.queued = True
            engine.queue_callback(self._backward_ended)
        seen = self.seen[key] = self.seen.get(key, 0) + 1
        if self.static and (self.counts is None or seen < self.counts.get(key, 1)):
            return
        if key in self.ready:
            raise RuntimeError(
                "Expected to mark a variable ready only once. Parameter "
                f"{self.names[key]!r} has been marked as ready twice: it is used in several "
                "backward passes (as by reentrant checkpoints) or after it was found unused; pass "
                "static_graph=True if every iteration does the same"
            )
        self._mark(parameter, parameter.grad)
        for work in list(self.group.outstanding):  # let MPI work meanwhile
            self.group.advance(work)

    def _mark(self, parameter, grad):
        if grad is not None and grad.layout != "strided":
            raise NotImplementedError(
                f"DistributedDataParallel: the gradient of {self.names[id(parameter)]!r} is "
                "sparse: use sparse=False in its Embedding"
            )
        self.ready.add(id(parameter))
        bucket, place = self.where[id(parameter)]
        bucket.fill(place, grad, 1 if self.hook is not None else 1 / self.divisor)
        if self.as_views and grad is not None:
            parameter._grad = bucket.views[place]
        bucket.missing -= 1
        self._launch()

    def _launch(self):
        """Start the reductions of complete buckets, in order."""
        # Ranks may complete buckets in different orders, but must reduce them in one.
        while self.next < len(self.buckets) and not self.buckets[self.next].missing:
            bucket = self.buckets[self.next]
            self.next += 1
            bucket.launched = True
            with no_grad():
                bucket.work = self._reduced(bucket)

    def _reduced(self, bucket):
        if self.hook is None:
            return collectives.all_reduce(bucket.tensor, group=self.group, async_op=True)
        state, function = self.hook
        given = GradBucket(bucket, bucket is self.buckets[-1])
        future = function(state, given)
        if not hasattr(future, "wait"):
            raise RuntimeError(
                "callback must return a rushlight.futures.Future object, but got "
                f"{type(future).__name__}"
            )
        return future

    # -- the end of a backward --------------------------------------------------------------------

    def _backward_ended(self):
        if self.static and self.counts is None:
            self.counts = dict(self.seen)
            for parameter in self.parameters:
                self._mark(parameter, parameter.grad if id(parameter) in self.used else None)
        if self.next < len(self.buckets):
            return  # the next forward says what is missing
        self.finish()

    def finish(self) -> None:
        """Wait for all reductions and write the averages to the parameters' gradients."""
        # Issued by every rank at this point of the sequence, after all buckets.
        everywhere = self._used_somewhere()
        for bucket in self.buckets:
            result = bucket.work.wait()
            if self.hook is not None:
                _take(bucket, result)
        with no_grad():
            for bucket in self.buckets:
                for place, parameter in enumerate(bucket.parameters):
                    if everywhere is None or id(parameter) in everywhere:
                        self._write(bucket.views[place], parameter)
        self.active = False
        self.used.clear()

    def _used_somewhere(self):
        """The parameters that some rank has used; None where all are."""
        if not (self.find_unused or self.static):
            return None
        flags = make([int(id(p) in self.used) for p in self.parameters])
        collectives.all_reduce(flags, group=self.group)
        return {id(p) for p, f in zip(self.parameters, flags.tolist(), strict=True) if f}

    def _write(self, view, parameter):
        grad = parameter._grad
        if self.as_views:
            if grad is not view:
                parameter._grad = view
        elif grad is None:
            parameter._grad = view.clone()
        else:
            np.copyto(grad._array, view._array)

    def skip(self) -> None:
        """What comes is not to be reduced."""
        self.active = False

    def zero_round(self) -> None:
        """Take part in the reductions of a backward of the others, with zeros."""
        for bucket in self.buckets:
            bucket.begin()
            bucket.tensor.zero_()
        self.next = 0
        for bucket in self.buckets:
            bucket.missing = 0
        self._launch()
        if self.find_unused or self.static:
            self._used_somewhere()
        for bucket in self.buckets:
            bucket.work.wait()


def _take(bucket, result):
    """Put what a hook brought into the bucket."""
    if isinstance(result, (list, tuple)):
        (result,) = result
    if result is not bucket.tensor:
        bucket.tensor.copy_(result.view(-1))


def _leaves_below(outputs):
    """The ids of all leaves that outputs were computed from."""
    found, seen, stack = set(), set(), []
    for output in outputs:
        if output.requires_grad:
            stack.append(output._node if type(output._node) in NODES else output)
    while stack:
        entry = stack.pop()
        if type(entry) not in NODES:
            found.add(id(entry))
        elif id(entry) not in seen:
            seen.add(id(entry))
            stack.extend(edge for edge in entry.edges if edge is not None)
    return found

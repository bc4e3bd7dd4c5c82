"""An optimizer each of whose ranks keeps the state of a part of the parameters."""

from __future__ import annotations

import copy

from rushlight.autograd.mode import no_grad
from rushlight.distributed import collectives, objects
from rushlight.distributed.algorithms.join import GroupJoinable, Join, JoinHook
from rushlight.distributed.groups import default_group
from rushlight.optim.optimizer import Optimizer

__all__ = ["ZeroRedundancyOptimizer"]


class ZeroRedundancyOptimizer(Optimizer, GroupJoinable):
    """Steps its share of the parameters and sends it to the other ranks.

    Args:
        params: as an optimizer's; the same on every rank.
        optimizer_class: the optimizer of each share; `defaults` are its arguments.
        process_group: the ranks; all by default.
        parameters_as_bucket_view: of no consequence for results.
        overlap_with_ddp: not available.

    The step is that of `optimizer_class` over all parameters; each rank holds the state of about
    one part in as many as there are ranks, by numbers of elements.
    """

    def __init__(
        self,
        params,
        optimizer_class,
        process_group=None,
        parameters_as_bucket_view=False,
        overlap_with_ddp=False,
        **defaults,
    ):
        if overlap_with_ddp:
            raise NotImplementedError(
                "ZeroRedundancyOptimizer: overlap_with_ddp=True is not available; leave it out"
            )
        self.process_group = default_group() if process_group is None else process_group
        self.rank, self.world_size = self.process_group.rank(), self.process_group.size()
        self._optimizer_class, self._defaults = optimizer_class, defaults
        self.optim = None
        self._all_state_dicts: list = []
        super().__init__(params, defaults)
        self._divide()

    def add_param_group(self, param_group) -> None:
        """Add a group of parameters; all groups are divided anew."""
        super().add_param_group(param_group)
        if self.optim is not None:
            self._divide()

    def _divide(self):
        """Deal parameters out, the largest first, each to the rank with the fewest elements."""
        loads = [0] * self.world_size
        self._owner: dict[int, int] = {}
        for group in self.param_groups:
            for parameter in sorted(group["params"], key=lambda p: -p.numel()):
                rank = loads.index(min(loads))
                loads[rank] += parameter.numel()
                self._owner[id(parameter)] = rank
        self._kept_groups = [group for group in self.param_groups if self._own(group)]
        self._make_optimizer({} if self.optim is None else self.optim.state)

    def _make_optimizer(self, kept):
        """The optimizer of this rank's share, with what it knew of those parameters."""
        self.optim = None
        if not self._kept_groups:
            return
        groups = [{**whole, "params": self._own(whole)} for whole in self._kept_groups]
        self.optim = self._optimizer_class(groups, **self._defaults)
        for group, whole in zip(self.optim.param_groups, self._kept_groups, strict=True):
            for name, value in group.items():
                whole.setdefault(name, value)
        for parameter, state in kept.items():
            if self._owner.get(id(parameter)) == self.rank:
                self.optim.state[parameter] = state

    def _own(self, group):
        return [p for p in group["params"] if self._owner[id(p)] == self.rank]

    def step(self, closure=None, **kwargs):
        """Step this rank's share and take over the others'."""
        Join.notify_join_context(self)
        return self._step(closure, **kwargs)

    def _step(self, closure=None, **kwargs):
        loss = None
        if self.optim is not None:
            for group, whole in zip(self.optim.param_groups, self._kept_groups, strict=True):
                for name in whole:
                    if name != "params":
                        group[name] = whole[name]
            loss = self.optim.step(closure, **kwargs) if closure else self.optim.step(**kwargs)
        elif closure is not None:
            loss = closure()
        self._exchange()
        return loss

    def _exchange(self):
        with no_grad():
            works = [
                collectives.broadcast(
                    parameter.detach(), group=self.process_group,
                    group_src=self._owner[id(parameter)], async_op=True,
                )
                for group in self.param_groups
                for parameter in group["params"]
            ]  # fmt: skip
            for work in works:
                work.wait()

    # -- state dicts ------------------------------------------------------------------------------

    def _index(self):
        every = [p for group in self.param_groups for p in group["params"]]
        return {id(p): number for number, p in enumerate(every)}

    def consolidate_state_dict(self, to: int = 0) -> None:
        """Gather the states of all ranks on rank `to`, whose :meth:`state_dict` has them then."""
        index = self._index()
        states = {} if self.optim is None else self.optim.state
        mine = {index[id(p)]: state for p, state in states.items()}
        every: list | None = [None] * self.world_size if self.rank == to else None
        objects.gather_object(mine, every, group=self.process_group, group_dst=to)
        self._all_state_dicts = every or []

    def state_dict(self) -> dict:
        """The state of all ranks, as that of the whole optimizer; after
        :meth:`consolidate_state_dict`, on the rank that it named."""
        if not self._all_state_dicts:
            raise RuntimeError(
                "Optimizer state has not been consolidated on this rank. Please call "
                f"`consolidate_state_dict(to={self.rank})` on all ranks beforehand if you meant "
                "to save the global state."
            )
        state = {}
        for part in self._all_state_dicts:
            state.update(part)
        index = self._index()
        groups = [
            {**{n: v for n, v in group.items() if n != "params"},
             "params": [index[id(p)] for p in group["params"]]}
            for group in self.param_groups
        ]  # fmt: skip
        return {"state": dict(sorted(state.items())), "param_groups": groups}

    def load_state_dict(self, state_dict) -> None:
        """Take over the state of a whole optimizer: this rank's share of it."""
        index = self._index()
        for group, saved in zip(self.param_groups, state_dict["param_groups"], strict=True):
            group.update({n: copy.deepcopy(v) for n, v in saved.items() if n != "params"})
        if self.optim is None:
            return
        own = [p for group in self.optim.param_groups for p in group["params"]]
        state = {
            number: copy.deepcopy(state_dict["state"][index[id(p)]])
            for number, p in enumerate(own)
            if index[id(p)] in state_dict["state"]
        }
        shape = self.optim.state_dict()
        self.optim.load_state_dict({"state": state, "param_groups": shape["param_groups"]})

    # -- uneven numbers of batches ----------------------------------------------------------------

    def join_hook(self, **kwargs) -> JoinHook:
        """A rank without batches steps its share still."""
        return _Shadow(self)


class _Shadow(JoinHook):
    def __init__(self, optimizer):
        self.optimizer = optimizer

    def main_hook(self):
        """One step of the others."""
        self.optimizer._step()

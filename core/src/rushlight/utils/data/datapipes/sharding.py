"""Parts of a pipe's items: for the ranks of a job, and for the workers of a loader."""

from __future__ import annotations

from enum import IntEnum

from rushlight.utils.data.datapipes.datapipe import IterDataPipe, functional_datapipe, sized

__all__ = ["SHARDING_PRIORITIES", "ShardingFilter"]


class SHARDING_PRIORITIES(IntEnum):  # noqa: N801 - PyTorch's name
    """Kinds of parts: those of later kinds are parts of those of earlier ones."""

    DEFAULT = 1
    DISTRIBUTED = 2
    MULTIPROCESSING = 3


@functional_datapipe("sharding_filter")
class ShardingFilter(IterDataPipe):
    """Every n-th item: the part of a rank and of a worker, which a loader tells by
    :meth:`apply_sharding`; all items until then.

    Args:
        source_datapipe: the pipe whose items are parted.
        sharding_group_filter: the only kind of parts to heed; None (default) heeds all.
    """

    def __init__(self, source_datapipe, sharding_group_filter=None):
        self.source_datapipe = source_datapipe
        self.sharding_group_filter = sharding_group_filter
        self.groups: dict = {}
        self.num_of_instances, self.instance_id = 1, 0

    def apply_sharding(
        self, num_of_instances: int, instance_id: int, sharding_group=SHARDING_PRIORITIES.DEFAULT
    ) -> None:
        """Take part `instance_id` of `num_of_instances`, in place of the former of this kind.

        Raises ValueError for a part that is not there, RuntimeError where the default kind meets
        another one.
        """
        if instance_id >= num_of_instances:
            raise ValueError(
                f"instance_id({instance_id}) should be smaller than "
                f"num_of_instances({num_of_instances})"
            )
        default = SHARDING_PRIORITIES.DEFAULT
        if self.groups and (sharding_group == default) != (default in self.groups):
            raise RuntimeError("ShardingFilter cannot mix DEFAULT and non DEFAULT groups")
        self.groups[sharding_group] = num_of_instances, instance_id
        self._join_groups()

    def _join_groups(self):
        self.num_of_instances, self.instance_id = 1, 0
        for group, (count, mine) in sorted(self.groups.items(), reverse=True):
            if self.sharding_group_filter in (None, group):
                self.instance_id += self.num_of_instances * mine
                self.num_of_instances *= count

    def __iter__(self):
        for i, item in enumerate(self.source_datapipe):
            if i % self.num_of_instances == self.instance_id:
                yield item

    def __len__(self):
        length = sized("ShardingFilter", self.source_datapipe)
        return length // self.num_of_instances + (self.instance_id < length % self.num_of_instances)

"""The timeouts that hold where none is given."""

from rushlight.distributed.groups import default_pg_timeout

default_pg_nccl_timeout = None

__all__ = ["default_pg_nccl_timeout", "default_pg_timeout"]

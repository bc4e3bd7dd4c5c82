"""The names of ways of communicating. MPI serves the CPU, under each name for it."""

from __future__ import annotations

from rushlight.machine.mpi import startup


class Backend(str):
    """The name of a backend in lower case, or several as ``"cpu:gloo,cuda:nccl"``.

    ``config`` says which backend serves which device.
    """

    UNDEFINED = "undefined"
    GLOO = "gloo"
    NCCL = "nccl"
    UCC = "ucc"
    MPI = "mpi"
    XCCL = "xccl"
    backend_list = [UNDEFINED, GLOO, NCCL, XCCL, UCC, MPI]
    default_device_backend_map = {"cpu": GLOO, "cuda": NCCL, "xpu": XCCL, "mps": GLOO}
    config: str

    def __new__(cls, name: str):
        """The name in lower case."""
        if not isinstance(name, str):
            raise ValueError(f"Backend name must be a string, but got: {name}")
        made = super().__new__(cls, name.lower())
        made.config = made if ":" in made else f"cpu:{made},cuda:{made}"
        return made

    @classmethod
    def register_backend(cls, name, func, extended_api=False, devices=None):
        """Not available: MPI carries everything."""
        raise NotImplementedError(
            f"Backend.register_backend({name!r}): backends of one's own are not available; "
            "use 'gloo' or 'mpi', which MPI serves"
        )


def chosen(name: str | None) -> Backend:
    """The backend for `init_process_group`'s argument; raises if it cannot serve the CPU."""
    backend = Backend(name or Backend.GLOO)
    by_device = dict(part.split(":", 1) for part in backend.split(",")) if ":" in backend else {}
    served = by_device.get("cpu", "gloo" if by_device else backend)
    if served not in ("gloo", "mpi"):
        if served in ("nccl", "ucc", "xccl"):
            raise RuntimeError(
                f"Distributed package doesn't have {served.upper()} built in: processes exchange "
                "tensors of the CPU; use backend='gloo' (or 'cpu:gloo,cuda:nccl')"
            )
        raise ValueError(f"Invalid backend: {name!r}; expected 'gloo' or 'mpi'")
    return backend


def is_available() -> bool:
    """Whether programs can run in several processes: always; those need ``rushlight[mpi]``."""
    return True


def is_gloo_available() -> bool:
    """Whether the backend ``"gloo"``, which MPI serves, can be used."""
    return True


def is_mpi_available() -> bool:
    """Whether mpi4py is there, which several processes need."""
    return startup.is_installed()


def is_nccl_available() -> bool:
    """Whether NCCL can be used: not in this version."""
    return False


def is_ucc_available() -> bool:
    """Whether UCC can be used: never."""
    return False


is_xccl_available = is_ucc_available


def is_backend_available(backend: str) -> bool:
    """Whether a backend can be used."""
    return backend.lower() == "gloo" or (backend.lower() == "mpi" and is_mpi_available())

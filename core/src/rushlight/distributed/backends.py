"""The names of ways of communicating. MPI serves the CPU, under each name for it; NCCL GPUs."""

from __future__ import annotations

from rushlight.machine.cuda import runtime
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
    """The backend for `init_process_group`'s argument; raises if it cannot be served."""
    backend = Backend(name or Backend.GLOO)
    if not name and is_nccl_available():
        backend.config = "cpu:gloo,cuda:nccl"
    elif backend == "nccl":
        backend.config = "cuda:nccl"
    for part in backend.config.split(","):
        device, _, served = part.partition(":")
        _check_served(name, device, served)
    return backend


def _check_served(name, device, served):
    if served in ("ucc", "xccl"):
        raise RuntimeError(
            f"Distributed package doesn't have {served.upper()} built in; use 'gloo' for tensors "
            "of the CPU, 'nccl' for those of GPUs"
        )
    if served not in ("gloo", "mpi", "nccl") or (device, served) == ("cpu", "nccl"):
        raise ValueError(f"Invalid backend: {name!r}; expected 'gloo', 'mpi' or 'nccl'")
    # Named beside one for the CPU, it is asked for when a tensor of a GPU comes.
    if served == "nccl" and ":" not in str(name) and not is_nccl_available():
        raise RuntimeError(
            f"Distributed package doesn't have NCCL built in: {_why_no_nccl()}; use backend='gloo' "
            "for tensors of the CPU"
        )


def _why_no_nccl() -> str | None:
    if not runtime.available():
        return runtime.why_unavailable()
    try:
        runtime.current().nccl()
    except ImportError as error:
        return str(error)
    return None


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
    """Whether NCCL can be used: CUDA and CuPy's binding of NCCL are there."""
    return _why_no_nccl() is None


def is_ucc_available() -> bool:
    """Whether UCC can be used: never."""
    return False


is_xccl_available = is_ucc_available


def is_backend_available(backend: str) -> bool:
    """Whether a backend can be used."""
    known = {"gloo": is_gloo_available, "mpi": is_mpi_available, "nccl": is_nccl_available}
    return backend.lower() in known and known[backend.lower()]()

"""Starting MPI in this process: as a rank of a job of our own, or of a launcher's.

MPI starts once a process. ``MPI_Init`` blocks until all ranks have called it and mpi4py calls it
without letting other Python threads run, the job's server among them: it is called through ctypes.
Measured with MPICH 5.0.2; Open MPI's ranks are started by its own ``mpiexec``.
"""

from __future__ import annotations

import atexit
import ctypes
import glob
import importlib
import importlib.util
import os
import signal
import socket
import sys
from typing import Any

EXTRA = (
    "needs mpi4py and an MPI library: pip install 'rushlight[mpi]' (MPICH), or mpi4py beside the "
    "MPI of your site; one process (world_size=1) needs neither"
)
_LAUNCHERS = ("PMI_", "PMIX_", "OMPI_", "HYDRA_")
# Rank, size and rank on the host as launchers give them: MPICH and Intel, Open MPI.
_VARIABLES = (
    ("PMI_RANK", "PMI_SIZE", "MPI_LOCALRANKID"),
    ("OMPI_COMM_WORLD_RANK", "OMPI_COMM_WORLD_SIZE", "OMPI_COMM_WORLD_LOCAL_RANK"),
)
# Set by ``rushlight launch --mpiexec`` for a job that it looks after: token, host_name() of the
# launcher, port and addresses of its server, joined by @.
SERVER = "RUSHLIGHT_JOB_SERVER"
_DAEMONS = ("prted", "orted", "hydra_pmi_proxy")
_PATIENCE = 10.0  # seconds for each of the addresses
# The variables are removed when MPI has started; programs ask later, and make groups again.
_remembered: dict[str, Any] = {}


def is_installed() -> bool:
    """Whether mpi4py can be imported; it is not."""
    return importlib.util.find_spec("mpi4py") is not None


def load():
    """The module ``mpi4py.MPI``, with MPI not started.

    Raises ImportError that names the extra where it is missing.
    """
    try:
        mpi4py = importlib.import_module("mpi4py")
    except ImportError as error:
        raise ImportError(f"a process group of several processes {EXTRA}") from error
    if "mpi4py.MPI" not in sys.modules:
        mpi4py.rc.initialize = mpi4py.rc.finalize = False
    try:
        return importlib.import_module("mpi4py.MPI")
    except (ImportError, RuntimeError) as error:
        raise ImportError(f"mpi4py finds no MPI library ({error}); it {EXTRA}") from error


def launched() -> tuple[int, int] | None:
    """Rank and size that ``mpiexec`` (or what speaks its protocol) gave this process, or None."""
    if _remembered and _remembered["process"] == os.getpid():
        return _remembered["launched"]
    for rank, size, _ in _VARIABLES:
        if rank in os.environ and size in os.environ:
            return int(os.environ[rank]), int(os.environ[size])
    return None


def local_rank() -> int | None:
    """The rank on its host that ``mpiexec`` gave this process, or None."""
    if _remembered:
        return _remembered["local_rank"]
    for rank, size, local in _VARIABLES:
        if all(name in os.environ for name in (rank, size, local)):
            return int(os.environ[local])
    return None


def host_name() -> str:
    """A name that processes have in common exactly if they can share memory."""
    try:
        with open("/proc/sys/kernel/random/boot_id") as file:
            boot = file.read().strip()
        return f"{boot}-{os.stat('/dev/shm').st_dev}"
    except OSError:
        return socket.gethostname()


def _initialize(MPI):
    # The library that mpi4py has loaded: a second copy would be a second MPI.
    path = next(
        path
        for path in _mapped_files()
        if os.path.basename(path).startswith(("libmpi.so", "libmpi_abi.so"))
    )
    library = ctypes.CDLL(path)
    provided = ctypes.c_int()
    code = library.MPI_Init_thread(None, None, MPI.THREAD_MULTIPLE, ctypes.byref(provided))
    if code or provided.value != MPI.THREAD_MULTIPLE:
        raise RuntimeError(
            f"MPI_Init_thread gave code {code} and thread level {provided.value}; expected 0 and "
            f"MPI_THREAD_MULTIPLE ({MPI.THREAD_MULTIPLE})"
        )


def _mapped_files():
    with open("/proc/self/maps") as file:
        return {line.split(maxsplit=5)[-1].strip() for line in file if "/" in line}


def unlink_shared_memory() -> None:
    """Remove the names of MPICH's shared memory: every rank has it by now, and a job that is
    killed would leave it behind."""
    for path in _mapped_files() & set(glob.glob("/dev/shm/mpich_shm_*")):
        try:
            os.unlink(path)
        except FileNotFoundError:
            continue


def connected_server() -> tuple[tuple[str, int], str] | None:
    """The address and the token of the launcher's server, where ranks of ``mpiexec`` have one.

    Raises:
        RuntimeError: this process reaches none of the launcher's addresses.
    """
    told = os.environ.pop(SERVER, None)  # child processes are no ranks
    if told is None:
        return None
    token, host, port, addresses = told.split("@")
    reasons = []
    for each in ["127.0.0.1"] if host == host_name() else addresses.split(","):
        try:
            with socket.create_connection((each, int(port)), timeout=_PATIENCE):
                return (each, int(port)), token
        except OSError as error:
            reasons.append(f"{each}: {error}")
    raise RuntimeError(
        f"rushlight launch --mpiexec waits at port {port} of its machine, which cannot be reached "
        f"from here ({'; '.join(reasons)}): give it an address that can by --master-addr"
    )


def end_daemon() -> None:
    """End the launcher's daemon on this host, which is cut off from the launcher and would wait for
    it until the kernel gives up the connection, a quarter of an hour or more."""
    try:
        with open(f"/proc/{os.getppid()}/comm") as file:
            if file.read().strip() in _DAEMONS:
                os.kill(os.getppid(), signal.SIGTERM)
    except OSError:  # it has ended
        pass


def check_can_join(MPI) -> None:
    """Raise unless this MPI is one whose ranks may be started by others: Open MPI's are not."""
    version = MPI.Get_library_version()
    if "MPICH" not in version and "Intel" not in version:
        raise RuntimeError(
            f"the MPI library here is {version.splitlines()[0]}, whose processes its own mpiexec "
            "starts: use mpiexec with init_process_group('mpi'), or MPICH (pip install "
            "'rushlight[mpi]' where no other MPI is installed)"
        )


def join(rank: int, size: int, address, token: str):
    """Make this process a rank of the job served at `address`; returns ``mpi4py.MPI``."""
    MPI = load()
    with socket.create_connection(address, timeout=30) as connection:
        connection.settimeout(None)
        connection.sendall(f"{token} {rank} pmi {host_name()}\n".encode())
        descriptor = os.dup(connection.fileno())
    os.set_inheritable(descriptor, False)
    for name in [name for name in os.environ if name.startswith(_LAUNCHERS)]:
        del os.environ[name]
    ours = {"PMI_FD": str(descriptor), "PMI_RANK": str(rank), "PMI_SIZE": str(size)}
    os.environ.update(ours)
    try:
        _initialize(MPI)
    finally:
        for name in ours:  # child processes are no ranks
            os.environ.pop(name, None)
    atexit.register(_answer_at_exit, descriptor)
    return MPI


def _answer_at_exit(descriptor):
    """Leave MPICH an answer for the goodbye that it says in C, when Python's threads are gone."""
    ours, theirs = socket.socketpair()
    theirs.sendall(b"cmd=finalize_ack rc=0\n")
    os.dup2(ours.fileno(), descriptor, inheritable=False)
    ours.detach()
    theirs.detach()  # both stay open until the process ends


def join_launched():
    """Start MPI as the launcher's variables say; returns ``mpi4py.MPI``.

    RuntimeError where MPI found another number of processes than the launcher said.
    """
    MPI = load()
    said = launched()
    _remembered.update(local_rank=local_rank(), launched=said, process=os.getpid())
    if not MPI.Is_initialized():
        MPI.Init_thread(MPI.THREAD_MULTIPLE)
    if said is not None and said[1] != MPI.COMM_WORLD.Get_size():
        unlink_shared_memory()
        raise RuntimeError(
            f"mpiexec started {said[1]} processes, of which MPI sees {MPI.COMM_WORLD.Get_size()}: "
            f"mpi4py uses {MPI.Get_library_version().splitlines()[0]}; expected the MPI library "
            "that this mpiexec belongs to"
        )
    for name in [name for name in os.environ if name.startswith(_LAUNCHERS)]:
        del os.environ[name]  # child processes are no ranks
    return MPI

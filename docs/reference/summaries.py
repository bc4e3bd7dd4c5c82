"""What the reference says of names whose values cannot have a docstring of ours: those of Python's
multiprocessing that have none, and types made of other types."""

from __future__ import annotations

SUMMARIES = {
    "rushlight.multiprocessing.AuthenticationError": (
        "The other end of a connection did not know the secret: raised by `Listener.accept` and by "
        "`Client` when the `authkey` of the two differs. A `ProcessError`."
    ),
    "rushlight.multiprocessing.BufferTooShort": (
        "A message does not fit into the buffer given to `Connection.recv_bytes_into`. The message "
        "is not lost: `error.args[0]` is its bytes. A `ProcessError`."
    ),
    "rushlight.multiprocessing.ProcessError": (
        "The base of the errors that multiprocessing itself raises: `AuthenticationError`, "
        "`BufferTooShort` and `TimeoutError`."
    ),
    "rushlight.multiprocessing.TimeoutError": (
        "A result was not there in time: raised by `AsyncResult.get(timeout)` of a pool. A "
        "`ProcessError`, and not Python's built-in `TimeoutError`."
    ),
    "rushlight.multiprocessing.get_all_start_methods": (
        "The ways in which this system can start a process, the default first: of `'fork'` (a copy "
        "of this process), `'spawn'` (a new interpreter, which imports the program) and "
        "`'forkserver'` (copies of a server that was started once)."
    ),
    "rushlight.multiprocessing.get_context": (
        "An object with the functions and classes of this module that start processes in the way "
        "`method`, whatever the default is: for libraries, and for one program that needs both "
        "ways. With None, in the default way, which is fixed from then on.\n\n"
        "Raises ValueError where the system has no way of that name."
    ),
    "rushlight.multiprocessing.get_start_method": (
        "The name of the way in which processes start. Where none was set, the default becomes "
        "fixed; with `allow_none` nothing is fixed and the answer is None."
    ),
    "rushlight.multiprocessing.set_start_method": (
        "Choose how processes start, once and before any has: `'fork'`, `'spawn'` or "
        "`'forkserver'`. CUDA cannot be used in a process started by `'fork'` after the parent has "
        "used it.\n\n"
        "Raises RuntimeError where the way is fixed already, unless `force`, and ValueError where "
        "the system has no way of that name."
    ),
    "rushlight_audio.models.Hypothesis": (
        "The type of one result of `RNNTBeamSearch`: a tuple of the symbols as ints, the blank "
        "first; the predictor's encoding of the last one, a tensor; the predictor's state, one "
        "list of tensors a layer; and the score, the logarithm of the probability as a float."
    ),
}

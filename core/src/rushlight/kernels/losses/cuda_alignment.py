"""Transducers and the best CTC alignment on GPUs: the functions of
:mod:`rushlight.kernels.losses.transducer` and :mod:`rushlight.kernels.losses.best_alignment`.

Labels and lengths are arrays of the host, which checked them.
"""

from __future__ import annotations

from rushlight.compiler.cuda.device_array import from_host
from rushlight.kernels.launch.cuda import empty, launch
from rushlight.machine import np
from rushlight.machine.cuda import sources

__all__ = ["best_paths", "transducer"]

_FLOAT64, _INT64, _BYTE = map(np.dtype, (np.float64, np.int64, np.uint8))


def transducer(scores, labels, input_lengths, target_lengths, blank, clamp, fused):
    """Costs (N,) of scores (N, T, U + 1, C), and their derivative of that shape."""
    x, device = scores.contiguous(), scores.device
    samples, steps, nodes, classes = x.shape
    costs, found = empty((samples,), x.dtype, device), empty(x.shape, x.dtype, device)
    if not x.size:
        return costs, found
    labels, inputs, lengths = (
        from_host(each, device) for each in (labels, input_lengths, target_lengths)
    )
    count = samples * steps * nodes
    norms, blanks, given, alpha, beta = (empty((count,), _FLOAT64, device) for _ in range(5))

    def run(name, grid, block, *arguments):
        addresses = [getattr(each, "address", each) for each in arguments]
        launch(sources.kernel("alignment", name, T=x.dtype), grid, block, addresses, device)

    how, warps = (steps, nodes, classes, blank, int(fused)), (-(-count // 4), (32, 4, 1))
    run("transducer_nodes", *warps, x, labels, lengths, norms, blanks, given, count, *how)
    run("transducer_lattice", samples, 128, inputs, lengths, blanks, given, alpha, beta, costs,
        steps, nodes)  # fmt: skip
    run("transducer_derivative", *warps, x, labels, inputs, lengths, norms, blanks, given, found,
        count, *how, np.float64(clamp))  # fmt: skip
    return costs, found


def best_paths(scores, labels, input_lengths, target_lengths, blank):
    """The class of each step (N, T) on the best path of scores (N, T, C)."""
    x, device = scores.contiguous(), scores.device
    samples, steps, classes = x.shape
    paths, columns = empty((samples, steps), _INT64, device), labels.shape[1]
    if not x.size:
        return paths
    width = 2 * columns + 1
    given = [from_host(each, device) for each in (labels, input_lengths, target_lengths)]
    rows = empty((samples, 2, width), sources.compute_dtype(x.dtype), device)
    origins = empty((samples, steps, width), _BYTE, device)
    arrays = [each.address for each in (x, *given, paths, rows, origins)]
    kernel = sources.kernel("alignment", "best_paths", T=x.dtype)
    launch(kernel, samples, 256, (*arrays, steps, classes, columns, width, blank), device)
    return paths

"""Layers that bitsandbytes quantizes under Lightning's plug-in: `python quantized.py` writes
`quantized.json`."""

from __future__ import annotations

import json
from pathlib import Path

MODES = ("nf4", "nf4-dq", "fp4", "fp4-dq", "int8")
SIZES = [(48, 20), (100, 7), (640, 128)]  # the last has more than 256 blocks, others part of one


def waves(rl, shape, step):
    """Numbers of a shape that float16 holds exactly, so that all frameworks have the same."""
    count = 1
    for each in shape:
        count *= each
    return (((rl.arange(count) * step) % 251 - 125).float() / 256).reshape(shape)


def network(rl, size):
    """A layer that is quantized and one that is not."""
    nn = rl.nn
    net = nn.Sequential(nn.Linear(*size), nn.Tanh(), nn.Linear(size[1], 3))
    with rl.no_grad():
        for number, value in enumerate(net.parameters()):
            value.copy_(waves(rl, tuple(value.shape), 37 + 10 * number))
    return net


def inputs(rl, size):
    """Rows with an outlier in two columns."""
    x = waves(rl, (4, size[0]), 19)
    x[1, 3], x[2, 5] = 7.5, -6.25
    return x


def answers(rl, plugin, mode, size):
    """What the quantized layer gives, and the gradients of its input."""
    dtype = rl.float16 if mode == "int8" else rl.float32
    net = (
        plugin(mode, dtype=dtype, ignore_modules={"2"}).convert_module(network(rl, size)).to("cpu")
    )
    net[0].support_avx512bf16_for_cpu = False  # bitsandbytes' own way of rounding there
    net.eval()  # in training, bitsandbytes brings no inputs to int8 on a CPU, only on a GPU
    x = plugin(mode, dtype=dtype).convert_input(inputs(rl, size)).requires_grad_()
    out = net[0](x)
    out.float().sum().backward()
    kinds = [isinstance(net[2], type(net[0])), isinstance(net[0], rl.nn.Linear)]
    return {
        "out": out.float()[:, :20].tolist(), "grad": x.grad.float().tolist()[0], "kinds": kinds,
        "bytes": net[0].weight.numel() * net[0].weight.element_size(),
        "sum": int(net[0].weight.detach().long().sum()),
    }  # fmt: skip


# (rows, inputs, outputs): with inputs below the outliers and with two above.
LEARNING = [((5, 48, 20), False), ((9, 100, 7), False), ((5, 48, 20), True)]


def learning(rl, product, shape, outliers):
    """Output and gradients of a product in int8 whose weights learn."""
    count, inner, outer = shape
    x = waves(rl, (count, inner), 19)
    if outliers:
        x[1, 3], x[2, 5] = 7.5, -6.25
    weight = waves(rl, (outer, inner), 37).requires_grad_()
    x = x.half().requires_grad_()
    out = product(x, weight)
    out.backward(waves(rl, (count, outer), 53).half())
    return {
        "out": out.float().tolist(), "x": x.grad.float().tolist(), "weight": weight.grad.tolist(),
    }  # fmt: skip


def both_ways(A, threshold=0.0):
    """Rows and columns in int8 with their largest values, in float16 as on GPUs."""
    import torch

    rows, scales, columns = torch.ops.bitsandbytes.int8_vectorwise_quant(A, threshold=threshold)
    kept = A.masked_fill(A.abs() >= threshold, 0) if threshold > 0 else A
    largest = kept.abs().amax(0).float()
    return rows, (kept * 127.0 / largest).round().to(torch.int8), scales, largest, columns


def theirs(x, weight):
    """bitsandbytes' product on GPUs, which a CPU can compute too."""
    import torch
    from bitsandbytes.autograd._functions import MatMul8bitLt, MatmulLtState

    if not hasattr(theirs, "kernel"):
        # Columns are quantized by whole tensors on GPUs as well; on a CPU nobody asks for it.
        theirs.kernel = torch.library.register_kernel(
            "bitsandbytes::int8_double_quant", "cpu", both_ways
        )
    state = MatmulLtState()
    state.threshold, state.has_fp16_weights, state.is_training = 6.0, True, True
    return MatMul8bitLt.apply(x, weight, None, None, state)


def main():
    """Record."""
    import torch
    from lightning.pytorch.plugins import BitsandbytesPrecision

    found = {
        mode: [answers(torch, BitsandbytesPrecision, mode, size) for size in SIZES]
        for mode in MODES
    }
    found["learning"] = [learning(torch, theirs, *each) for each in LEARNING]
    for rows in found.values():
        for row in rows:
            for name in {"out", "grad", "x"} & set(row):
                row[name] = json.loads(
                    json.dumps(row[name]), parse_float=lambda text: float(f"{float(text):.6g}")
                )
    Path(__file__).with_suffix(".json").write_text(json.dumps(found) + "\n")


if __name__ == "__main__":
    main()

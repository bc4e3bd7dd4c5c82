"""Recurrent layers."""

from __future__ import annotations

import rushlight as rl
from rushlight.onnx._operators.registry import operator

_FUNCTIONS = {
    "Sigmoid": lambda x, a, b: rl.sigmoid(x),
    "Tanh": lambda x, a, b: rl.tanh(x),
    "Relu": lambda x, a, b: rl.relu(x),
    "Affine": lambda x, a, b: (1.0 if a is None else a) * x + (0.0 if b is None else b),
    "LeakyRelu": lambda x, a, b: rl.nn.functional.leaky_relu(x, 0.01 if a is None else a),
    "ThresholdedRelu": lambda x, a, b: rl.where(x > (1.0 if a is None else a), x, rl.zeros_like(x)),
    "ScaledTanh": lambda x, a, b: a * rl.tanh(b * x),
    "HardSigmoid": lambda x, a, b: (
        (0.2 if a is None else a) * x + (0.5 if b is None else b)
    ).clamp(0, 1),
    "Elu": lambda x, a, b: rl.nn.functional.elu(x, 1.0 if a is None else a),
    "Softsign": lambda x, a, b: x / (1 + x.abs()),
    "Softplus": lambda x, a, b: rl.nn.functional.softplus(x),
}


def _activations(names, alphas, betas, clip):
    alphas, betas = list(alphas or ()), list(betas or ())
    found = []
    for number, name in enumerate(names):
        name = next(known for known in _FUNCTIONS if known.lower() == name.lower())
        a = alphas[number] if number < len(alphas) else None
        b = betas[number] if number < len(betas) else None

        def apply(x, function=_FUNCTIONS[name], a=a, b=b):
            return function(x if clip is None else x.clamp(-clip, clip), a, b)

        found.append(apply)
    return found


def _run(step, x, lengths, states, reverse):
    """One direction over time: all hidden states and the last ones."""
    times = range(len(x) - 1, -1, -1) if reverse else range(len(x))
    outputs = [None] * len(x)
    for time in times:
        new = step(x[time], states)
        if lengths is not None:
            seen = (time < lengths)[:, None]
            outputs[time] = rl.where(seen, new[0], rl.zeros_like(new[0]))
            new = tuple(rl.where(seen, a, b) for a, b in zip(new, states, strict=True))
        else:
            outputs[time] = new[0]
        states = new
    return rl.stack(outputs), states


def _layer(make, x, weights, lengths, firsts, direction, layout, outputs):
    """All directions: (time, directions, batch, hidden) and as many last states as are asked."""
    w, r, b = weights
    gates = r.shape[1] // r.shape[2]
    ways, size = r.shape[0], r.shape[2]
    if layout:
        x = x.transpose(0, 1)
        firsts = [None if v is None else v.transpose(0, 1) for v in firsts]
    batch = x.shape[1]
    found, finals = [], []
    for way in range(ways):
        bias = x.new_zeros(2 * gates * size) if b is None else b[way]
        states = tuple(x.new_zeros(batch, size) if v is None else v[way] for v in firsts)
        reverse = way == 1 or direction == "reverse"
        step = make(way, w[way], r[way], bias[: gates * size], bias[gates * size :])
        out, last = _run(step, x, lengths, states, reverse)
        found.append(out)
        finals.append(last)
    whole = rl.stack(found, 1)
    states = [rl.stack([one[n] for one in finals]) for n in range(len(firsts))]
    if layout:
        whole = whole.permute(2, 0, 1, 3)
        states = [v.transpose(0, 1) for v in states]
    results = (whole, *states)
    return results[:outputs] if outputs > 1 else whole


def _named(activations, default, ways):
    return list(activations or default * ways)


@operator()
def RNN(
    x, w, r, b=None, sequence_lens=None, initial_h=None, activation_alpha=None,
    activation_beta=None, activations=None, clip=None, direction="forward", hidden_size=None,
    layout=0, outputs=1,
):  # fmt: skip
    names = _named(activations, ["Tanh"], r.shape[0])
    act = _activations(names, activation_alpha, activation_beta, clip)

    def make(way, w, r, bw, br):
        return lambda x, s: (act[way](x @ w.t() + s[0] @ r.t() + bw + br),)

    return _layer(make, x, (w, r, b), sequence_lens, [initial_h], direction, layout, outputs)


@operator()
def GRU(
    x, w, r, b=None, sequence_lens=None, initial_h=None, activation_alpha=None,
    activation_beta=None, activations=None, clip=None, direction="forward", hidden_size=None,
    layout=0, linear_before_reset=0, outputs=1,
):  # fmt: skip
    names = _named(activations, ["Sigmoid", "Tanh"], r.shape[0])
    act = _activations(names, activation_alpha, activation_beta, clip)

    def make(way, w, r, bw, br):
        f, g = act[2 * way : 2 * way + 2]
        rz, rr, rh = r.chunk(3)
        bz, brr, bh = br.chunk(3)

        def step(x, s):
            (h,) = s
            gz, gr, gh = (x @ w.t() + bw).chunk(3, 1)
            z, reset = f(gz + h @ rz.t() + bz), f(gr + h @ rr.t() + brr)
            inner = reset * (h @ rh.t() + bh) if linear_before_reset else (reset * h) @ rh.t() + bh
            return ((1 - z) * g(gh + inner) + z * h,)

        return step

    return _layer(make, x, (w, r, b), sequence_lens, [initial_h], direction, layout, outputs)


@operator()
def LSTM(
    x, w, r, b=None, sequence_lens=None, initial_h=None, initial_c=None, p=None,
    activation_alpha=None, activation_beta=None, activations=None, clip=None,
    direction="forward", hidden_size=None, input_forget=0, layout=0, outputs=1,
):  # fmt: skip
    names = _named(activations, ["Sigmoid", "Tanh", "Tanh"], r.shape[0])
    act = _activations(names, activation_alpha, activation_beta, clip)

    def make(way, w, r, bw, br):
        f, g, h = act[3 * way : 3 * way + 3]
        zeros = w.new_zeros(r.shape[1])
        pi, po, pf = (zeros, zeros, zeros) if p is None else p[way].chunk(3)

        def step(x, s):
            hidden, cell = s
            i, o, forget, c = (x @ w.t() + hidden @ r.t() + bw + br).chunk(4, 1)
            i = f(i + pi * cell)
            forget = 1 - i if input_forget else f(forget + pf * cell)
            cell = forget * cell + i * g(c)
            return f(o + po * cell) * h(cell), cell

        return step

    firsts = [initial_h, initial_c]
    return _layer(make, x, (w, r, b), sequence_lens, firsts, direction, layout, outputs)

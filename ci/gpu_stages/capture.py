"""A captured training step gives the bits of an eager one, twenty steps long."""

from __future__ import annotations

import networks
from stage import Stage

import rushlight

STEPS = 20


def trained(name, smoke, captured):
    """Parameters after so many steps on one batch, without dropout."""
    rushlight.manual_seed(0)
    model, (shape,), classes = networks.ALL[name](rushlight, smoke)
    model = model.to("cuda").eval()
    x = rushlight.randn(*shape).to("cuda")
    target = rushlight.randint(0, classes, (shape[0],)).to("cuda")
    if name.startswith("GPT"):
        x = rushlight.randint(0, classes, shape).to("cuda")
        target = rushlight.randint(0, classes, (shape[0] * shape[1],)).to("cuda")
    optimizer = rushlight.optim.AdamW(
        model.parameters(), lr=1e-4, foreach=True, capturable=captured
    )

    def step():
        optimizer.zero_grad(set_to_none=True)
        rushlight.nn.functional.cross_entropy(model(x), target).backward()
        optimizer.step()

    for _ in range(3):
        step()
    if captured:
        graph = rushlight.cuda.CUDAGraph()
        with rushlight.cuda.graph(graph):
            step()
        step = graph.replay
    for _ in range(2 if smoke else STEPS):
        step()
    return [p.detach().cpu() for p in model.parameters()]


def compared(name, smoke) -> dict:
    """Largest difference; float32 bit for bit except for Adam's powers, computed on the device."""
    eager, captured = trained(name, smoke, False), trained(name, smoke, True)
    pairs = list(zip(eager, captured, strict=True))
    worst = max(float((a - b).abs().max()) for a, b in pairs)
    size = max(float(a.abs().max()) for a in eager)
    if not worst <= 1e-5 * size:
        raise ValueError(f"parameters differ by {worst:.3g} (largest: {size:.3g})")
    equal = all(bool((a == b).all()) for a, b in pairs)
    return {"equal_bits": equal, "largest_difference": worst}


def main() -> None:
    """All rows."""
    stage = Stage(__doc__)
    for name in networks.ALL:
        if name == "MNIST CNN":
            continue  # dropout draws its numbers elsewhere
        stage.attempt(name, lambda n=name: compared(n, stage.smoke))
    stage.finish()


if __name__ == "__main__":
    main()

"""Whole training steps and inference, ours against PyTorch, in separate processes in turn.

python bench/steps.py [--pairs 15] [--seconds 1] [--variants LIST] [--name steps] [MODEL ...]

Every process times one step of one model and prints its first losses, which must agree between the
two libraries (same seed, same weights). Variants of PyTorch: `fused` optimizers, `channels_last`
for images, `compile`, named with commas between them. Writes bench/results/NAME.json, NAME.md and
NAME.png; a second run prints what fell against the stored table.
"""

from __future__ import annotations

import argparse
import importlib
import json
import math
import subprocess
import sys
import warnings
from pathlib import Path

FOLDER = Path(__file__).parent
MODELS = {
    "MLP": "dense.mlp",
    "autoencoder": "dense.autoencoder",
    "EmbeddingBag classifier": "dense.embedding_bag_classifier",
    "DQN": "dense.deep_q_network",
    "matrix factorization": "dense.matrix_factorization",
    "LeNet": "images.lenet",
    "CIFAR CNN": "images.cifar_cnn",
    "ResNet-18, 32 x 32": "images.resnet18_cifar",
    "ResNet-18, 224 x 224": "images.resnet18",
    "ResNet-50 inference": "images.resnet50_inference",
    "MobileNetV2": "images.mobilenet_v2",
    "U-Net": "images.unet",
    "ViT-tiny": "images.vit_tiny",
    "DCGAN": "adversarial.dcgan",
    "GPT 0.1 M": "sequences.gpt_small",
    "GPT 3 M": "sequences.gpt_medium",
    "GPT 11 M": "sequences.gpt_large",
    "translation": "sequences.translation",
    "BERT inference": "sequences.bert_inference",
    "LSTM language model": "sequences.lstm_language_model",
    "GRU classifier": "sequences.gru_classifier",
}
# What is timed: a training step of each model, and its forward pass and loss in eval mode.
CASES = [*MODELS, *(f"{name}, inference" for name in MODELS if not name.endswith("inference"))]
VARIANTS = ("fused", "channels_last", "compile")
VARIANTS_EVERY = 3  # pairs: their processes take turns with some of the others
LOSSES = 2  # that are compared, before and after the first step: rounding grows at every step
TOLERANCE = 2e-3  # relative; float32 sums in another order


# ---- one process ---------------------------------------------------------------------------------
def prepared(library, name, variant):
    """``step() -> loss`` of a model, an optimizer step included where it trains."""
    trained = name.removesuffix(", inference")
    module, function = MODELS[trained].split(".")
    library.manual_seed(0)
    model, loss_of = getattr(importlib.import_module(f"models.{module}"), function)(library)
    if trained != name:
        return evaluation(library, model, loss_of, variant)
    options = {"fused": True} if variant == "fused" else {}
    if name == "DCGAN":
        for part in model:
            transform(library, part, variant)
        optimizers = [library.optim.Adam(m.parameters(), 2e-4, (0.5, 0.999), **options)
                      for m in model]  # fmt: skip
        return lambda: loss_of(optimizers)
    transform(library, model, variant)
    if name.endswith("inference"):
        return loss_of
    optimizer = library.optim.Adam(model.parameters(), **options)

    def step():
        optimizer.zero_grad()
        loss = loss_of()
        loss.backward()
        optimizer.step()
        return loss

    return step


def evaluation(library, model, loss_of, variant):
    """``forward() -> loss`` in eval mode, without a graph: of generators the images' mean."""
    if isinstance(model, tuple):
        _, model = model
        noise = library.randn(16, 64, 1, 1)

        def loss_of():
            return model(noise).mean()

    model.eval()
    transform(library, model, variant)

    def forward():
        with library.inference_mode():
            return loss_of()

    return forward


def transform(library, model, variant):
    """Make PyTorch's variant of a model."""
    if variant == "channels_last":
        model.to(memory_format=library.channels_last)
    if variant == "compile":
        model.compile()


def one_process(name, library, variant, seconds):
    """Print the time, the first losses and the process's peak of memory, as JSON."""
    from cases import measure

    warnings.simplefilter("ignore")
    package = importlib.import_module(library)
    importlib.import_module(f"{library}.optim")
    step = prepared(package, name, variant)
    losses = [float(step().detach()) for _ in range(LOSSES)]
    found = {"time": measure(step, seconds), "losses": losses}
    found["memory"] = peak_memory()
    print(json.dumps(found))


def peak_memory():
    """The most memory this process has held, in KB: libraries, weights, values of a step."""
    status = Path("/proc/self/status").read_text()
    return int(status.partition("VmHWM:")[2].split()[0])


# ---- all of them ---------------------------------------------------------------------------------
def run(name, library, variant, seconds):
    """The record of one process; None where a variant of PyTorch does not run."""
    command = [sys.executable, __file__, "--one", name, library, variant, "--seconds", str(seconds)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode and variant == "default":
        raise SystemExit(f"{name} on {library} failed:\n{done.stderr}")
    return json.loads(done.stdout.splitlines()[-1]) if not done.returncode else None


def applicable(name, variants):
    """Of PyTorch's other ways of running a model those that a model has."""
    inapt = set()
    if not MODELS[name.removesuffix(", inference")].startswith("images"):
        inapt.add("channels_last")
    if name.endswith("inference"):
        inapt.add("fused")
    return [variant for variant in variants if variant not in inapt]


def compared(name, pairs, seconds, variants=()):
    """The row of one model: times of alternating processes, losses checked."""
    times = {"rushlight": [], "torch": []}
    losses, memory = {}, {}
    for library in times:
        run(name, library, "default", 0.05)  # fills caches of compiled kernels
    others = {variant: [] for variant in applicable(name, variants)}
    for variant in others:
        run(name, "torch", variant, 0.05)  # the same of `compile`
    for number in range(pairs):
        order = ("rushlight", "torch") if number % 2 == 0 else ("torch", "rushlight")
        for library in order:
            found = run(name, library, "default", seconds)
            times[library].append(found["time"])
            losses[library], memory[library] = found["losses"], found["memory"]
        if number % VARIANTS_EVERY == 0:
            for variant, measured in others.items():
                measured.append(run(name, "torch", variant, seconds))
    from run import summary

    row = summary(times)
    row["losses"], row["memory_kb"] = losses, memory
    row["losses_agree"] = all(
        math.isclose(a, b, rel_tol=TOLERANCE)
        for a, b in zip(losses["rushlight"], losses["torch"], strict=True)
    )
    if variants:
        add_variants(row, times, others)
    return row


def add_variants(row, times, others):
    """Ours against the fastest of PyTorch's ways, by the fastest process of each in the same
    rounds; ways that fail do not count."""
    ours, default = (min(found[::VARIANTS_EVERY]) for found in times.values())
    row["variants"] = {
        variant: min(f["time"] for f in found)
        for variant, found in others.items()
        if None not in found
    }
    row["against_best"] = min([default, *row["variants"].values()]) / ours


def geometric(values):
    """The geometric mean; None of nothing."""
    values = list(values)
    return math.exp(sum(map(math.log, values)) / len(values)) if values else None


def totals(rows):
    """Geometric means of the ratios, by the length of PyTorch's step."""
    training = {n: r for n, r in rows.items() if not n.endswith("inference")}
    groups = {
        "training": training.values(),
        "inference": [r for n, r in rows.items() if n.endswith("inference")],
        "steps under 5 ms": [r for r in training.values() if r["torch"] < 5e-3],
        "steps above 50 ms": [r for r in training.values() if r["torch"] > 50e-3],
    }
    found = {name: geometric(r["ratio"] for r in group) for name, group in groups.items()}
    best = [r["against_best"] for r in rows.values() if "against_best" in r]
    found["all against PyTorch's best"] = geometric(best)
    return {name: value for name, value in found.items() if value is not None}


def counted(rows):
    """How many pairs of processes there were: of most rows, and which have others."""
    pairs = {name: len(row["samples"]["torch"]) for name, row in rows.items()}
    most = max(pairs.values(), default=0, key=list(pairs.values()).count)
    others = [f"{name} {n}" for name, n in pairs.items() if n != most]
    return f"{most} pairs" + (f" ({', '.join(others)})" if others else "")


def markdown(report):
    """The report as a table."""
    from run import duration

    place = report["machine"]
    tried = sorted({v for row in report["steps"].values() for v in row.get("variants", ())})
    best = ""
    if tried:
        best = (
            f" PyTorch's best: of its default, {', '.join(tried)}, in turn with one pair "
            f"of {VARIANTS_EVERY}; by the fastest process of each in these rounds."
        )
    lines = [
        f"# Whole steps: ours against PyTorch {place['torch']}", "",
        f"{place['processor']}, {place['cores']} cores, Python {place['python']}; "
        f"{counted(report['steps'])} of alternating processes. A step is forward, backward and "
        "Adam with its defaults; inference is the forward pass and the loss in eval mode. Ratio: "
        "PyTorch's time over ours, median of the pairs with its 95 % interval. Memory: the "
        "most that the process held, ours over PyTorch's. The first losses agree to "
        f"{TOLERANCE:g} where marked.{best}", "",
        "| step | ours | PyTorch | ratio | interval | against PyTorch's best | memory | losses |",
        "| --- | --- | --- | --- | --- | --- | --- | --- |",
    ]  # fmt: skip
    for name, row in report["steps"].items():
        low, high = row["interval"]
        best = f"{row['against_best']:.2f}" if "against_best" in row else ""
        memory = row["memory_kb"]["rushlight"] / max(1, row["memory_kb"]["torch"])
        lines.append(
            f"| {name} | {duration(row['ours'])} | {duration(row['torch'])} | {row['ratio']:.2f} | "
            f"{low:.2f} to {high:.2f} | {best} | {memory:.2f} | "
            f"{'agree' if row['losses_agree'] else 'differ'} |"
        )
    lines += ["", "Geometric means: " + ", ".join(
        f"{name} {value:.2f}" for name, value in report["totals"].items()) + "."]  # fmt: skip
    return "\n".join(lines) + "\n"


def fallen(rows, stored):
    """Lines about models whose ratio lies below the interval that was stored."""
    lines = []
    for name, row in rows.items():
        old = stored.get(name)
        if old is not None and row["ratio"] < old["interval"][0] * 0.97:
            lines.append(f"{name}: {row['ratio']:.2f}, was {old['ratio']:.2f}")
    return lines


def chart(report, path):
    """A bar for each model: the ratio with its interval."""
    import matplotlib

    matplotlib.use("Agg")
    from matplotlib import pyplot

    rows = report["steps"]
    names, ratios = list(rows), [r["ratio"] for r in rows.values()]
    bounds = [[r["ratio"] - r["interval"][0] for r in rows.values()],
              [r["interval"][1] - r["ratio"] for r in rows.values()]]  # fmt: skip
    figure, axes = pyplot.subplots(figsize=(8, 0.32 * len(names) + 1.2))
    colours = ["#2a78b5" if r >= 1 else "#c9503c" for r in ratios]
    axes.barh(names, ratios, xerr=bounds, color=colours, error_kw={"lw": 1})
    axes.set_xscale("log", base=2)
    axes.set_xticks([0.5, 1, 2, 4, 8], labels=["0.5", "1", "2", "4", "8"])
    axes.axvline(1, color="black", lw=1)
    axes.invert_yaxis()
    axes.margins(y=0.01)
    axes.set_xlabel("PyTorch's time over ours (right of 1: ours is faster)")
    figure.tight_layout()
    figure.savefig(path, dpi=130)


def main():
    from run import hold_to_avx2, machine

    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("models", nargs="*", metavar="MODEL")
    parser.add_argument("--pairs", type=int, default=15)
    parser.add_argument("--seconds", type=float, default=1.0)
    parser.add_argument("--variants", default="", help="of " + ",".join(VARIANTS))
    parser.add_argument("--name", default="steps")
    parser.add_argument("--quick", action="store_true", help="one pair, nothing written")
    parser.add_argument("--merge", action="store_true", help="other rows stay in the stored table")
    parser.add_argument("--resume", type=Path, help="keeps finished models, which are not repeated")
    parser.add_argument("--avx2", action="store_true", help="hold both sides to 256-bit vectors")
    parser.add_argument("--one", nargs=3, metavar=("MODEL", "LIBRARY", "VARIANT"))
    options = parser.parse_args()
    if options.avx2:
        hold_to_avx2()
    variants = [name for name in options.variants.split(",") if name]
    if unknown := set(variants) - set(VARIANTS):
        parser.error(f"--variants: unknown {', '.join(sorted(unknown))}; there are {VARIANTS}")
    if options.one:
        one_process(*options.one, options.seconds)
        return
    pairs, rows = 1 if options.quick else options.pairs, {}
    if options.resume and options.resume.exists():
        rows = json.loads(options.resume.read_text())
    for name in options.models or CASES:
        if name in rows:
            continue
        row = rows[name] = compared(name, pairs, options.seconds, variants)
        best = f", best {row['against_best']:.2f}" if variants else ""
        print(f"{name}: {row['ratio']:.2f} ({row['ours'] * 1e3:.3g} ms){best}", flush=True)
        if options.resume:
            options.resume.write_text(json.dumps(rows))

    target = FOLDER / "results" / options.name
    stored = {}
    if target.with_suffix(".json").exists():
        stored = json.loads(target.with_suffix(".json").read_text())["steps"]
        print("\n".join(fallen(rows, stored)) or "nothing fell against the stored table")
    if options.merge:
        rows = {name: found for name in CASES if (found := rows.get(name, stored.get(name)))}
    report = {"machine": machine(), "steps": rows, "totals": totals(rows)}
    print(markdown(report))
    if options.merge or not options.quick and not options.models:
        target.with_suffix(".json").write_text(json.dumps(report, indent=1) + "\n")
        target.with_suffix(".md").write_text(markdown(report))
        chart(report, target.with_suffix(".png"))


if __name__ == "__main__":
    main()

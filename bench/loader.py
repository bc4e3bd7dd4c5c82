"""The data loader against PyTorch's: the same program, in alternating processes.

python bench/loader.py [--pairs 15] [--quick]     writes bench/results/loader.json and loader.md

Cases: JPEG files decoded and augmented by PIL in two workers; 60,000 rows in memory, shuffled; the
time from ``iter`` to the first batch of two workers that start as new interpreters; a queue that
carries tensors of 4 MB to another process and back.
"""

from __future__ import annotations

import argparse
import importlib
import json
import multiprocessing
import os
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

RESULTS = Path(__file__).parent / "results"
LIBRARIES = ("rushlight", "torch")
IMAGES, BATCH = 256, 32


class Pictures:
    """JPEG files, decoded, cropped, flipped and brought to 0..1; made for one library."""

    def __init__(self, library, folder):
        self.library, self.paths = library, sorted(Path(folder).glob("*.jpg"))

    def __len__(self):
        return len(self.paths)

    def __getitem__(self, index):
        import numpy
        from PIL import Image

        library = importlib.import_module(self.library)
        left, top, flip = (int(v) for v in library.randint(0, 32, (3,)))
        with Image.open(self.paths[index]) as image:
            image = image.convert("RGB").resize((256, 256), Image.Resampling.BILINEAR)
            image = image.crop((left, top, left + 224, top + 224))
        pixels = numpy.asarray(image, numpy.float32).transpose(2, 0, 1) / 255
        pixels = pixels[:, :, ::-1] if flip < 16 else pixels
        return library.from_numpy(numpy.ascontiguousarray(pixels)), index % 10


def make_pictures(folder):
    """Noise over gradients, so that files have the size of photographs."""
    import numpy
    from PIL import Image

    numbers = numpy.random.default_rng(0)
    for i in range(IMAGES):
        ramp = numpy.linspace(0, 200, 375 * 500 * 3).reshape(375, 500, 3)
        noise = numbers.integers(0, 55, (375, 500, 3))
        Image.fromarray((ramp + noise).astype("uint8")).save(Path(folder) / f"{i:04}.jpg")


def one_pass(loader):
    """Seconds of one pass; the number of batches is checked."""
    start = time.perf_counter()
    count = sum(1 for _ in loader)
    seconds = time.perf_counter() - start
    if count != len(loader):
        raise SystemExit(f"{count} batches of {len(loader)}")
    return seconds


def pictures(name, library, folder):
    """PIL decode and augmentation in two workers that are running already."""
    loader = library.utils.data.DataLoader(
        Pictures(name, folder), BATCH, shuffle=True, num_workers=2, persistent_workers=True
    )
    one_pass(loader)
    return min(one_pass(loader) for _ in range(2))


def in_memory(name, library, folder):
    """60,000 x 784 float32 and labels, batch 64, shuffled."""
    rows, labels = library.rand(60_000, 784), library.arange(60_000) % 10
    data = library.utils.data
    loader = data.DataLoader(data.TensorDataset(rows, labels), 64, shuffle=True)
    one_pass(loader)
    return min(one_pass(loader) for _ in range(3))


def start_of_workers(name, library, folder):
    """From ``iter`` to the first batch of two spawned workers."""
    data = library.utils.data
    loader = data.DataLoader(
        data.TensorDataset(library.arange(64)), 8, num_workers=2, multiprocessing_context="spawn"
    )
    start = time.perf_counter()
    batches = iter(loader)
    next(batches)
    seconds = time.perf_counter() - start
    del batches
    return seconds


def echo(inbox, outbox):
    """Send back what comes, until None does."""
    while (tensor := inbox.get()) is not None:
        outbox.put(tensor)
        del tensor


def queue_round_trip(name, library, folder):
    """A tensor of 4 MB to another process and back, 100 times."""
    processes = importlib.import_module(name + ".multiprocessing")
    context = processes.get_context("fork")
    inbox, outbox = context.SimpleQueue(), context.SimpleQueue()
    process = context.Process(target=echo, args=(inbox, outbox), daemon=True)
    process.start()
    tensors = [library.ones(1 << 20) for _ in range(110)]
    for i, tensor in enumerate(tensors):
        if i == 10:
            start = time.perf_counter()
        inbox.put(tensor)
        outbox.get()
    seconds = (time.perf_counter() - start) / 100
    inbox.put(None)
    process.join()
    return seconds


CASES = {
    "PIL decode and augmentation, 2 workers": pictures,
    "in memory, 60,000 x 784, batch 64": in_memory,
    "start of 2 spawned workers": start_of_workers,
    "4 MB through queues and back": queue_round_trip,
}


def measured(library, case, folder):
    """One process of one library."""
    done = subprocess.run(
        [sys.executable, __file__, "--one", library, case, folder],
        capture_output=True, text=True, check=False,
        env={**os.environ, "OMP_NUM_THREADS": "1"},
    )  # fmt: skip
    if done.returncode:
        raise SystemExit(f"bench/loader.py: {case} with {library} failed:\n{done.stderr}")
    return float(done.stdout.splitlines()[-1])


def compare(case, pairs, folder):
    """Seconds of both libraries and their ratio, over pairs of processes in turn."""
    for library in LIBRARIES:  # compiled kernels and file caches
        measured(library, case, folder)
    samples = [[measured(library, case, folder) for library in LIBRARIES] for _ in range(pairs)]
    ours, theirs = zip(*samples, strict=True)
    return {
        "rushlight": statistics.median(ours),
        "torch": statistics.median(theirs),
        "speed ratio": statistics.median(t / o for o, t in samples),
        "ratio of the fastest": min(theirs) / min(ours),
        "samples": samples,
    }


def main():
    """Run the cases, or one of them for one library."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--pairs", type=int, default=15)
    parser.add_argument("--quick", action="store_true", help="three pairs, writes nothing")
    parser.add_argument("--one", nargs=3, metavar=("LIBRARY", "CASE", "FOLDER"))
    options = parser.parse_args()
    if options.one:
        name, case, folder = options.one
        library = importlib.import_module(name)
        importlib.import_module(name + ".utils.data")
        print(CASES[case](name, library, folder))
        return
    pairs, report = 3 if options.quick else options.pairs, {}
    with tempfile.TemporaryDirectory() as folder:
        make_pictures(folder)
        for case in CASES:
            found = report[case] = compare(case, pairs, folder)
            print(case, {k: round(v, 4) for k, v in found.items() if k != "samples"}, flush=True)
    if options.quick:
        return
    whole = {"processors": multiprocessing.cpu_count(), "pairs": pairs, "cases": report}
    (RESULTS / "loader.json").write_text(json.dumps(whole, indent=1) + "\n")
    lines = [
        "| case | rushlight | PyTorch | speed ratio | of the fastest |",
        "|---|---|---|---|---|",
    ]
    for case, found in report.items():
        ours, theirs = (f"{1e3 * found[library]:.1f} ms" for library in LIBRARIES)
        ratios = f"{found['speed ratio']:.2f} | {found['ratio of the fastest']:.2f}"
        lines.append(f"| {case} | {ours} | {theirs} | {ratios} |")
    (RESULTS / "loader.md").write_text("\n".join(lines) + "\n")


if __name__ == "__main__":
    main()

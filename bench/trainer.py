"""What the Trainer costs over a loop written by hand: the same steps, in alternating processes.

python bench/trainer.py [--pairs 15]     writes bench/results/trainer.json
"""

from __future__ import annotations

import argparse
import json
import logging
import statistics
import subprocess
import sys
import time
import warnings
from pathlib import Path

STEPS, BATCH = 600, 64


def model_and_data():
    """Three layers on 784 inputs, and as many batches as there are steps."""
    import rushlight
    from rushlight import nn
    from rushlight.utils.data import DataLoader, TensorDataset

    rushlight.manual_seed(0)
    layers = (nn.Linear(784, 256), nn.ReLU(), nn.Linear(256, 128), nn.ReLU(), nn.Linear(128, 10))
    images, labels = rushlight.randn(3200, 784), rushlight.randint(0, 10, (3200,))
    return nn.Sequential(*layers), DataLoader(TensorDataset(images, labels), BATCH, shuffle=True)


def by_hand():
    """Seconds of the steps in a plain loop."""
    import rushlight
    import rushlight.optim

    model, loader = model_and_data()
    optimizer = rushlight.optim.Adam(model.parameters())
    loss_of, done, start = rushlight.nn.functional.cross_entropy, 0, None
    while done < STEPS:
        for images, labels in loader:
            optimizer.zero_grad()
            loss_of(model(images), labels).backward()
            optimizer.step()
            done += 1
            if done == 50:
                start = time.perf_counter()
    return time.perf_counter() - start


def by_trainer():
    """Seconds of the steps in Trainer.fit, with its defaults less files and the progress bar."""
    import lightning_lite as L
    import rushlight

    class Net(L.LightningModule):
        def __init__(self, layers):
            super().__init__()
            self.layers = layers

        def training_step(self, batch, batch_idx):
            images, labels = batch
            if batch_idx == 0 and self.global_step >= 50 and not hasattr(self, "start"):
                self.start = time.perf_counter(), self.global_step
            return rushlight.nn.functional.cross_entropy(self.layers(images), labels)

        def configure_optimizers(self):
            return rushlight.optim.Adam(self.parameters())

    layers, loader = model_and_data()
    net = Net(layers)
    trainer = L.Trainer(
        max_steps=STEPS, max_epochs=-1, logger=False, enable_checkpointing=False,
        enable_progress_bar=False, enable_model_summary=False,
    )  # fmt: skip
    trainer.fit(net, loader)
    start, step = net.start
    return (time.perf_counter() - start) * (STEPS - 50) / (STEPS - step)


def measured(way):
    """One process of one way."""
    done = subprocess.run(
        [sys.executable, __file__, "--way", way], capture_output=True, text=True, check=False
    )
    if done.returncode:
        raise SystemExit(f"bench/trainer.py --way {way} failed:\n{done.stderr}")
    return float(done.stdout.splitlines()[-1])


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--pairs", type=int, default=15)
    parser.add_argument("--way", choices=("hand", "trainer"))
    options = parser.parse_args()
    if options.way:
        logging.getLogger("lightning_lite").setLevel(logging.ERROR)
        warnings.simplefilter("ignore")
        print((by_hand if options.way == "hand" else by_trainer)())
        return
    measured("hand"), measured("trainer")
    pairs = [(measured("hand"), measured("trainer")) for _ in range(options.pairs)]
    ratios = [b / a for a, b in pairs]
    report = {
        "steps": STEPS - 50,
        "pairs": options.pairs,
        "hand": statistics.median(p[0] for p in pairs),
        "trainer": statistics.median(p[1] for p in pairs),
        "ratio": statistics.median(ratios),
        "samples": pairs,
    }
    print({k: v for k, v in report.items() if k != "samples"})
    path = Path(__file__).parent / "results" / "trainer.json"
    path.write_text(json.dumps(report, indent=1) + "\n")


if __name__ == "__main__":
    main()

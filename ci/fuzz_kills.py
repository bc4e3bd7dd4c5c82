"""Processes killed at any moment: downloads and trainings lose nothing and leave nothing behind.

Usage: python ci/fuzz_kills.py [--kills 100] [--seed 0]

A child process fetches a file from a server that sends slowly, or trains with checkpoints after
every step, and is killed by SIGKILL after a random time; the next one goes on. In the end the file
is whole and has been sent hardly more than once, the training has taken all its steps, each
checkpoint on disk loads, and beside them lies nothing. (Savers are killed by ci/fuzz.py.)
"""

from __future__ import annotations

import argparse
import hashlib
import http.server
import os
import random
import signal
import subprocess
import sys
import tempfile
import threading
import time
from pathlib import Path

DATA = random.Random(1).randbytes(4 << 20)
PIECE, PAUSE = 1 << 14, 0.004
FETCH = """
import sys
from rushlight.utils.download import fetch
print("ready", flush=True)
fetch([sys.argv[1]], sys.argv[2], progress=False)
"""
TRAIN = """
import sys
from pathlib import Path
import lightning_lite as L
import rushlight as rl
from lightning_lite.callbacks import ModelCheckpoint
from rushlight.utils.data import DataLoader, TensorDataset

class Module(L.LightningModule):
    def __init__(self):
        super().__init__()
        self.layer = rl.nn.Linear(64, 64)
    def training_step(self, batch, batch_idx):
        return self.layer(batch[0]).square().mean()
    def configure_optimizers(self):
        return rl.optim.Adam(self.parameters())

folder, steps = Path(sys.argv[1]), int(sys.argv[2])
rl.manual_seed(0)
keeper = ModelCheckpoint(folder, save_last=True, every_n_train_steps=1, save_top_k=2,
                         monitor="step", mode="max", enable_version_counter=False)
trainer = L.Trainer(max_steps=steps, max_epochs=-1, callbacks=[keeper], logger=False,
                    enable_progress_bar=False, enable_model_summary=False)
data = DataLoader(TensorDataset(rl.rand(40, 64)), batch_size=4, shuffle=True)
there = (folder / "last.ckpt").exists()
print("ready", flush=True)
trainer.fit(Module(), data, ckpt_path="last" if there else None)
"""


class Slow(http.server.BaseHTTPRequestHandler):
    """Sends DATA in small pieces, from where it is asked for on."""

    def log_message(self, *_):
        """Say nothing."""

    def do_GET(self):
        asked = self.headers.get("Range")
        start = int(asked[6:-1]) if asked and self.headers.get("If-Range", '"1"') == '"1"' else 0
        self.send_response(206 if start else 200)
        if start:
            self.send_header("Content-Range", f"bytes {start}-{len(DATA) - 1}/{len(DATA)}")
        self.send_header("ETag", '"1"')
        self.send_header("Content-Length", str(len(DATA) - start))
        self.end_headers()
        for at in range(start, len(DATA), PIECE):
            try:
                self.wfile.write(DATA[at : at + PIECE])
            except OSError:
                return
            self.server.sent += PIECE
            time.sleep(PAUSE)


def run_until(program, arguments, seconds):
    """Whether a program ended by itself within a time after it said that it is ready."""
    child = subprocess.Popen(
        [sys.executable, "-c", program, *arguments],
        stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
    )  # fmt: skip
    child.stdout.readline()
    try:
        _, error = child.communicate(timeout=seconds)
    except subprocess.TimeoutExpired:
        child.send_signal(signal.SIGKILL)
        child.communicate()
        return False
    if child.returncode:
        raise SystemExit(f"the program failed:\n{error}")
    return True


def downloads(kills, chance):
    """Kill fetches of one file after another."""
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Slow)
    server.sent = 0
    threading.Thread(target=server.serve_forever, daemon=True).start()
    done = files = 0
    with tempfile.TemporaryDirectory() as folder:
        while done < kills:
            target = Path(folder) / f"file{files}.bin"
            address = f"http://127.0.0.1:{server.server_port}/a"
            while not run_until(FETCH, [address, str(target)], chance.uniform(0.0, 0.4)):
                done += 1
            files += 1
            assert hashlib.sha256(target.read_bytes()).digest() == hashlib.sha256(DATA).digest()
        left = sorted(os.listdir(folder))
    server.shutdown()
    assert left == sorted(f"file{i}.bin" for i in range(files)), left
    share = server.sent / (files * len(DATA))
    print(f"downloads: {done} kills, {files} whole files, {share:.2f} of their bytes sent")
    assert share < 1.5


def trainings(kills, chance):
    """Kill trainings that go on from their last checkpoint."""
    import rushlight

    done = trained = 0
    with tempfile.TemporaryDirectory() as folder:
        while done < kills:
            trained += 1
            place, steps = Path(folder) / str(trained), 120
            while not run_until(TRAIN, [str(place), str(steps)], chance.uniform(0.1, 1.2)):
                done += 1
                for path in place.glob("*.ckpt"):
                    rushlight.load(path)
            state = rushlight.load(place / "last.ckpt")
            assert state["global_step"] == steps, state["global_step"]
            left = [name for name in os.listdir(place) if not name.endswith(".ckpt")]
            assert not left, left
            assert len(os.listdir(place)) == 3, os.listdir(place)
    print(f"trainings: {done} kills, {trained} trainings whole, nothing else left")


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--kills", type=int, default=100)
    parser.add_argument("--seed", type=int, default=0)
    given = parser.parse_args()
    chance = random.Random(given.seed)
    downloads(given.kills, chance)
    trainings(given.kills, chance)
    return 0


if __name__ == "__main__":
    sys.exit(main())

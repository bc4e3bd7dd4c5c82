"""wandb: a run without a network, its watched gradients and parameters, and what it wrote down."""

import json
import os
import struct
from pathlib import Path

import torch
import wandb
from common import report
from torch import nn
from wandb.proto import wandb_internal_pb2

BLOCK = 32768  # bytes of a block of a run's file, which is a log in LevelDB's format


def records(file):
    """The records of a run's file."""
    data, at, parts = file.read_bytes(), 7, []
    while at + 7 <= len(data):
        if BLOCK - at % BLOCK < 7:  # what remains of a block is too short for a head
            at += BLOCK - at % BLOCK
            continue
        _, length, kind = struct.unpack("<IHB", data[at : at + 7])
        parts.append(data[at + 7 : at + 7 + length])
        at += 7 + length
        if kind in (1, 4):  # whole, or the last of several parts
            yield wandb_internal_pb2.Record.FromString(b"".join(parts))
            parts = []


def written(folder):
    """The rows of a run's history, and its configuration, by the names that the program gave."""
    (file,) = Path(folder).glob("*.wandb")
    rows, config = [], {}
    for record in records(file):
        if record.HasField("history"):
            items = record.history.item
            row = {".".join(i.nested_key) or i.key: json.loads(i.value_json) for i in items}
            rows.append({key: row[key] for key in sorted(row) if not key.startswith("_")})
        for item in record.run.config.update if record.HasField("run") else ():
            name = item.key or ".".join(item.nested_key)
            if not name.startswith("_"):
                config[name] = json.loads(item.value_json)
    return {"rows": rows, "config": config}


def trained(run):
    """Three steps of a watched network, whose gradients and parameters the run keeps."""
    net = nn.Sequential(nn.Linear(4, 8), nn.Tanh(), nn.Dropout(0.1), nn.Linear(8, 3))
    run.watch(net, nn.functional.cross_entropy, log="all", log_freq=1, log_graph=True)
    optimizer = torch.optim.SGD(net.parameters(), 0.1)
    x, y = torch.randn(16, 4), torch.arange(16) % 3
    for step in range(3):
        optimizer.zero_grad()
        out = net(x)
        loss = nn.functional.cross_entropy(out, y)
        loss.backward()
        optimizer.step()
        run.log({
            "loss": loss, "step": step, "right": (out.argmax(1) == y).float().mean(),
            "out": wandb.Histogram(out.detach()), "rate": torch.tensor([0.1]), "half": loss.half(),
        })  # fmt: skip
    run.unwatch(net)
    net(x).sum().backward()  # no hook is left
    return net, x


def main():
    os.environ["WANDB_SILENT"] = "true"
    torch.manual_seed(0)
    config = {"layers": 2, "size": torch.tensor(8), "rates": torch.tensor([0.1, 0.2])}
    run = wandb.init(mode="offline", project="task", dir=".", config=config)
    net, x = trained(run)
    picture = wandb.Image(torch.rand(3, 5, 4), caption="noise")
    sizes = [picture.image.size, list(picture.image.getpixel((1, 2)))]
    run.log({"picture": picture, "table": wandb.Table(["i", "x"], [[0, x[0, 0].item()]])})
    folder = run.dir
    run.finish()
    kept = written(Path(folder).parent)
    last = kept["rows"].pop()
    report(kept=kept, picture=sizes, last=sorted(last), backward=[p.grad for p in net.parameters()])


main()

"""tensorboardX: what a writer keeps of scalars, histograms, pictures, and the parameters."""

import tempfile
from pathlib import Path

import torch
from common import report, train
from tensorboard.backend.event_processing.event_accumulator import EventAccumulator
from tensorboardX import SummaryWriter, utils


def main():
    torch.manual_seed(0)
    net = torch.nn.Sequential(torch.nn.Linear(4, 3), torch.nn.Tanh(), torch.nn.Linear(3, 1))
    found = {"losses": train(net, torch.rand(8, 4), lambda m, x: m(x).square().mean())}
    with tempfile.TemporaryDirectory() as folder:
        with SummaryWriter(folder) as writer:
            for step, loss in enumerate(found["losses"]):
                writer.add_scalar("loss", torch.tensor(loss), step)
                writer.add_scalars("both", {"a": torch.tensor(step), "b": loss}, step)
            for name, values in net.named_parameters():
                writer.add_histogram(name, values, 0)
                writer.add_histogram(name + "/grad", values.grad, 0, bins="auto")
            writer.add_image("picture", torch.rand(3, 8, 9), 0)
            writer.add_images("pictures", torch.rand(4, 1, 6, 6), 0)
            writer.add_text("text", "three words here", 0)
            writer.add_pr_curve("curve", torch.tensor([0, 1, 1, 0]), torch.rand(4), 0)
            writer.add_embedding(torch.rand(3, 5), metadata=["a", "b", "c"], tag="vectors")
        read = EventAccumulator(folder, {"histograms": 0, "images": 0}).Reload()
        found["scalars"] = [[e.step, e.value] for e in read.Scalars("loss")]
        found["tags"] = {kind: tags for kind, tags in read.Tags().items() if tags}
        found["histograms"] = {
            tag: [h.histogram_value.min, h.histogram_value.max, h.histogram_value.sum]
            for tag in read.Tags()["histograms"] for h in read.Histograms(tag)
        }  # fmt: skip
        found["pictures"] = [[e.width, e.height] for t in read.Tags()["images"]
                             for e in read.Images(t)]  # fmt: skip
        kept = next(Path(folder).rglob("tensors.tsv")).read_text().split()
        found["vectors"] = [float(x) for x in kept]
    grid = utils.make_grid(torch.arange(48.0).reshape(4, 1, 3, 4).numpy())
    found["grid"] = torch.from_numpy(grid)
    report(**found)


main()

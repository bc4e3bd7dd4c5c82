"""ignite: engines with handlers, metrics, and a checkpoint."""

import tempfile

import torch
from common import report
from ignite.contrib.handlers import PiecewiseLinear  # noqa: F401 - its path is used much
from ignite.engine import Events, create_supervised_evaluator, create_supervised_trainer
from ignite.handlers import Checkpoint, DiskSaver, EarlyStopping
from ignite.metrics import Accuracy, Loss, RunningAverage


def main():
    torch.manual_seed(0)
    x = torch.randn(48, 6)
    y = (x.sum(1) > 0).long()
    batches = list(zip(x.split(8), y.split(8), strict=True))
    net = torch.nn.Sequential(torch.nn.Linear(6, 12), torch.nn.ReLU(), torch.nn.Linear(12, 2))
    optimizer = torch.optim.SGD(net.parameters(), lr=0.1, momentum=0.9)
    loss = torch.nn.CrossEntropyLoss()
    trainer = create_supervised_trainer(net, optimizer, loss)
    RunningAverage(output_transform=lambda out: out).attach(trainer, "running")
    evaluator = create_supervised_evaluator(net, {"accuracy": Accuracy(), "loss": Loss(loss)})
    rows = []

    @trainer.on(Events.EPOCH_COMPLETED)
    def evaluate(engine):
        state = evaluator.run(batches)
        rows.append(
            [engine.state.metrics["running"], state.metrics["accuracy"], state.metrics["loss"]]
        )

    stop = EarlyStopping(3, lambda engine: -engine.state.metrics["loss"], trainer)
    evaluator.add_event_handler(Events.COMPLETED, stop)
    with tempfile.TemporaryDirectory() as folder:
        saver = Checkpoint(
            {"net": net, "optimizer": optimizer}, DiskSaver(folder, require_empty=False)
        )
        trainer.add_event_handler(Events.EPOCH_COMPLETED, saver)
        trainer.run(batches, max_epochs=4)
        again = torch.nn.Sequential(torch.nn.Linear(6, 12), torch.nn.ReLU(), torch.nn.Linear(12, 2))
        Checkpoint.load_objects({"net": again}, torch.load(saver.last_checkpoint))
        same = (again(x) - net(x)).abs().max()
    report(rows=rows, reloaded=same)


main()

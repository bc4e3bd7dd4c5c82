"""What hooks find when they ask how far training is: Lightning 2.6.6's numbers."""

from __future__ import annotations


def test_rates_warmed_up_by_the_step(model_class, loader, trainer):
    """The step that `optimizer_step` takes counts when the hook is over, as in Lightning, whose
    documented warm-up reads `global_step` after `optimizer.step`."""
    rows = []

    class Warm(model_class):
        def optimizer_step(self, epoch, batch_idx, optimizer, optimizer_closure):
            optimizer.step(closure=optimizer_closure)
            if self.trainer.global_step < 4:
                for group in optimizer.param_groups:
                    group["lr"] = 0.1 * (self.trainer.global_step + 1) / 4
            rows.append((self.trainer.global_step, round(optimizer.param_groups[0]["lr"], 6)))

    run = trainer(max_epochs=1, limit_train_batches=6, limit_val_batches=0)
    run.fit(Warm(), loader(24))
    assert rows == [(0, 0.025), (1, 0.05), (2, 0.075), (3, 0.1), (4, 0.1), (5, 0.1)]
    assert run.global_step == 6


def test_steps_left_out_count(model_class, loader, trainer):
    """A hook that steps for every second batch: limits and checkpoints count batches all the
    same."""
    steps = []

    class Alternating(model_class):
        def optimizer_step(self, epoch, batch_idx, optimizer, optimizer_closure):
            if batch_idx % 2:
                optimizer_closure()
            else:
                steps.append(batch_idx)
                optimizer.step(closure=optimizer_closure)

    run = trainer(max_epochs=-1, max_steps=5, limit_train_batches=4, limit_val_batches=0)
    run.fit(Alternating(), loader(16))
    assert run.global_step == 5 and run.current_epoch == 2 and steps == [0, 2, 0]


def test_positions_of_loops(model_class, loader, trainer):
    rows = []

    class Telling(model_class):
        def tell(self, name):
            loop = self.trainer.fit_loop
            epoch = loop.epoch_loop
            assert (loop.batch_idx, loop.total_batch_idx) == (
                epoch.batch_idx,
                epoch.total_batch_idx,
            )
            rows.append(
                (name, epoch.batch_idx, epoch.total_batch_idx, epoch.global_step,
                 epoch._batches_that_stepped)
            )  # fmt: skip

        def on_train_batch_start(self, batch, batch_idx):
            self.tell("start")

        def on_train_batch_end(self, outputs, batch, batch_idx):
            self.tell("end")

        def on_train_epoch_end(self):
            self.tell("epoch")

    run = trainer(max_epochs=2, limit_train_batches=2, limit_val_batches=0)
    run.fit(Telling(), loader(16))
    assert rows == [
        ("start", 0, 0, 0, 0), ("end", 0, 0, 1, 0), ("start", 1, 1, 1, 1), ("end", 1, 1, 2, 1),
        ("epoch", 1, 1, 2, 2),
        ("start", 0, 2, 2, 2), ("end", 0, 2, 3, 2), ("start", 1, 3, 3, 3), ("end", 1, 3, 4, 3),
        ("epoch", 1, 3, 4, 4),
    ]  # fmt: skip
    run.fit_loop.epoch_loop._batches_that_stepped = 9
    assert run.state.progress.logged_steps == 9

"""What hooks find when they ask how far training is: Lightning 2.6.6's numbers."""

from __future__ import annotations

import lightning_lite as L

OWNERS = ("data", "callback", "module")


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


def spying(base, name, rows):
    """A class that notes its hooks of begin, end and files."""
    hooks = ("setup", "teardown", "on_load_checkpoint")

    def noting(hook):
        def note(self, *given, **more):
            rows.append(f"{name}.{hook}")
            return getattr(super(made, self), hook)(*given, **more)

        return note

    made = type(name, (base,), {hook: noting(hook) for hook in hooks})
    return made


def test_order_of_data_module_callbacks_and_module(model_class, loader, trainer, tmp_path):
    """The data module is set up and torn down first, so that callbacks find its data; callbacks
    get their states back for tests too."""
    rows = []

    class Stateful(spying(L.Callback, "callback", rows)):
        best = 0

        def state_dict(self):
            return {"best": self.best}

        def load_state_dict(self, state):
            self.best = state["best"]

    class Data(spying(L.LightningDataModule, "data", rows)):
        def train_dataloader(self):
            return loader(8)

        test_dataloader = train_dataloader

    class Testing(spying(model_class, "module", rows)):
        def test_step(self, batch, batch_idx):
            self.log("loss", self(batch[0]).mean())

    first, second = Stateful(), Stateful()
    first.best = 7
    saver = L.callbacks.ModelCheckpoint(tmp_path)
    options = {"max_epochs": 1, "limit_val_batches": 0, "enable_checkpointing": True}
    trainer(callbacks=[first, saver], **options).fit(Testing(), datamodule=Data())
    order = [f"{owner}.{hook}" for hook in ("setup", "teardown") for owner in OWNERS]
    assert rows == order
    rows.clear()
    run = trainer(callbacks=[second], enable_checkpointing=False)
    run.test(Testing(), datamodule=Data(), ckpt_path=saver.best_model_path, verbose=False)
    assert [each for each in rows if "load" not in each] == order
    assert "callback.on_load_checkpoint" in rows and second.best == 7


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

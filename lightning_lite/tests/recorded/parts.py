"""Callbacks, tuner, utilities and Fabric: what Lightning and lightning_lite must agree on.

`python parts.py` runs every function here with lightning and writes `parts.json`, which
`test_parts_like_lightning.py` compares with. `part(path)` is a module of `lightning.pytorch`
by its path, `part("fabric:path")` one of `lightning.fabric`.
"""

from __future__ import annotations

import csv
import importlib
import json
import logging
import os
import sys
import tempfile
import warnings
from pathlib import Path

PARTS = {}


def recorded(function):
    """A function whose answer is compared."""
    PARTS[function.__name__] = function
    return function


def full_path(path):
    """A module's path in Lightning."""
    root, _, rest = path.rpartition(":")
    return f"lightning.{root or 'pytorch'}.{rest}"


def plain(value):
    """A value in JSON's types; tensors and numbers rounded."""
    if hasattr(value, "detach"):
        value = value.detach().tolist()
    if isinstance(value, float):
        return float(f"{value:.5g}")
    if isinstance(value, dict):
        return {str(name): plain(each) for name, each in value.items()}
    if isinstance(value, list | tuple):
        return [plain(each) for each in value]
    return value if isinstance(value, bool | int | str | None) else repr(value)


def sums(model):
    """A number for each parameter."""
    return [each.detach().double().abs().sum().item() for each in model.parameters()]


def make_model(L, rl, norm=False, lr=0.05, example=False, optimizer="SGD"):
    """A backbone and a head, fitted to a sum."""
    nn = rl.nn

    class Model(L.LightningModule):
        def __init__(self, lr=lr, batch_size=4):
            super().__init__()
            self.save_hyperparameters()
            layers = [nn.Linear(4, 8), nn.BatchNorm1d(8)] if norm else [nn.Linear(4, 8)]
            self.backbone = nn.Sequential(*layers, nn.Tanh())
            self.head = nn.Linear(8, 1)
            self.rates = []
            if example:
                self.example_input_array = rl.zeros(3, 4)

        def forward(self, x):
            return self.head(self.backbone(x))

        def training_step(self, batch, batch_idx):
            loss = nn.functional.mse_loss(self(batch[0]), batch[1])
            self.log("train_loss", loss)
            return loss

        def validation_step(self, batch, batch_idx):
            self.log("val_loss", nn.functional.mse_loss(self(batch[0]), batch[1]))

        def predict_step(self, batch, batch_idx):
            return self(batch[0]).sum()

        def on_train_epoch_end(self):
            optimizer = self.optimizers().optimizer
            self.rates.append([group["lr"] for group in optimizer.param_groups])

        def configure_optimizers(self):
            needed = [each for each in self.parameters() if each.requires_grad]
            return getattr(rl.optim, optimizer)(needed, lr=self.hparams.lr)

        def train_dataloader(self):
            return make_loader(rl, 30, 1, self.hparams.batch_size)

        def val_dataloader(self):
            return make_loader(rl, 10, 2, self.hparams.batch_size)

    return Model()


def make_loader(rl, count=22, seed=1, batch_size=4):
    """Rows of a sum."""
    generator = rl.Generator().manual_seed(seed)
    x = rl.randn(count, 4, generator=generator)
    data = rl.utils.data.TensorDataset(x, x.sum(1, keepdim=True))
    return rl.utils.data.DataLoader(data, batch_size=batch_size)


def make_trainer(L, folder, **options):
    """A silent trainer."""
    options = {"max_epochs": 4, "logger": False, "enable_checkpointing": False} | options
    return L.Trainer(
        default_root_dir=folder,
        enable_progress_bar=False,
        enable_model_summary=False,
        accelerator="cpu",
        num_sanity_val_steps=0,
        **options,
    )


def trained(L, rl, folder, callbacks, model=None, validate=False, **options):
    """A model after training with callbacks."""
    L.seed_everything(7, verbose=False)
    model = make_model(L, rl) if model is None else model()
    trainer = make_trainer(L, folder, callbacks=callbacks, **options)
    trainer.fit(model, make_loader(rl), make_loader(rl, 10, 2) if validate else None)
    values = {name: float(each) for name, each in trainer.callback_metrics.items()}
    return {"weights": sums(model), "rates": model.rates, "values": values}


@recorded
def finetuning(L, rl, part, folder):
    kit = part("callbacks.finetuning")
    found = {}
    for name, options in {
        "plain": {"unfreeze_backbone_at_epoch": 1},
        "given rate": {"unfreeze_backbone_at_epoch": 2, "backbone_initial_lr": 0.001},
        "unaligned": {"unfreeze_backbone_at_epoch": 0, "should_align": False},
        "frozen norm": {"unfreeze_backbone_at_epoch": 1, "train_bn": False},
    }.items():
        model = lambda name=name: make_model(L, rl, norm=name == "frozen norm")  # noqa: E731
        found[name] = trained(L, rl, folder, [kit.BackboneFinetuning(**options)], model)
    return found


@recorded
def finetuning_helpers(L, rl, part, folder):
    base = part("callbacks.finetuning").BaseFinetuning
    nn = rl.nn
    model = nn.Sequential(nn.Linear(2, 3), nn.BatchNorm1d(3), nn.Sequential(nn.Linear(3, 3)))
    base.freeze(model, train_bn=True)
    first = [each.requires_grad for each in model.parameters()]
    base.freeze(model, train_bn=False)
    second = [each.requires_grad for each in model.parameters()]
    optimizer = rl.optim.SGD(nn.Linear(1, 1).parameters(), lr=0.5)
    base.unfreeze_and_add_param_group(model[2], optimizer)
    base.unfreeze_and_add_param_group(model[0], optimizer, lr=0.3)
    return {
        "train_bn": first,
        "all": second,
        "layers": [type(each).__name__ for each in base.flatten_modules(model)],
        "groups": [[group["lr"], len(group["params"])] for group in optimizer.param_groups],
        "learning": len(list(base.filter_params(model, train_bn=True))),
        "frozen": len(list(base.filter_params(model, train_bn=True, requires_grad=False))),
    }


@recorded
def stochastic_averaging(L, rl, part, folder):
    kit = L.callbacks
    found = {}
    for name, options in {
        "cos": {"swa_lrs": 0.02, "swa_epoch_start": 2, "annealing_epochs": 2},
        "linear": {
            "swa_lrs": 0.01,
            "swa_epoch_start": 0.4,
            "annealing_epochs": 3,
            "annealing_strategy": "linear",
        },
        "own mean": {
            "swa_lrs": 0.02,
            "swa_epoch_start": 1,
            "avg_fn": lambda a, w, n: a + (w - a) / 4,
        },
    }.items():
        callback = kit.StochasticWeightAveraging(**options)
        found[name] = trained(L, rl, folder, [callback], max_epochs=5)
    return found


@recorded
def weight_averaging(L, rl, part, folder):
    kit = L.callbacks
    found = {}
    for name, make in {
        "mean": lambda: kit.WeightAveraging(),
        "moving": lambda: kit.EMAWeightAveraging(decay=0.9),
        "sparse": lambda: kit.EMAWeightAveraging(decay=0.5, update_every_n_steps=3),
        "later": lambda: kit.EMAWeightAveraging(decay=0.5, update_starting_at_step=5),
    }.items():
        found[name] = trained(L, rl, folder, [make()], validate=True)
    return found


@recorded
def averaging_checkpoint(L, rl, part, folder):
    callback = L.callbacks.EMAWeightAveraging(decay=0.9)
    L.seed_everything(7, verbose=False)
    model = make_model(L, rl)
    trainer = make_trainer(L, folder, callbacks=[callback], max_epochs=2)
    trainer.fit(model, make_loader(rl))
    path = os.path.join(folder, "x.ckpt")
    trainer.save_checkpoint(path)
    saved = rl.load(path, weights_only=False)
    return {
        "keys": sorted({"state_dict", "current_model_state", "averaging_state"} & set(saved)),
        "averaged": [each.double().abs().sum().item() for each in saved["state_dict"].values()],
        "own": [each.double().abs().sum().item() for each in saved["current_model_state"].values()],
    }


@recorded
def pruning(L, rl, part, folder):
    found = {}
    for name, options in {
        "global": {
            "pruning_fn": "l1_unstructured",
            "amount": 0.3,
            "apply_pruning": lambda e: e == 3,
        },
        "ticket off": {
            "pruning_fn": "l1_unstructured",
            "amount": 0.2,
            "use_lottery_ticket_hypothesis": False,
        },
        "structured": {
            "pruning_fn": "ln_structured",
            "amount": 0.5,
            "use_global_unstructured": False,
            "pruning_dim": 0,
            "pruning_norm": 1,
            "parameter_names": ["weight"],
            "apply_pruning": lambda epoch: epoch == 1,
        },
    }.items():
        found[name] = trained(L, rl, folder, [L.callbacks.ModelPruning(**options)])
    return found


@recorded
def learning_rate_test(L, rl, part, folder):
    tuner = part("tuner").Tuner
    found = {}
    for name, options in {
        "exponential": {"num_training": 40, "max_lr": 10.0, "min_lr": 1e-5},
        "linear": {"num_training": 30, "mode": "linear", "max_lr": 0.5},
        "no stop": {"num_training": 50, "max_lr": 3.0, "early_stop_threshold": None},
    }.items():
        L.seed_everything(7, verbose=False)
        model = make_model(L, rl)
        before = sums(model)
        trainer = make_trainer(L, folder, max_epochs=100)
        test = tuner(trainer).lr_find(model, **options)
        found[name] = {
            "lr": test.results["lr"],
            "loss": test.results["loss"],
            "suggestion": test.suggestion(),
            "whole": test.suggestion(skip_begin=0, skip_end=1),
            "hparam": model.hparams.lr,
            "restored": sums(model) == before,
        }
    return found


@recorded
def learning_rate_finder(L, rl, part, folder):
    callback = L.callbacks.LearningRateFinder(min_lr=1e-4, max_lr=0.5, num_training_steps=30)
    found = trained(L, rl, folder, [callback], max_epochs=6)
    return {**found, "rate": callback.optimal_lr.suggestion()}


@recorded
def batch_size(L, rl, part, folder):
    found = {}
    for name, options in {
        "power": {"mode": "power", "max_trials": 3},
        "first": {"mode": "power", "init_val": 5, "max_trials": 2},
        "all data": {"mode": "power", "max_trials": 10},
    }.items():
        model = make_model(L, rl)
        trainer = make_trainer(L, folder)
        size = part("tuner").Tuner(trainer).scale_batch_size(model, **options)
        found[name] = [size, model.hparams.batch_size]
    return found


@recorded
def prediction_writer(L, rl, part, folder):
    calls = []

    class Writer(L.callbacks.BasePredictionWriter):
        def write_on_batch_end(
            self, trainer, module, prediction, batch_indices, batch, batch_idx, dataloader_idx
        ):
            calls.append(
                ["batch", list(batch_indices), batch_idx, dataloader_idx, plain(prediction)]
            )

        def write_on_epoch_end(self, trainer, module, predictions, batch_indices):
            calls.append(["epoch", plain(predictions), plain(batch_indices)])

    L.seed_everything(7, verbose=False)
    model = make_model(L, rl)
    for interval in ("batch", "epoch", "batch_and_epoch"):
        trainer = make_trainer(L, folder, callbacks=[Writer(interval)])
        trainer.predict(model, make_loader(rl, 9), return_predictions=interval == "batch")
    return calls


@recorded
def summary(L, rl, part, folder):
    kit = part("utilities.model_summary.model_summary")
    found = {}
    for depth in (-1, 0, 1, 2):
        made = kit.ModelSummary(make_model(L, rl, norm=True, example=True), max_depth=depth)
        found[str(depth)] = {
            name: plain(getattr(made, name))
            for name in (
                *("layer_names", "layer_types", "param_nums", "in_sizes", "out_sizes"),
                *("total_parameters", "trainable_parameters", "model_size", "total_layer_params"),
                "total_training_modes",
            )
        }
    counts = [0, 1, 99, 999, 1000, 1234, 99999, 123456, 999999, 1234567, 10**9, 10**12, 10**15]
    found["counts"] = [kit.get_human_readable_count(each) for each in counts]
    return found


@recorded
def gradients(L, rl, part, folder):
    norm = part("utilities.grads").grad_norm
    rl.manual_seed(3)
    model = rl.nn.Linear(3, 2)
    model(rl.ones(2, 3)).square().sum().backward()
    return {str(kind): norm(model, kind) for kind in (1, 2, 3.5, "inf")}


@recorded
def throughput(L, rl, part, folder):
    Throughput = part("fabric:utilities").Throughput
    found = []
    for options in ({"window_size": 3}, {"window_size": 4, "world_size": 2, "separator": "|"}):
        made = Throughput(available_flops=50.0, **options)
        for step in range(1, 6):
            made.update(
                time=1.5 * step, batches=step, samples=4 * step, lengths=40 * step, flops=10
            )
            found.append(plain(made.compute()))
    return found


@recorded
def loss_spikes(L, rl, part, folder):
    kit = part("callbacks.spike")
    found = []
    losses = [1.0, 0.9, 0.95, 0.8, 5.0, 0.7, 0.6, 2.5, float("nan"), 0.5]
    for options in (
        {},
        {"rtol": 1.0},
        {"atol": 1.5, "rtol": None},
        {"warmup": 6, "finite_only": False},
    ):
        made = kit.SpikeDetection(exclude_batches_path=os.path.join(folder, "skip.json"), **options)
        raised = []
        for number, loss in enumerate(losses):
            try:
                made.on_train_batch_end(
                    make_trainer(L, folder), None, rl.tensor(loss), None, number
                )
            except RuntimeError:
                raised.append(number)
        found.append(raised)
    return found


@recorded
def collections(L, rl, part, folder):
    kit = part("utilities.data")
    enums = part("utilities.enums")
    helpers = part("utilities.model_helpers")
    signature = part("utilities.signature_utils").is_param_in_hook_signature
    model = make_model(L, rl)

    def hook(batch, *rest):
        return batch

    return {
        "sizes": [
            kit.extract_batch_size(each)
            for each in (
                rl.zeros(3, 2),
                [rl.zeros(5)],
                {"a": ["x"], "b": rl.zeros(2)},
                rl.zeros(()),
            )
        ],
        "clip": [enums.GradClipAlgorithmType.supported_type(each) for each in ("norm", "other")],
        "overridden": [
            helpers.is_overridden(name, model)
            for name in ("training_step", "test_step", "forward", "on_train_start")
        ],
        "signature": [
            signature(hook, "batch"),
            signature(hook, "x"),
            signature(hook, "x", explicit=True),
            signature(model.training_step, "x", min_args=2),
            signature(model.training_step, "x", min_args=3),
            signature(model.training_step, "batch"),
        ],
    }


@recorded
def combined_loader(L, rl, part, folder):
    kit = part("utilities.combined_loader").CombinedLoader
    found = {}
    for mode in ("min_size", "max_size", "max_size_cycle", "sequential"):
        made = kit({"a": range(3), "b": [range(10, 15), range(20, 21)]}, mode)
        iterator = iter(made)
        found[mode] = [plain(each) for each in iterator]
        found[f"{mode} length"] = len(made)
    return found


@recorded
def attributes(L, rl, part, folder):
    kit = part("utilities.parsing")
    model = make_model(L, rl)
    kit.lightning_setattr(model, "lr", 0.25)
    made = kit.AttributeDict(a=1, long_name="x")

    class Own:
        def __init__(self, a, *rest, **more):
            pass

    return {
        "lr": [kit.lightning_getattr(model, "lr"), kit.lightning_hasattr(model, "nothing")],
        "dict": [made.a, str(made)],
        "picklable": [kit.is_picklable(each) for each in (1, lambda: 0)],
        "keys": [kit.parse_class_init_keys(cls) for cls in (L.callbacks.Timer, Own)],
    }


ENVIRONMENTS = {
    "slurm.SLURMEnvironment": {
        "SLURM_NTASKS": "4",
        "SLURM_NTASKS_PER_NODE": "2",
        "SLURM_PROCID": "3",
        "SLURM_LOCALID": "1",
        "SLURM_NODEID": "1",
        "SLURM_JOB_ID": "0001234",
        "SLURM_NODELIST": "alpha[5-7,9],beta1",
        "SLURM_JOB_NAME": "train",
    },
    "torchelastic.TorchElasticEnvironment": {
        "WORLD_SIZE": "6",
        "RANK": "4",
        "LOCAL_RANK": "1",
        "GROUP_RANK": "2",
        "MASTER_ADDR": "10.0.0.1",
        "MASTER_PORT": "777",
        "TORCHELASTIC_RUN_ID": "x",
    },
    "kubeflow.KubeflowEnvironment": {
        "KUBERNETES_PORT": "x",
        "MASTER_ADDR": "10.0.0.2",
        "MASTER_PORT": "888",
        "WORLD_SIZE": "3",
        "RANK": "2",
    },
    "lightning.LightningEnvironment": {"LOCAL_RANK": "2", "NODE_RANK": "3", "MASTER_PORT": "99"},
}


@recorded
def environments(L, rl, part, folder):
    found = {}
    before = dict(os.environ)
    for path, variables in ENVIRONMENTS.items():
        os.environ.update(variables)
        module, _, name = path.partition(".")
        made = getattr(part(f"fabric:plugins.environments.{module}"), name)()
        asked = ("world_size", "global_rank", "local_rank", "node_rank")
        found[name] = {each: getattr(made, each)() for each in asked}
        for each in ("main_address", "main_port", "creates_processes_externally"):
            found[name][each] = getattr(made, each)
        os.environ.clear()
        os.environ.update(before)
    return found


@recorded
def logged_rates(L, rl, part, folder):
    L.seed_everything(7, verbose=False)
    monitors = [
        L.callbacks.ThroughputMonitor(batch_size_fn=lambda batch: len(batch[0]), window_size=2)
    ]
    trainer = make_trainer(
        L,
        folder,
        callbacks=monitors,
        logger=L.loggers.CSVLogger(folder),
        log_every_n_steps=2,
        max_epochs=2,
    )
    trainer.fit(make_model(L, rl), make_loader(rl))
    with open(next(Path(folder).rglob("metrics.csv")), newline="") as file:
        rows = list(csv.DictReader(file))
    shown = [
        {key: row[key] for key in row if row[key] and not key.endswith(("_per_sec", "time"))}
        for row in rows
        if row.get("train/batches")
    ]
    return {
        "columns": sorted(rows[0]),
        "rows": [plain({k: float(v) for k, v in r.items()}) for r in shown],
    }


@recorded
def hook_order(L, rl, part, folder):
    calls = []
    names = [
        name for name in dir(L.Callback) if name.startswith("on_") or name in ("setup", "teardown")
    ]

    def noted(name, who):
        def hook(self, *args, **kwargs):
            calls.append(f"{who}.{name}")

        return hook

    silent = ("on_load_checkpoint", "on_save_checkpoint", "on_exception")
    own = [name for name in names if name not in silent and hasattr(L.LightningModule, name)]
    Spy = type("Spy", (L.Callback,), {n: noted(n, "callback") for n in names if n not in silent})
    L.seed_everything(7, verbose=False)
    base = type(make_model(L, rl))
    Model = type("Model", (base,), {name: noted(name, "module") for name in own})
    found = {}
    for name, options in {
        "plain": {"max_epochs": 2, "limit_train_batches": 2, "limit_val_batches": 1},
        "accumulate": {"max_epochs": 1, "limit_train_batches": 3, "accumulate_grad_batches": 2},
        "inside": {"max_epochs": 1, "limit_train_batches": 4, "val_check_interval": 2},
    }.items():
        calls.clear()
        trainer = make_trainer(L, folder, callbacks=[Spy()], **options)
        trainer.fit(Model(), make_loader(rl), make_loader(rl, 10, 2))
        found[name] = list(calls)
    calls.clear()
    make_trainer(L, folder, callbacks=[Spy()]).validate(Model(), make_loader(rl, 4), verbose=False)
    found["validate"] = list(calls)
    calls.clear()
    make_trainer(L, folder, callbacks=[Spy()]).predict(Model(), make_loader(rl, 4))
    found["predict"] = list(calls)
    return found


@recorded
def fabric_loop(L, rl, part, folder):
    Fabric = part("fabric:fabric").Fabric
    found = {}
    for precision in ("32-true", "64-true", "bf16-mixed"):
        fabric = Fabric(accelerator="cpu", devices=1, precision=precision)
        fabric.seed_everything(7, verbose=False)
        model = rl.nn.Linear(4, 1)
        model, optimizer = fabric.setup(model, rl.optim.SGD(model.parameters(), lr=0.05))
        loader = fabric.setup_dataloaders(make_loader(rl))
        norms = []
        for x, y in loader:
            optimizer.zero_grad()
            output = model(x)
            loss = rl.nn.functional.mse_loss(output, y.to(output.dtype))
            fabric.backward(loss)
            norms.append(float(fabric.clip_gradients(model, optimizer, max_norm=0.5)))
            optimizer.step()
        path = os.path.join(folder, f"{precision}.ckpt")
        fabric.save(path, {"model": model, "optimizer": optimizer, "step": 3, "list": [1, 2]})
        saved = rl.load(path, weights_only=False)
        state = {"model": model, "step": 0}
        rest = fabric.load(path, state)
        found[precision] = {
            "dtypes": [str(each.dtype).split(".")[-1] for each in model.parameters()],
            "weights": sums(model),
            "keys": sorted(saved),
            "names": sorted(saved["model"]),
            "step": state["step"],
            "rest": sorted(rest),
        }
        if precision != "bf16-mixed":
            found[precision]["norms"] = norms
    return found


@recorded
def hparams_files(L, rl, part, folder):
    kit = part("core.saving")
    kit.save_hparams_to_yaml(os.path.join(folder, "h.yaml"), {"a": 1, "b": [1, 2], "c": "x"})
    kit.save_hparams_to_tags_csv(os.path.join(folder, "h.csv"), {"a": 1, "b": 0.5, "c": "x"})
    nested = {"a": {"b": 1, "c": 2}, "d": 3}
    kit.update_hparams(nested, {"a": {"b": 5}, "e": 6})
    return {
        "yaml": dict(kit.load_hparams_from_yaml(os.path.join(folder, "h.yaml"))),
        "csv": dict(kit.load_hparams_from_tags_csv(os.path.join(folder, "h.csv"))),
        "nested": nested,
        "none": dict(kit.load_hparams_from_yaml(os.path.join(folder, "none.yaml"))),
    }


@recorded
def stopping_reasons(L, rl, part, folder):
    kit = L.callbacks
    found = {}
    for name, options in {
        "patience": {"patience": 1, "min_delta": 100.0},
        "threshold": {"stopping_threshold": 1000.0},
        "divergence": {"divergence_threshold": 0.0},
        "none": {"patience": 50},
    }.items():
        callback = kit.EarlyStopping("val_loss", **options)
        trained(L, rl, folder, [callback], validate=True)
        found[name] = [callback.stopping_reason.name, callback.stopped_epoch]
    return found


@recorded
def merged_dictionaries(L, rl, part, folder):
    merge = part("loggers.logger").merge_dicts
    rows = [{"a": 1.0, "b": 2.0, "c": 4.0}, {"a": 3.0, "b": 5.0}]
    return merge(rows, {"b": max}), merge(rows, default_func=sum)


@recorded
def boring_classes(L, rl, part, folder):
    kit = part("demos.boring_classes")
    found = {}
    for name in ("BoringModel", "ManualOptimBoringModel"):
        L.seed_everything(7, verbose=False)
        model = getattr(kit, name)()
        trainer = make_trainer(L, folder, max_epochs=2, limit_train_batches=5, limit_val_batches=2)
        trainer.fit(model)
        found[name] = [sums(model), trainer.global_step]
    L.seed_everything(7, verbose=False)
    model, module = kit.BoringModel(), kit.BoringDataModule()
    trainer = make_trainer(L, folder, max_epochs=1, limit_train_batches=3, limit_val_batches=2)
    trainer.fit(model, module)
    found["module"] = [sums(model), len(trainer.predict(model, datamodule=module))]
    rl.manual_seed(3)
    found["net"] = kit.Net().eval()(rl.ones(2, 1, 28, 28))
    found["demo"] = kit.DemoModel()(rl.ones(1, 32))
    found["data"] = [
        plain(next(iter(kit.RandomIterableDataset(3, 2)))),
        len(kit.RandomIterableDatasetWithLen(3, 2)),
        plain(kit.RandomDictDataset(3, 2)[1]),
    ]
    return found


@recorded
def language_models(L, rl, part, folder):
    path = Path(folder, "wikitext-2.txt")
    path.write_text("the cat sat\non the mat\nthe cat ran\n" * 6)
    kit, lstm = part("demos.transformer"), part("demos.lstm")
    data, dictionary = kit.tokenize(path)
    rl.manual_seed(3)
    model = kit.Transformer(vocab_size=11, ninp=8, nhid=8).eval()
    words = data[:8].view(2, 4)
    recurrent = lstm.SimpleLSTM(vocab_size=11, ninp=8, nhid=8, nlayers=2).eval()
    output, _ = recurrent(words, recurrent.init_hidden(2))
    return {
        "words": [plain(data[:12]), len(dictionary)],
        # without positions: upstream gives all words that of the sequence's end
        "transformer": model.decoder(model.transformer(*[model.embedding(words)] * 2)),
        "lstm": output,
        "batches": list(lstm.SequenceSampler(range(10), 3)),
    }


@recorded
def samplers(L, rl, part, folder):
    kit, wrapper = part("overrides.distributed"), part("fabric:utilities.distributed")
    data = list(range(11))
    found = {}
    for rank in range(3):
        options = {"num_replicas": 3, "rank": rank}
        plain_order = kit.UnrepeatedDistributedSampler(data, shuffle=False, **options)
        shuffled = kit.UnrepeatedDistributedSampler(data, shuffle=True, seed=3, **options)
        own = rl.utils.data.SequentialSampler(range(5, 12))
        wrapped = wrapper.DistributedSamplerWrapper(own, shuffle=False, **options)
        unrepeated = kit.UnrepeatedDistributedSamplerWrapper(own, shuffle=False, **options)
        found[str(rank)] = [list(each) for each in (plain_order, shuffled, wrapped, unrepeated)]
        found[f"{rank} lengths"] = [len(plain_order), len(wrapped), len(unrepeated)]
    return found


@recorded
def helpers(L, rl, part, folder):
    tying, memory = part("utilities.parameter_tying"), part("utilities.memory")
    apply, data = part("fabric:utilities.apply_func"), part("fabric:utilities.data")
    nn = rl.nn
    model = nn.Sequential(nn.Linear(2, 2), nn.Linear(2, 2), nn.Linear(2, 2))
    model[2].weight = model[0].weight
    shared = tying.find_shared_parameters(model)
    tying.set_shared_parameters(model, [["0.bias", "1.bias"]])
    errors = [
        RuntimeError("CUDA error: out of memory"),
        RuntimeError("cuDNN error: CUDNN_STATUS_NOT_SUPPORTED."),
        RuntimeError("DefaultCPUAllocator: can't allocate memory"),
        RuntimeError("other"),
        ValueError("CUDA out of memory"),
    ]
    loader = rl.utils.data.DataLoader(range(4))
    grown = rl.ones(2, requires_grad=True) * 2
    cut = memory.recursive_detach({"a": grown, "b": 3})
    scalars = apply.convert_tensors_to_scalars({"a": rl.tensor(2.0), "b": [rl.tensor(3)], "c": "x"})
    tensors = apply.convert_to_tensors({"a": 2, "b": [1.5, True]}, rl.device("cpu"))
    return {
        "shared": [shared, tying.find_shared_parameters(model)],
        "memory": [memory.is_oom_error(each) for each in errors],
        "detached": [cut["a"].requires_grad, cut["b"]],
        "scalars": scalars,
        "tensors": [str(each.dtype).split(".")[-1] for each in (tensors["a"], *tensors["b"])],
        "lengths": [data.has_len(each) for each in (loader, iter([1]))],
        "sized": [data.sized_len(each) for each in (loader, [1, 2], iter([1]))],
        "iterable": data.has_iterable_dataset(loader),
    }


@recorded
def constructor_arguments(L, rl, part, folder):
    kit = part("utilities.parsing")
    import inspect

    class Base:
        def __init__(self, a, b=2, **more):
            self.own = kit.get_init_args(inspect.currentframe())
            super().__init__()

    class Child(Base):
        def __init__(self, c, *rest, d=4):
            super().__init__(c + 1, x=5)
            self.outer = kit.get_init_args(inspect.currentframe())

    class Holder(L.LightningModule):
        def __init__(self, lr, depth=3, name="x"):
            super().__init__()
            kit.save_hyperparameters(self, "lr", "name")

    made = Child(1, 7, d=9)
    namespace = {"a": 1, "b": lambda: 0}
    kit.clean_namespace(namespace)
    return {
        "own": made.own,
        "outer": made.outer,
        "saved": dict(Holder(0.5).hparams),
        "clean": sorted(namespace),
    }


@recorded
def seeds(L, rl, part, folder):
    import random

    kit = part("utilities.seed")
    L.seed_everything(5, verbose=False)
    with kit.isolate_rng():
        inside = [rl.rand(2), random.random()]
    after = [rl.rand(2), random.random()]
    same = plain(inside) == plain(after)
    part("fabric:utilities.seed").reset_seed()
    return {
        "values": after,
        "same": same,
        "reset": rl.rand(2),
        "seed": os.environ["PL_GLOBAL_SEED"],
    }


def record(parts=PARTS, name="parts"):
    """Run every function with lightning and write what it gave."""
    import lightning.pytorch as L
    import torch

    warnings.simplefilter("ignore")
    logging.getLogger("lightning.pytorch").setLevel(logging.ERROR)
    logging.getLogger("lightning.fabric").setLevel(logging.ERROR)

    def part(path):
        return importlib.import_module(full_path(path))

    found = {}
    for key, function in parts.items():
        with tempfile.TemporaryDirectory() as folder:
            found[key] = plain(function(L, torch, part, folder))
    versions = {"lightning": importlib.import_module("lightning").__version__}
    text = json.dumps({"versions": versions, "parts": found}, indent=None)
    for key in parts:
        text = text.replace(f'"{key}": ', f'\n"{key}": ', 1)
    Path(__file__).with_name(f"{name}.json").write_text(text + "\n")


if __name__ == "__main__":
    sys.exit(record())

"""Plug-ins, loggers and files whose makers are not at hand: what Lightning does with them.

`python plugin_parts.py` runs every function here with lightning and writes `plugin_parts.json`,
which `test_parts_like_lightning.py` compares with. Functions are as in `parts.py`.
"""

from __future__ import annotations

import importlib
import os
import sys
import types
from pathlib import Path

from parts import make_model, record, sums

PARTS = {}


def recorded(function):
    """A function whose answer is compared."""
    PARTS[function.__name__] = function
    return function


def refused(call, *arguments, **keywords):
    """The type of the error that a call gives."""
    try:
        call(*arguments, **keywords)
    except Exception as error:  # noqa: BLE001 - its type is the answer
        return type(error).__name__
    return "none"


class Entry:
    """What a stand-in experiment has under a key."""

    def __init__(self, told, key):
        self.told, self.key = told, key

    def append(self, value, step=None):
        self.told.append(["append", self.key, value, step])

    def save(self, path):
        self.told.append(["save", self.key])
        return path


def stand_in_litlogger(told):
    """A module in place of litlogger, which notes what it is told."""

    class Experiment:
        url = "https://somewhere"

        def __init__(self, **options):
            self.name = options["name"].split("-2")[0]
            told.append(["begin", {key: options[key] for key in sorted(options)
                                   if key not in ("name", "log_dir")}])  # fmt: skip

        def print_url(self):
            told.append(["print_url"])

        def __getitem__(self, key):
            return Entry(told, key.split("-2")[0])

        def __setitem__(self, key, value):
            told.append(["set", key.split("-2")[0], value])

        def finalize(self, status):
            told.append(["finalize", status])

    def noted(kind):
        def make(data, version=None, metadata=None, staging_dir=None):
            data = os.path.basename(data) if isinstance(data, str) else type(data).__name__
            return [kind, data, version, metadata, staging_dir]

        return make

    module, names = types.ModuleType("litlogger"), types.ModuleType("litlogger.generator")
    module.Experiment, module.Model, module.File = Experiment, noted("model"), noted("file")
    names._create_name = lambda: "made-up"
    module.generator = names
    return {"litlogger": module, "litlogger.generator": names}


@recorded
def lit_logger(L, rl, part, folder):
    told = []
    sys.modules.update(stand_in_litlogger(told))
    try:
        made = part("loggers.litlogger").LitLogger
        log = made(folder, name="digits", teamspace="ours", metadata={"a": 1}, save_logs=False)
        before = [log.name, log.version, log.root_dir == folder, made(folder).name]
        log.log_metrics({"loss": 0.5, "rate": rl.tensor(0.25)}, step=3)
        log.log_metrics({"loss": 0.25})
        log.log_hyperparams({"lr": 0.1, "layers": [2, 3]})
        log.log_metadata({"who": "me"})
        log.log_model(rl.nn.Linear(1, 1), metadata={"k": "v"})
        log.log_model_artifact("some/net.ckpt", version="7")
        log.log_file("notes/readme.md")
        log.get_file("notes/readme.md")
        log.save()
        log.finalize("success")
        after = [log.url, os.path.basename(log.log_dir), log.save_dir == log.log_dir]
        return {"told": told, "before": before, "after": after, "ends": log.version[-1]}
    finally:
        for name in ("litlogger", "litlogger.generator"):
            del sys.modules[name]


@recorded
def lit_logger_checkpoints(L, rl, part, folder):
    """What is uploaded of a run, where all checkpoints are kept and where one is."""
    found = {}
    for top in (-1, 1):
        told = []
        sys.modules.update(stand_in_litlogger(told))
        log = part("loggers.litlogger").LitLogger(folder, name=f"n{top}", log_model=True)
        keep = part("callbacks").ModelCheckpoint(
            os.path.join(folder, str(top)), filename="{step}", every_n_train_steps=2,
            save_top_k=top,
        )  # fmt: skip
        run = L.Trainer(
            max_steps=4, logger=log, callbacks=[keep], enable_progress_bar=False,
            enable_model_summary=False, accelerator="cpu", limit_val_batches=0,
        )  # fmt: skip
        run.fit(make_model(L, rl))
        found[str(top)] = [each for each in told if each[0] == "set" and each[2][0] == "model"]
        for name in ("litlogger", "litlogger.generator"):
            del sys.modules[name]
    return found


@recorded
def neptune(L, rl, part, folder):
    return refused(part("loggers.neptune").NeptuneLogger)


@recorded
def registry_paths(L, rl, part, folder):
    kit = part("utilities.model_registry")
    for name in ("digits", "digits_2", "team_digits"):
        Path(folder, name).mkdir()
    for name in ("digits", "digits_2"):
        Path(folder, name, "best.ckpt").touch()
    find = kit.find_model_local_ckpt_path
    paths = [
        "registry:digits",
        "registry:digits:version:2",
        "REGISTRY:digits",
        "registry:version:2",
    ]
    given = [
        os.path.relpath(find(path, default, folder), folder)
        for path, default in [*((path, None) for path in paths[:3]), (paths[3], "digits")]
    ]
    errors = [refused(find, path, None, folder) for path in ("registry", "other", paths[3], None)]
    return {
        "found": given,
        "errors": [*errors, refused(find, "registry:team/digits", None, folder)],
    }


@recorded
def registry_download(L, rl, part, folder):
    """A run that begins from a model that a stand-in of litmodels downloads."""
    source = L.Trainer(max_steps=1, logger=False, enable_progress_bar=False, accelerator="cpu",
                       enable_model_summary=False, default_root_dir=folder)  # fmt: skip
    source.fit(make_model(L, rl))
    told = []

    def download_model(name, download_dir):
        told.append([name, os.path.relpath(download_dir, folder)])
        os.makedirs(download_dir, exist_ok=True)
        source.save_checkpoint(os.path.join(download_dir, "net.ckpt"))
        return ["net.ckpt"]

    module = types.ModuleType("litmodels")
    module.download_model = download_model
    module.__spec__ = types.SimpleNamespace(name="litmodels")
    sys.modules["litmodels"] = module
    try:
        run = L.Trainer(max_steps=3, logger=False, enable_progress_bar=False, accelerator="cpu",
                        enable_model_summary=False, enable_checkpointing=False,
                        default_root_dir=folder)  # fmt: skip
        run.fit(make_model(L, rl), ckpt_path="registry:team/net:version:3")
    finally:
        del sys.modules["litmodels"]
    return {"told": told, "step": run.global_step}


@recorded
def deepspeed_files(L, rl, part, folder):
    find = part("utilities.deepspeed").ds_checkpoint_dir
    errors = [refused(find, folder), refused(find, folder, "absent")]
    Path(folder, "latest").write_text("step7\n")
    Path(folder, "step7").mkdir()
    return {"found": os.path.relpath(find(folder), folder), "errors": errors,
            "given": os.path.relpath(find(folder, "step7"), folder)}  # fmt: skip


@recorded
def deepspeed_summary(L, rl, part, folder):
    """Of parameters that say how many entries the whole ones have."""
    kit = part("utilities.model_summary.model_summary_deepspeed")
    model = make_model(L, rl)
    for number, each in enumerate(model.parameters()):
        each.ds_numel = each.numel() * 2
        each.partition_numel = each.numel
        each.requires_grad_(number != 0)
    found = kit.DeepSpeedSummary(model, max_depth=2)
    return {
        "names": found.layer_names, "types": found.layer_types, "numbers": found.param_nums,
        "each": found.parameters_per_layer, "all": found.total_parameters,
        "trainable": found.trainable_parameters,
        "size": kit.deepspeed_param_size(next(model.parameters())),
        "headed": "params per device" in str(found).lower(),
    }  # fmt: skip


@recorded
def hooks_removed(L, rl, part, folder):
    net = rl.nn.Sequential(rl.nn.Linear(2, 2), rl.nn.ReLU())
    told = []
    net[0].register_forward_hook(lambda *_: told.append("forward"))
    net.register_forward_pre_hook(lambda *_: told.append("before"))
    net[0].register_full_backward_hook(lambda *_: told.append("backward"))
    net(rl.ones(1, 2)).sum().backward()
    part("strategies.deepspeed").remove_module_hooks(net)
    first = len(told)
    net(rl.ones(1, 2)).sum().backward()
    return [sorted(told[:first]), len(told) - first]


@recorded
def distributed_protocol(L, rl, part, folder):
    kind = part("utilities.types").DistributedDataParallel

    class Like:
        def no_sync(self):
            return None

    return [isinstance(Like(), kind), isinstance(rl.nn.Linear(1, 1), kind)]


@recorded
def collective_of_one(L, rl, part, folder):
    """One process, alone in its group."""
    kit = part("fabric:plugins.collectives")
    made = kit.TorchCollective()
    found = {"before": [made.is_available(), made.is_initialized(), refused(lambda: made.group)]}
    made.setup(main_address="127.0.0.1", main_port="29511", rank=0, world_size=1, backend="gloo")
    found["set up"] = [made.is_initialized(), made.rank, made.world_size,
                       "MASTER_ADDR" in os.environ]  # fmt: skip
    sub = kit.TorchCollective()
    sub.create_group(ranks=[0])
    found["second"] = refused(sub.create_group)
    tensor = rl.tensor([1.0, 2.0])
    into, objects, scattered = [rl.zeros(2)], [None], [None]
    found["tensors"] = [
        sub.broadcast(tensor.clone(), 0), sub.all_reduce(tensor.clone()),
        sub.all_reduce(tensor.clone(), "max"), sub.reduce(tensor.clone(), 0, op="product"),
        sub.all_gather(into, tensor), sub.gather(tensor, [rl.zeros(2)], 0),
        sub.scatter(rl.zeros(2), [tensor]), sub.reduce_scatter(rl.zeros(2), [tensor]),
    ]  # fmt: skip
    found["objects"] = [
        sub.all_gather_object(objects, {"a": 1}), sub.broadcast_object_list([5], 0),
        sub.gather_object("x", [None]), sub.scatter_object_list(scattered, ["y"]),
    ]  # fmt: skip
    sub.barrier()
    found["errors"] = [refused(sub.all_reduce, tensor, each) for each in ("mean", 3)]
    sub.teardown()
    found["after"] = [made.is_initialized(), kit.TorchCollective.manages_default_group]
    single = kit.SingleDeviceCollective()
    found["single"] = [refused(lambda: single.group), refused(single.teardown),
                       single.is_available(), single.is_initialized()]  # fmt: skip
    single.setup().create_group()
    found["single"].append(refused(single.create_group))
    return found


@recorded
def fsdp_precision(L, rl, part, folder):
    """Dtypes of each precision, and what a batch, weights and results become."""
    kind = part("plugins.precision").FSDPPrecision
    found = {}
    for name in ("32-true", "16-true", "bf16-true", "16-mixed", "bf16-mixed"):
        made = kind(name)
        config = made.mixed_precision_config
        batch = made.convert_input({"x": rl.ones(2, dtype=rl.float64), "n": rl.tensor(1)})
        with made.tensor_init_context():
            fresh, layer = rl.zeros(1), rl.nn.Linear(1, 1)
        dtypes = [
            config.param_dtype, config.reduce_dtype, config.buffer_dtype, batch["x"].dtype,
            batch["n"].dtype, made.convert_output(rl.ones(1, dtype=rl.bfloat16)).dtype,
            fresh.dtype, layer.weight.dtype, made.convert_module(rl.nn.Linear(1, 1)).weight.dtype,
        ]  # fmt: skip
        scaler = None if made.scaler is None else type(made.scaler).__name__
        words = [str(each).rpartition(".")[2] for each in dtypes]
        found[name] = [made.precision, *words, scaler, sorted(made.state_dict())]
    found["errors"] = [refused(kind, each) for each in ("64-true", "16", None)]
    return found


def spy_on(kind, told):
    """A precision that notes which of its methods are called, unless from another of them."""
    names = """convert_module convert_input train_step_context val_step_context test_step_context
        predict_step_context pre_backward backward post_backward optimizer_step clip_gradients
        clip_grad_by_value clip_grad_by_norm connect""".split()

    def noted(name):
        def method(self, *args, **kwargs):
            told.append(name)
            return getattr(kind, name)(self, *args, **kwargs)

        return method

    methods = {name: noted(name) for name in names}
    # Nothing is asked of the base's constructor.
    return type("Spy", (kind,), {**methods, "precision": "spy", "__init__": lambda self: None})()


def spied(L, rl, plugin, model, **options):
    """A short fit, and what its precision was called."""
    run = L.Trainer(
        accelerator="cpu", devices=1, logger=False, plugins=[plugin],
        enable_checkpointing=False, enable_progress_bar=False, enable_model_summary=False,
        max_epochs=1, limit_train_batches=2, limit_val_batches=1, num_sanity_val_steps=0, **options
    )  # fmt: skip
    run.fit(model)
    return run


@recorded
def precision_calls(L, rl, part, folder):
    """The methods of a precision that loops call, in order, and what a changed one does."""
    kind, found = part("plugins.precision").Precision, {}
    options = {"plain": {}, "clipped": {"gradient_clip_val": 0.1},
               "by value": {"gradient_clip_val": 0.1, "gradient_clip_algorithm": "value"},
               "accumulated": {"accumulate_grad_batches": 2}}  # fmt: skip
    for name, chosen in options.items():
        told = []
        run = spied(L, rl, spy_on(kind, told), make_model(L, rl), **chosen)
        told.append("predict")
        run.predict(run.lightning_module, run.lightning_module.val_dataloader())
        found[name] = told
        found[f"{name} precision"] = run.precision

    class Manual(type(make_model(L, rl))):
        def __init__(self):
            super().__init__()
            self.automatic_optimization = False

        def training_step(self, batch, batch_idx):
            optimizer = self.optimizers()
            optimizer.zero_grad()
            self.manual_backward(super().training_step(batch, batch_idx))
            self.clip_gradients(optimizer.optimizer, 0.2, "norm")
            optimizer.step()

    told = []
    spied(L, rl, spy_on(kind, told), Manual())
    found["manual"] = told

    class Halved(kind):
        def convert_input(self, data):
            return [each / 2 for each in data]

        def pre_backward(self, tensor, module):
            return super().pre_backward(tensor * 3, module)

        def main_params(self, optimizer):
            yield optimizer.param_groups[0]["params"][0]

    model = make_model(L, rl)
    with rl.no_grad():
        for parameter in model.parameters():
            parameter.fill_(0.1)
    spied(L, rl, Halved(), model, gradient_clip_val=0.1)
    found["weights"] = sums(model)
    return found


@recorded
def data_parallel(L, rl, part, folder):
    """A loop of one's own with the strategy of copies, on one device."""
    kit = part("fabric:strategies.dp")
    fabric = importlib.import_module(part("fabric:strategies").__name__.rpartition(".")[0])
    strategy = kit.DataParallelStrategy(parallel_devices=[rl.device("cpu")])
    made = fabric.Fabric(accelerator="cpu", devices=1, strategy=strategy)
    net = rl.nn.Linear(3, 1)
    with rl.no_grad():
        for parameter in net.parameters():
            parameter.fill_(0.5)
    model, optimizer = made.setup(net, rl.optim.SGD(net.parameters(), lr=0.1))
    made.backward(model(rl.arange(6.0).reshape(2, 3)).sum())
    optimizer.step()
    return {
        "weights": list(net.state_dict().values()), "mean": strategy.all_reduce(
            rl.tensor([1.0, 4.0])) if hasattr(strategy, "all_reduce") else strategy.reduce(
            rl.tensor([1.0, 4.0])),
        "names": sorted(model.state_dict()), "ranks": strategy.distributed_sampler_kwargs,
    }  # fmt: skip


if __name__ == "__main__":
    sys.exit(record(PARTS, "plugin_parts"))

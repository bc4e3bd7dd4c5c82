"""A program that trains in several processes: `strategy_program.py strategy devices folder kind`.

It prints what the first process found, as JSON, after the word RESULT. Lightning runs it as well,
with `FRAMEWORK=torch`.
"""

from __future__ import annotations

import functools
import json
import os
import sys

if os.environ.get("FRAMEWORK") == "torch":
    import lightning as L
    import torch
else:
    import lightning_lite as L
    import rushlight as torch

F = torch.nn.functional
BATCH = 8  # of all processes together


class Model(L.LightningModule):
    """Two layers with the same first weights in every framework."""

    def __init__(self, noisy: bool = False):
        super().__init__()
        self.net = torch.nn.Sequential(
            torch.nn.Linear(4, 7), torch.nn.Tanh(), torch.nn.Linear(7, 1)
        )
        self.noisy, self.asked = noisy, {}
        with torch.no_grad():
            for number, parameter in enumerate(self.parameters()):
                values = torch.arange(float(parameter.numel())) * 0.7 + number
                parameter.copy_((values.sin() * 0.3).reshape(parameter.shape))

    def training_step(self, batch, batch_idx):
        x, y = batch
        if self.noisy:  # otherwise in each process, and after a resume as without
            x = x + 0.1 * torch.rand(x.shape) * (1 + self.global_rank)
            torch.rand(self.global_rank + 1)
        loss = F.mse_loss(self.net(x), y)
        self.log("loss", loss, on_step=True, on_epoch=True, sync_dist=True)
        self.log("own", loss, rank_zero_only=True)
        return loss

    def validation_step(self, batch, batch_idx):
        x, y = batch
        self.log("val", F.mse_loss(self.net(x), y), sync_dist=True)
        self.log("most", float(self.global_rank), reduce_fx="max", sync_dist=True)

    def on_train_end(self):
        rank = self.global_rank
        strategy = self.trainer.strategy
        self.asked = {
            "gathered": self.all_gather({"a": torch.tensor([rank + 1.0])})["a"].flatten().tolist(),
            "sent": strategy.broadcast({"from": rank}, src=1),
            "mean": float(strategy.reduce(torch.tensor(float(rank)), reduce_op="mean")),
            "sum": float(strategy.reduce(torch.tensor(float(rank)), reduce_op="sum")),
            "decided": [
                strategy.reduce_boolean_decision(rank == 0, all=every) for every in (True, False)
            ],
            "world": [self.trainer.world_size, self.trainer.num_nodes, self.trainer.num_devices],
        }

    def predict_step(self, batch, batch_idx):
        return batch[0][:, 0]

    def configure_optimizers(self):
        optimizer = torch.optim.Adam(self.parameters(), lr=0.05)
        return [optimizer], [torch.optim.lr_scheduler.StepLR(optimizer, 1, 0.5)]


class Failing(Model):
    """Raises in the second process."""

    def training_step(self, batch, batch_idx):
        if self.global_rank == 1 and batch_idx == 1:
            raise ArithmeticError("the second process gives up")
        return super().training_step(batch, batch_idx)


def data(batch: int, rows: int = 32, shuffle: bool = False):
    """A loader of a sum."""
    x = (torch.arange(4.0 * rows) * 0.37).sin().reshape(rows, 4)
    found = torch.utils.data.TensorDataset(x, x.sum(1, keepdim=True))
    return torch.utils.data.DataLoader(found, batch_size=batch, shuffle=shuffle)


def trainer(strategy: str, devices: int, folder: str, **options):
    """A silent trainer."""
    defaults = {"max_epochs": 2, "logger": False, "enable_progress_bar": False}
    defaults |= {"enable_model_summary": False, "num_sanity_val_steps": 0, "accelerator": "cpu"}
    return L.Trainer(
        strategy=strategy, devices=devices, default_root_dir=folder, **{**defaults, **options}
    )


def train(strategy: str, devices: int, folder: str):
    """Weights, metrics, answers, and a file by several ways."""
    logger = L.pytorch.loggers.CSVLogger if hasattr(L, "pytorch") else L.loggers.CSVLogger
    run = trainer(strategy, devices, folder, log_every_n_steps=1, logger=logger(folder))
    model = Model()
    run.fit(model, data(BATCH // devices), data(BATCH // devices))
    whole = run.strategy.checkpoint_io.load_checkpoint(run.checkpoint_callback.best_model_path)
    return {
        "weights": {name: value.tolist() for name, value in whole["state_dict"].items()},
        "metrics": {name: float(v) for name, v in sorted(run.callback_metrics.items())},
        "asked": model.asked,
        "best": os.path.basename(run.checkpoint_callback.best_model_path),
        "step": [run.global_step, run.current_epoch],
    }


def resume(strategy: str, devices: int, folder: str):
    """Weights after training at a stretch, and after going on from the middle of an epoch."""
    found = []
    saving = L.pytorch.callbacks if hasattr(L, "pytorch") else L.callbacks
    for name, path in (("first", None), ("again", "step=3.ckpt")):
        L.seed_everything(4, verbose=False)
        where = os.path.join(folder, name)
        keep = saving.ModelCheckpoint(
            dirpath=where, filename="{step}", every_n_train_steps=1, save_top_k=-1
        )
        run = trainer(strategy, devices, folder, callbacks=[keep], limit_val_batches=0)
        given = None if path is None else os.path.join(folder, "first", path)
        run.fit(Model(noisy=True), data(BATCH // devices, shuffle=True), ckpt_path=given)
        state = run.strategy.checkpoint_io.load_checkpoint(os.path.join(where, "step=8.ckpt"))
        found.append({name: value.tolist() for name, value in state["state_dict"].items()})
    return {"first": found[0], "again": found[1]}


def accumulate(strategy: str, devices: int, folder: str):
    """Weights where two batches make a step, with clipping."""
    run = trainer(strategy, devices, folder, accumulate_grad_batches=2, gradient_clip_val=0.1)
    run.fit(Model(), data(BATCH // devices))
    whole = run.strategy.checkpoint_io.load_checkpoint(run.checkpoint_callback.best_model_path)
    return {"weights": {name: value.tolist() for name, value in whole["state_dict"].items()}}


def predict(strategy: str, devices: int, folder: str):
    """What this process predicts: every item once."""
    run = trainer(strategy, devices, folder)
    found = run.predict(Model(), data(2, rows=7))
    mine = [value for batch in found for value in batch.tolist()]
    return {"mine": mine, "all": [list(each) for each in run.strategy.gather_objects(mine)]}


def fail(strategy: str, devices: int, folder: str):
    """A run that ends by an error in the second process."""
    trainer(strategy, devices, folder).fit(Failing(), data(BATCH // devices))


def learn(strategy: str, devices: int, folder: str):
    """What an `easy.Learner` tells of an epoch: means of batches, and metrics that gather."""
    from lightning_lite import easy

    x = (torch.arange(120.0) * 0.37).sin().reshape(30, 4)
    found = torch.utils.data.TensorDataset(x, (x.sum(1) > 0.4).long())
    loader = torch.utils.data.DataLoader(found, batch_size=BATCH // devices)
    network = torch.nn.Linear(4, 2)
    with torch.no_grad():
        network.weight.copy_(torch.tensor([[0.0, 0.0, 0.0, 0.0], [1.0, 0.2, 1.0, -0.5]]))
        network.bias.zero_()
    gathering = [easy.F1Score(), easy.RocAucBinary(), easy.CohenKappa(), easy.Dice()]
    learner = easy.Learner(
        (loader, loader), network, torch.nn.CrossEntropyLoss(), path=folder, accelerator="cpu",
        metrics=[easy.accuracy, *gathering, easy.Perplexity(), easy.MatthewsCorrCoef()],
        strategy=strategy, devices=devices, enable_progress_bar=False,
    )  # fmt: skip
    learner.fit(1, 0.0)
    return {"names": learner.recorder.names, "values": learner.recorder.values[0]}


def fabric(strategy: str, devices: int, folder: str):
    """Weights after a loop of one's own, in which two batches make a step."""
    made = L.Fabric(accelerator="cpu", strategy=strategy, devices=devices)
    return made.launch(fabric_loop, BATCH // devices, folder)


def asked(strategy: str, devices: int, folder: str):
    """The same, with what the command line says."""
    made = L.Fabric(accelerator="cpu")
    return made.launch(fabric_loop, BATCH // devices, folder)


def fabric_loop(made, size: int, folder: str):
    """The loop."""
    model = Model().net
    optimizer = torch.optim.SGD(model.parameters(), lr=0.05)
    model, optimizer = made.setup(model, optimizer)
    for number, (x, y) in enumerate(made.setup_dataloaders(data(size))):
        with made.no_backward_sync(model, enabled=number % 2 == 0):
            made.backward(F.mse_loss(model(x), y))
        if number % 2:
            optimizer.step()
            optimizer.zero_grad()
    path = os.path.join(folder, "kept.ckpt")
    made.save(path, {"model": model})
    mean = float(made.all_reduce(torch.tensor(float(made.global_rank))))
    everywhere = made.all_gather(torch.tensor(made.global_rank)).tolist()
    told = made.broadcast(made.global_rank, src=1) if made.world_size > 1 else None
    weights = {name: value.tolist() for name, value in made.load(path)["model"].items()}
    return {"weights": weights, "mean": mean, "ranks": everywhere, "told": told}


def fabric_late(strategy: str, devices: int, folder: str):
    """What is said of an optimizer that was made before its module was set up alone."""
    made = L.Fabric(accelerator="cpu", strategy=strategy, devices=devices)
    return made.launch(fabric_late_loop)


def fabric_late_loop(made):
    """One that comes too early, one that comes in time."""
    model = Model().net
    early = torch.optim.SGD(model.parameters(), lr=0.1)
    model = made.setup_module(model)
    try:
        made.setup_optimizers(early)
        told = ""
    except ValueError as error:
        told = str(error)
    made.setup_optimizers(torch.optim.SGD(model.parameters(), lr=0.1))
    return {"told": told}


def fabric_options(strategy: str, devices: int, folder: str):
    """Steps and a checkpoint in the middle with each set of options of FSDPStrategy, by name."""
    from rushlight.distributed.fsdp import CPUOffload, MixedPrecision, ShardingStrategy, wrap

    linear, tanh = torch.nn.Linear, torch.nn.Tanh
    small = functools.partial(wrap.size_based_auto_wrap_policy, min_num_params=10)
    options = {
        "classes": {"auto_wrap_policy": {linear}, "activation_checkpointing_policy": {linear}},
        "size": {"auto_wrap_policy": small, "sharding_strategy": "shard_grad_op"},
        "function": {"auto_wrap_policy": lambda module: isinstance(module, linear)},
        "custom": {
            "auto_wrap_policy": wrap.CustomPolicy(lambda module: isinstance(module, linear)),
            "activation_checkpointing": [linear, tanh],
            "cpu_offload": CPUOffload(offload_params=True),
        },
        "strategy": {"sharding_strategy": ShardingStrategy.SHARD_GRAD_OP, "cpu_offload": True},
        "wide": {"mixed_precision": MixedPrecision(torch.float64, torch.float64)},
    }
    if devices == 1:
        made = L.Fabric(accelerator="cpu", strategy=strategy, devices=1)
        return {"plain": made.launch(options_loop, BATCH, os.path.join(folder, "plain.ckpt"))}
    made = L.Fabric(accelerator="cpu", strategy=strategy, devices=devices)
    return made.launch(all_options, options, folder)


def all_options(made, options, folder: str):
    """What every set of options gives, in processes that one Fabric started."""
    found = {}
    for name, each in options.items():
        other = L.Fabric(
            accelerator="cpu", strategy=L.strategies.FSDPStrategy(**each), devices=made.world_size
        )
        other._launched = True
        path = os.path.join(folder, f"{name}.ckpt")
        found[name] = options_loop(other, BATCH // made.world_size, path)
    return found


def options_loop(made, size: int, path: str):
    """The loop; weights in the middle, from a checkpoint that was read into the model again."""
    model = Model().net
    optimizer = torch.optim.SGD(model.parameters(), lr=0.05)
    model, optimizer = made.setup(model, optimizer)
    for number, (x, y) in enumerate(made.setup_dataloaders(data(size))):
        made.backward(F.mse_loss(model(x).float(), y))
        optimizer.step()
        optimizer.zero_grad()
        if number == 1:
            made.save(path, {"model": model})
    made.save(path + ".end", {"model": model})
    made.load(path, {"model": model})
    made.save(path + ".again", {"model": model})
    kinds = [type(each).__name__ for each in model.module.modules()]
    numbers = {
        f"{when} {name}": value.tolist()
        for when in ("end", "again")
        for name, value in made.load(f"{path}.{when}")["model"].items()
    }
    parts = [sum(kind.startswith(word) for kind in kinds) for word in ("FSDP", "Checkpoint")]
    return {"weights": numbers, "parts": parts}


def fabric_state(strategy: str, devices: int, folder: str):
    """Clipped steps, a checkpoint after two of four, and the same steps again from it."""
    made = L.Fabric(accelerator="cpu", strategy=strategy, devices=devices)
    return made.launch(fabric_state_loop, BATCH // devices, folder)


def fabric_state_loop(made, size: int, folder: str):
    """The loop; `again` starts from other weights, which the checkpoint replaces."""
    path, found = os.path.join(folder, "half.ckpt"), {}
    for name in ("first", "again"):
        model = Model().net
        if name == "again":
            with torch.no_grad():
                for parameter in model.parameters():
                    parameter.add_(1.0)
        optimizer = torch.optim.Adam(model.parameters(), lr=0.05)
        model, optimizer = made.setup(model, optimizer)
        state = {"model": model, "optimizer": optimizer, "number": -1}
        if name == "again":
            found["rest"] = made.load(path, state)
        norms = []
        for number, (x, y) in enumerate(made.setup_dataloaders(data(size))):
            if number <= state["number"]:
                continue
            made.backward(F.mse_loss(model(x), y))
            if number == 3:
                made.clip_gradients(model, optimizer, clip_val=0.05)
            else:
                norms.append(float(made.clip_gradients(model, optimizer, max_norm=0.2)))
            optimizer.step()
            optimizer.zero_grad()
            if number == 1 and name == "first":
                made.save(path, {**state, "number": number})
        end = os.path.join(folder, f"{name}.ckpt")
        made.save(end, {"model": model})
        weights = made.load(end)["model"]
        found[name] = {key: value.tolist() for key, value in weights.items()}
        found[f"{name}_norms"] = norms
    held = [parameter for group in optimizer.param_groups for parameter in group["params"]]
    local = [each.to_local() if hasattr(each, "to_local") else each for each in held]
    found["numbers"] = sum(each.numel() for each in local)
    return found


class Divided(Model):
    """Divides its layers among the processes of the mesh."""

    def configure_model(self):
        shard = torch.distributed.fsdp.fully_shard
        mesh = self.device_mesh["data_parallel"]
        if not isinstance(self.net, torch.distributed.fsdp.FSDPModule):
            for layer in (self.net[0], self.net[2]):
                shard(layer, mesh=mesh)
            shard(self.net, mesh=mesh)


def parallel_strategy(parts: bool, devices: int):
    """The strategy whose model divides itself."""
    home = L.pytorch.strategies if hasattr(L, "pytorch") else L.strategies
    return home.ModelParallelStrategy(devices, 1, save_distributed_checkpoint=parts)


def parallel(strategy: str, devices: int, folder: str):
    """Weights of a run and of one that goes on from its third step, by files or by folders."""
    parts, found = strategy == "parts", {}
    callbacks = L.pytorch.callbacks if hasattr(L, "pytorch") else L.callbacks
    for name in ("first", "again"):
        where = os.path.join(folder, name)
        keep = callbacks.ModelCheckpoint(
            dirpath=where, filename="{step}", every_n_train_steps=1, save_top_k=-1
        )
        run = trainer(parallel_strategy(parts, devices), devices, folder, callbacks=[keep])
        model = Divided()
        path = None if name == "first" else os.path.join(folder, "first", "step=3.ckpt")
        run.fit(model, data(BATCH // devices), ckpt_path=path)
        end = {key: value.full_tensor().tolist() for key, value in model.state_dict().items()}
        found[name] = end
    files = sorted(os.listdir(os.path.join(folder, "again")))
    inside = sorted(os.listdir(os.path.join(folder, "first", files[0]))) if parts else []
    kinds = [type(each).__name__ for each in model.state_dict().values()]
    return {**found, "files": files, "inside": inside, "kinds": kinds, "step": run.global_step}


class Together(Model):
    """Compares its batches with those of the processes that compute them together."""

    seen = ()

    def configure_model(self):
        self.group = self.device_mesh["tensor_parallel"].get_group()

    def training_step(self, batch, batch_idx):
        dist = torch.distributed
        both = [torch.zeros_like(batch[0]) for _ in range(dist.get_world_size(self.group))]
        dist.all_gather(both, batch[0], group=self.group)
        same = all(bool((each == batch[0]).all()) for each in both)
        self.seen += ((len(both), len(batch[0]), same),)
        return super().training_step(batch, batch_idx)


def together(strategy: str, devices: int, folder: str):
    """What processes with the same batches see: by default all of a machine are such."""
    home = L.pytorch.strategies if hasattr(L, "pytorch") else L.strategies
    run = trainer(home.ModelParallelStrategy(), devices, folder, enable_checkpointing=False)
    model = Together()
    run.fit(model, data(BATCH))
    kwargs = run.strategy.distributed_sampler_kwargs
    weights = {name: value.tolist() for name, value in model.state_dict().items()}
    return {"seen": model.seen, "kwargs": kwargs, "weights": weights}


def precise(strategy: str, devices: int, folder: str):
    """Dtypes inside of a divided model in mixed precision, and its weights."""
    seen = []

    class Noting(Model):
        def training_step(self, batch, batch_idx):
            hook = self.net[0].register_forward_hook(
                lambda module, inputs, output: seen.append(
                    [str(inputs[0].dtype), str(output.dtype)]
                )
            )
            loss = super().training_step(batch, batch_idx)
            hook.remove()
            return loss

    run = trainer(strategy, devices, folder, precision="bf16-mixed")
    run.fit(Noting(), data(BATCH // devices))
    state = run.strategy.checkpoint_io.load_checkpoint(run.checkpoint_callback.best_model_path)
    weights = state["state_dict"]
    return {
        "weights": {name: value.tolist() for name, value in weights.items()}, "seen": seen[0],
        "kept": sorted({str(each.dtype) for each in weights.values()}),
        "plug-in": type(run.precision_plugin).__name__,
    }  # fmt: skip


def loop_strategy(devices: int, parts: bool):
    """The strategy of a Fabric whose function divides the model."""
    from lightning_lite.fabric.strategies import ModelParallelStrategy

    def divide(model, mesh):
        return torch.distributed.fsdp.fully_shard(model, mesh=mesh["data_parallel"])

    return ModelParallelStrategy(divide, devices, 1, save_distributed_checkpoint=parts)


def fabric_parallel(strategy: str, devices: int, folder: str):
    """The loop with checkpoints, of a model that a function divides."""
    chosen = loop_strategy(devices, strategy == "parts")
    made = L.Fabric(accelerator="cpu", strategy=chosen, devices=devices)
    return made.launch(parallel_loop, BATCH // devices, folder)


def parallel_loop(made, size: int, folder: str):
    """Steps, a checkpoint after two of four, and the same steps again from it."""
    path, found = os.path.join(folder, "half.ckpt"), {}
    for name in ("first", "again"):
        model = Model().net
        optimizer = torch.optim.Adam(model.parameters(), lr=0.05)
        model, optimizer = made.setup(model, optimizer)
        state = {"model": model, "optimizer": optimizer, "number": -1}
        if name == "again":
            found["rest"] = made.load(path, state)
        for number, (x, y) in enumerate(made.setup_dataloaders(data(size))):
            if number > state["number"]:
                with made.no_backward_sync(model, enabled=number % 2 == 0):
                    made.backward(F.mse_loss(model(x), y))
                if number % 2:
                    optimizer.step()
                    optimizer.zero_grad()
            if number == 1 and name == "first":
                made.save(path, {**state, "number": number})
        whole = made.strategy.whole(model.module.state_dict())
        found[name] = {key: value.tolist() for key, value in whole.items()}
    return {**found, "folder": os.path.isdir(path)}


KINDS = {
    each.__name__: each
    for each in (
        *(train, resume, accumulate, predict, fail, learn),
        *(fabric, asked, fabric_state, fabric_late, fabric_options),
        *(parallel, fabric_parallel, together, precise),
    )
}


def main() -> None:
    """Run what the command line says."""
    strategy, devices, folder, kind = sys.argv[1:]
    L.seed_everything(3, verbose=False)
    found = KINDS[kind](strategy, int(devices), folder)
    if int(os.environ.get("RANK", os.environ.get("LOCAL_RANK", 0))) == 0:
        print("RESULT", json.dumps(found), flush=True)


if __name__ == "__main__":
    main()

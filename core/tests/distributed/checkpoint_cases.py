"""Saving and loading by all ranks; the same text runs under PyTorch with gloo."""

from __future__ import annotations

import importlib
import os
import tempfile

CASES = {}


def fits(name, size):
    """Whether a job of so many ranks can run a case."""
    return True


def case(function):
    """Note a case by its name."""
    CASES[function.__name__] = function
    return function


def part(torch, name=""):
    """``distributed.checkpoint`` of a framework, or a module of it."""
    return importlib.import_module(f"{torch.__name__}.distributed.checkpoint{name}")


def shared_folder(dist, rank):
    """A folder that all ranks know."""
    made = [tempfile.mkdtemp() if rank == 0 else None]
    dist.broadcast_object_list(made, src=0)
    return made[0]


def state_of(torch, scale):
    """Tensors of several dtypes, and other objects."""
    return {
        "weights": torch.arange(6.0).reshape(2, 3) * scale,
        "inner": {"half": torch.ones(3).to(torch.bfloat16) * scale, "count": int(scale)},
        "rows": [torch.arange(2) * int(scale), "text"],
        "scalar": torch.tensor(scale),
    }


@case
def all_ranks_save_and_load(torch, dist, rank, size):
    dcp, folder = part(torch), shared_folder(dist, rank)
    dcp.save(state_of(torch, 3.0), checkpoint_id=folder)
    state = state_of(torch, 0.0)
    dcp.load(state, checkpoint_id=folder)
    return state, os.path.exists(os.path.join(folder, ".metadata"))


@case
def ranks_have_entries_of_their_own(torch, dist, rank, size):
    dcp, folder = part(torch), shared_folder(dist, rank)
    dcp.save({"all": torch.ones(2), f"of{rank}": torch.ones(2) * rank}, checkpoint_id=folder)
    state = {f"of{other}": torch.zeros(2) for other in range(size)}
    dcp.load(state, checkpoint_id=folder)
    return state


@case
def saving_while_training_goes_on(torch, dist, rank, size):
    dcp, folder = part(torch), shared_folder(dist, rank)
    state = state_of(torch, 2.0)
    saving = dcp.async_save(state, checkpoint_id=folder)
    saving.result()
    state["weights"].zero_()
    dcp.load(state, checkpoint_id=folder)
    return state


@case
def modules_and_optimizers(torch, dist, rank, size):
    helpers, dcp, folder = part(torch, ".state_dict"), part(torch), shared_folder(dist, rank)

    def made(value):
        layer = torch.nn.Linear(2, 2)
        with torch.no_grad():
            for parameter in layer.parameters():
                parameter.fill_(value)
        parallel = importlib.import_module(torch.__name__ + ".nn.parallel")
        model = parallel.DistributedDataParallel(layer) if size > 1 else layer
        return model, torch.optim.Adam(model.parameters(), lr=value)

    model, optimizer = made(0.5)
    model(torch.ones(1, 2)).sum().backward()
    optimizer.step()
    of_model, of_optimizer = helpers.get_state_dict(model, optimizer)
    dcp.save({"model": of_model, "optimizer": of_optimizer}, checkpoint_id=folder)
    other, another = made(0.25)
    of_model, of_optimizer = helpers.get_state_dict(other, another)
    names = sorted(of_model), sorted(of_optimizer["state"])
    state = {"model": of_model, "optimizer": of_optimizer}
    dcp.load(state, checkpoint_id=folder)
    helpers.set_state_dict(
        other, another, model_state_dict=state["model"], optim_state_dict=state["optimizer"]
    )
    other(torch.ones(1, 2)).sum().backward()
    another.step()
    return names, [p.detach() for p in other.parameters()], another.param_groups[0]["lr"]


@case
def missing_entries(torch, dist, rank, size):
    dcp, folder = part(torch), shared_folder(dist, rank)
    dcp.save({"a": torch.ones(2)}, checkpoint_id=folder)
    state = {"a": torch.zeros(2), "b": torch.zeros(2)}
    dcp.load(state, checkpoint_id=folder, planner=dcp.DefaultLoadPlanner(allow_partial_load=True))
    return state

"""Where state dicts of FullyShardedDataParallel lie, on an emulated GPU; prints one JSON object."""

from __future__ import annotations

import json

import rushlight as torch
import rushlight.distributed as dist
from rushlight.distributed import fsdp

KINDS = {
    "full": (fsdp.StateDictType.FULL_STATE_DICT, fsdp.FullStateDictConfig,
             fsdp.FullOptimStateDictConfig),
    "sharded": (fsdp.StateDictType.SHARDED_STATE_DICT, fsdp.ShardedStateDictConfig,
                fsdp.ShardedOptimStateDictConfig),
}  # fmt: skip
WRAPPED = fsdp.FullyShardedDataParallel


def described(values):
    """Class, kind of device and sum of tensors."""
    return {k: [type(v).__name__, v.device.type, round(local(v).double().sum().item(), 4)]
            for k, v in values.items()}  # fmt: skip


def local(value):
    """The part of a DTensor that is here."""
    return value.to_local() if hasattr(value, "to_local") else value


dist.init_process_group("cpu:gloo,cuda:nccl", store=dist.HashStore(), rank=0, world_size=1)
torch.manual_seed(0)
network = torch.nn.Sequential(torch.nn.Linear(4, 3), torch.nn.BatchNorm1d(3)).to("cuda")
model = WRAPPED(network, use_orig_params=True, device_id=0)
optimizer = torch.optim.Adam(model.parameters())
model(torch.randn(5, 4, device="cuda")).square().sum().backward()
optimizer.step()
found = {}
for name, (kind, config, of_optimizer) in KINDS.items():
    for offload in (False, True):
        settings = config(offload_to_cpu=offload), of_optimizer(offload_to_cpu=offload)
        with WRAPPED.state_dict_type(model, kind, *settings):
            found[f"{name} {offload}"] = [
                described(model.state_dict()),
                described(WRAPPED.optim_state_dict(model, optimizer)["state"]["0.weight"]),
            ]
with WRAPPED.summon_full_params(model, offload_to_cpu=True):
    inside = described(dict(model.named_parameters()))
    with torch.no_grad():
        next(model.parameters()).fill_(2)
found["summoned"] = [inside, described(dict(model.named_parameters()))]
print(json.dumps(found))

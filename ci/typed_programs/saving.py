"""Checkpoints."""
# ruff: noqa: F821, D101, D103 - reveal_type is mypy's

import io
from pathlib import Path
from typing import Any

import rushlight as torch
from rushlight import nn, optim

model = nn.Linear(2, 2)
optimizer = optim.Adam(model.parameters())
path = Path("model.pt")
torch.save({"model": model.state_dict(), "optimizer": optimizer.state_dict(), "epoch": 1}, path)
saved: dict[str, Any] = torch.load(path, map_location="cpu", weights_only=True)
reveal_type(torch.load(path))  # note: "Any"
result = model.load_state_dict(saved["model"], strict=True)
reveal_type(result)  # note: "Any"
reveal_type(result.missing_keys)  # note: "Any"
optimizer.load_state_dict(saved["optimizer"])
buffer = io.BytesIO()
torch.save(model.state_dict(), buffer)
buffer.seek(0)
torch.load(buffer, map_location=torch.device("cpu"), weights_only=False)
for key, value in model.state_dict().items():
    reveal_type(key)  # note: "str"
    reveal_type(value)  # note: "Any"
state = {k: v.clone() for k, v in model.state_dict().items() if k.startswith("w")}
model.to(torch.float16)
model.to(device="cpu", dtype=torch.float32, non_blocking=True)
reveal_type(model.to(device="cpu", dtype=torch.float32))  # note: "Linear"
reveal_type(torch.get_rng_state())  # note: "Tensor"
torch.set_rng_state(torch.get_rng_state())
reveal_type(torch.hub.load_state_dict_from_url)  # note: "def (url: str, model_dir: str | None =, ma
for p in model.parameters():
    p.requires_grad_(False)
reveal_type(model.requires_grad_(False))  # note: "Linear"
reveal_type(torch.get_default_dtype())  # note: "dtype"
torch.serialization.add_safe_globals([Path])

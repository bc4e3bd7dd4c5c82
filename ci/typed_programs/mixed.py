"""Mixed precision."""
# ruff: noqa: F821, D101, D103 - reveal_type is mypy's

import rushlight as torch
from rushlight import nn, optim
from rushlight.amp import GradScaler, autocast

model = nn.Linear(2, 2)
optimizer = optim.SGD(model.parameters(), lr=0.1)
scaler = GradScaler("cpu", init_scale=2.0**10, enabled=True)
x = torch.ones(3, 2)
for _ in range(2):
    optimizer.zero_grad()
    with autocast(device_type="cpu", dtype=torch.bfloat16):
        loss = model(x).float().mean()
    scaled = scaler.scale(loss)
    reveal_type(scaled)  # note: "Any"
    scaled.backward()
    scaler.unscale_(optimizer)
    torch.nn.utils.clip_grad_norm_(model.parameters(), max_norm=1.0)
    scaler.step(optimizer)
    scaler.update()
reveal_type(scaler.get_scale())  # note: "float"
reveal_type(scaler.state_dict())  # note: "dict[str, Any]"
reveal_type(scaler.is_enabled())  # note: "bool"


@torch.autocast("cpu", dtype=torch.bfloat16)
def forward(x: torch.Tensor) -> torch.Tensor:
    return nn.functional.linear(x, model.weight)


reveal_type(forward)  # note: "def (x: Tensor) -> Tensor"
with torch.autocast(device_type="cpu", enabled=False):
    half = x.bfloat16()
reveal_type(half.dtype)  # note: "dtype"
reveal_type(torch.finfo(torch.float16).max)  # note: "float"
reveal_type(torch.result_type(x, half))  # note: "dtype"
reveal_type(torch.is_autocast_enabled())  # note: "bool"

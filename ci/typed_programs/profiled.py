"""The profiler."""
# ruff: noqa: F821, D101, D103 - reveal_type is mypy's

import rushlight as torch
from rushlight import nn
from rushlight.profiler import (
    ProfilerActivity,
    profile,
    record_function,
    schedule,
    tensorboard_trace_handler,
)

model = nn.Linear(2, 2)
with profile(activities=[ProfilerActivity.CPU], record_shapes=True, profile_memory=True) as prof:
    with record_function("forward"):
        model(torch.ones(1, 2))
reveal_type(prof)  # note: "Any"
print(prof.key_averages().table(sort_by="cpu_time_total", row_limit=10))
prof.export_chrome_trace("trace.json")
for event in prof.key_averages():
    print(event.key, event.count)


def ready(p: profile) -> None:
    print(p.step_num)


with profile(
    schedule=schedule(wait=1, warmup=1, active=2, repeat=1),
    on_trace_ready=tensorboard_trace_handler("log"),
    with_stack=True,
) as prof:
    for _ in range(4):
        model(torch.ones(1, 2))
        prof.step()
with profile(on_trace_ready=ready):
    pass

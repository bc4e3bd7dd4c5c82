"""Adds a tensor over all ranks until an error ends it: ``cut_program.py SECONDS NOTE``."""

import datetime
import os
import sys
import time

import rushlight
import rushlight.distributed as dist

dist.init_process_group("gloo", timeout=datetime.timedelta(seconds=float(sys.argv[1])))
x = rushlight.ones(1 << 18)
for count in range(10**9):
    begun = time.monotonic()
    try:
        dist.all_reduce(x)
    except dist.DistBackendError:
        print(f"waited {time.monotonic() - begun:.2f}", flush=True)
        raise
    x.fill_(1.0)
    if count == 20:
        open(f"{sys.argv[2]}.{dist.get_rank()}", "w").write(str(os.getpid()))

# Written by ci/stubs.py from what the package says at run time: do not edit.
from __future__ import annotations


from rushlight.cpu.amp.grad_scaler import GradScaler as GradScaler
from rushlight.cpu.amp.autocast_mode import autocast as autocast

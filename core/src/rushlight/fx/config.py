"""Settings of PyTorch's captures, with its defaults. `do_not_emit_stack_traces` means what it does
there; the others are about a progress bar of interpreters, which there is none of here."""

from __future__ import annotations

disable_progress = True
verbose_progress = False
# Whether nodes that make_fx() and export() write down do without the lines that led to them.
do_not_emit_stack_traces = False

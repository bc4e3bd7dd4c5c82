"""Where the time of a run goes: `Trainer(profiler="simple")`, "advanced", "pytorch", or one's own.

A run without a profiler does not come here. Begin reading at `profiler.py`; `instrument.py` says
what is measured.
"""

from lightning_lite.lazy import attach
from lightning_lite.profilers.profiler import PassThroughProfiler, Profiler

HOMES = {
    "AdvancedProfiler": "profilers.advanced",
    "PyTorchProfiler": "profilers.pytorch",
    "SimpleProfiler": "profilers.simple",
    "StepBudget": "profilers.budget",
}
__all__ = ["PassThroughProfiler", "Profiler", *sorted(HOMES)]
__getattr__ = attach(__name__, HOMES)

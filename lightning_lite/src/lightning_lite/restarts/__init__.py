"""Where a run stood when its checkpoint was written, in the terms of Lightning's three loops.
It may import `state` alone. Begin with `fit_loop`, whose `FitRestart` is part of
`trainer.fit_loop`; the loops of batches and of validation hang on it."""

from __future__ import annotations

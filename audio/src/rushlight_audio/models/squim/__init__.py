"""Estimators of the quality of speech: by objective measures, and as people judge it."""

from rushlight_audio.models.squim.objective import (
    SquimObjective,
    squim_objective_base,
    squim_objective_model,
)
from rushlight_audio.models.squim.subjective import (
    SquimSubjective,
    squim_subjective_base,
    squim_subjective_model,
)

__all__ = [
    "SquimObjective",
    "SquimSubjective",
    "squim_objective_base",
    "squim_objective_model",
    "squim_subjective_base",
    "squim_subjective_model",
]

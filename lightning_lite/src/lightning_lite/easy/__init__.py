"""fastai's ways to a good model in five lines: `Learner` with one-cycle training and fine-tuning.

It is the Trainer with schedules, and imports its public classes only. Begin reading at
`learner.py`.
"""

from lightning_lite.easy.learner import Learner
from lightning_lite.easy.mixing import CutMix, MixUp
from lightning_lite.easy.save_model import SaveModel
from lightning_lite.easy.schedules import (
    ParamScheduler,
    SchedCos,
    SchedExp,
    SchedLin,
    SchedNo,
    SchedPoly,
    combine_scheds,
    combined_cos,
)

__all__ = [
    "CutMix",
    "Learner",
    "MixUp",
    "ParamScheduler",
    "SaveModel",
    "SchedCos",
    "SchedExp",
    "SchedLin",
    "SchedNo",
    "SchedPoly",
    "combine_scheds",
    "combined_cos",
]

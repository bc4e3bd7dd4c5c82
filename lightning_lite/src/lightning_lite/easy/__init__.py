"""fastai's ways to a good model in five lines: `Learner` with one-cycle training and fine-tuning.

It is the Trainer with schedules, and imports its public classes only. Begin reading at
`learner.py`.
"""

from lightning_lite.easy.collab import EmbeddingDotBias, collab_learner
from lightning_lite.easy.interpretation import ClassificationInterpretation
from lightning_lite.easy.learner import Learner
from lightning_lite.easy.metrics import (
    accuracy,
    accuracy_multi,
    error_rate,
    foreground_acc,
    mae,
    mse,
    named,
    top_k_accuracy,
)
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
from lightning_lite.easy.tabular import (
    TabularModel,
    TabularProcessor,
    emb_sz_rule,
    tabular_learner,
)
from lightning_lite.easy.vision import vision_learner

__all__ = [
    "ClassificationInterpretation",
    "CutMix",
    "EmbeddingDotBias",
    "Learner",
    "MixUp",
    "ParamScheduler",
    "SaveModel",
    "SchedCos",
    "SchedExp",
    "SchedLin",
    "SchedNo",
    "SchedPoly",
    "TabularModel",
    "TabularProcessor",
    "accuracy",
    "accuracy_multi",
    "collab_learner",
    "combine_scheds",
    "combined_cos",
    "emb_sz_rule",
    "error_rate",
    "foreground_acc",
    "mae",
    "mse",
    "named",
    "tabular_learner",
    "top_k_accuracy",
    "vision_learner",
]

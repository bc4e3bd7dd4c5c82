"""fastai's metrics: functions of a batch, and objects that gather over all of validation.

They use Rushlight's public names and what describes objects in `easy.data`. Begin reading at
`of_batches.py` for means, at `gathered.py` and `accumulated.py` for the others.
"""

from lightning_lite.easy.metrics.accumulated import AccumMetric, ActivationType, skm_to_fastai
from lightning_lite.easy.metrics.classification import (
    APScoreBinary,
    BalancedAccuracy,
    BrierScore,
    CohenKappa,
    F1Score,
    FBeta,
    HammingLoss,
    Jaccard,
    MatthewsCorrCoef,
    Precision,
    Recall,
    RocAuc,
    RocAucBinary,
)
from lightning_lite.easy.metrics.multi_label import (
    APScoreMulti,
    BrierScoreMulti,
    F1ScoreMulti,
    FBetaMulti,
    HammingLossMulti,
    JaccardMulti,
    MatthewsCorrCoefMulti,
    PrecisionMulti,
    RecallMulti,
    RocAucMulti,
)
from lightning_lite.easy.metrics.of_batches import (
    accuracy,
    accuracy_multi,
    error_rate,
    foreground_acc,
    mae,
    mse,
    msle,
    named,
    top_k_accuracy,
)
from lightning_lite.easy.metrics.of_losses import LossMetric, LossMetrics
from lightning_lite.easy.metrics.optimized import optim_metric
from lightning_lite.easy.metrics.regression import (
    ExplainedVariance,
    PearsonCorrCoef,
    R2Score,
    SpearmanCorrCoef,
    exp_rmspe,
    rmse,
)
from lightning_lite.easy.metrics.segmentation import (
    Dice,
    DiceMulti,
    JaccardCoeff,
    JaccardCoeffMulti,
)
from lightning_lite.easy.metrics.text import CorpusBLEUMetric, Perplexity, perplexity

__all__ = [
    "APScoreBinary",
    "APScoreMulti",
    "AccumMetric",
    "ActivationType",
    "BalancedAccuracy",
    "BrierScore",
    "BrierScoreMulti",
    "CohenKappa",
    "CorpusBLEUMetric",
    "Dice",
    "DiceMulti",
    "ExplainedVariance",
    "F1Score",
    "F1ScoreMulti",
    "FBeta",
    "FBetaMulti",
    "HammingLoss",
    "HammingLossMulti",
    "Jaccard",
    "JaccardCoeff",
    "JaccardCoeffMulti",
    "JaccardMulti",
    "LossMetric",
    "LossMetrics",
    "MatthewsCorrCoef",
    "MatthewsCorrCoefMulti",
    "PearsonCorrCoef",
    "Perplexity",
    "Precision",
    "PrecisionMulti",
    "R2Score",
    "Recall",
    "RecallMulti",
    "RocAuc",
    "RocAucBinary",
    "RocAucMulti",
    "SpearmanCorrCoef",
    "accuracy",
    "accuracy_multi",
    "error_rate",
    "exp_rmspe",
    "foreground_acc",
    "mae",
    "mse",
    "msle",
    "named",
    "optim_metric",
    "perplexity",
    "rmse",
    "skm_to_fastai",
    "top_k_accuracy",
]

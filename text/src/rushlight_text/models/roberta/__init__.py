"""RoBERTa and XLM-R with torchtext's names, state-dict keys and published encoders."""

from rushlight_text.models.roberta.bundler import (
    ROBERTA_BASE_ENCODER,
    ROBERTA_DISTILLED_ENCODER,
    ROBERTA_LARGE_ENCODER,
    XLMR_BASE_ENCODER,
    XLMR_LARGE_ENCODER,
    RobertaBundle,
)
from rushlight_text.models.roberta.model import (
    RobertaClassificationHead,
    RobertaEncoder,
    RobertaEncoderConf,
    RobertaModel,
)

__all__ = [
    "ROBERTA_BASE_ENCODER",
    "ROBERTA_DISTILLED_ENCODER",
    "ROBERTA_LARGE_ENCODER",
    "XLMR_BASE_ENCODER",
    "XLMR_LARGE_ENCODER",
    "RobertaBundle",
    "RobertaClassificationHead",
    "RobertaEncoder",
    "RobertaEncoderConf",
    "RobertaModel",
]

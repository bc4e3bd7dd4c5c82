"""Networks of other libraries as ours."""

from rushlight_audio.models.wav2vec2.utils.import_fairseq import import_fairseq_model
from rushlight_audio.models.wav2vec2.utils.import_huggingface import import_huggingface_model

__all__ = ["import_fairseq_model", "import_huggingface_model"]

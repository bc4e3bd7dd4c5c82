"""Models of text: torchtext's RoBERTa and T5, the bag of embeddings; `pretrained` by its path."""

from rushlight_text.models import roberta, t5
from rushlight_text.models.convolutional import TextCNN
from rushlight_text.models.embedding_bag import EmbeddingBagClassifier
from rushlight_text.models.recurrent import BiLSTMClassifier, BiLSTMTagger
from rushlight_text.models.roberta import *  # noqa: F403
from rushlight_text.models.t5 import *  # noqa: F403

__all__ = [
    "BiLSTMClassifier",
    "BiLSTMTagger",
    "EmbeddingBagClassifier",
    "TextCNN",
    *roberta.__all__,
    *t5.__all__,
]

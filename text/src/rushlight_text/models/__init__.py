"""Models of text."""

from rushlight_text.models.embedding_bag import EmbeddingBagClassifier

__all__ = ["EmbeddingBagClassifier"]

"""Data sets of text."""

from rushlight_text.datasets.movie_reviews import MovieReviewSentences

__all__ = ["MovieReviewSentences"]

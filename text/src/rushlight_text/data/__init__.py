"""From sentences to batches: tokenizers by name, n-grams, collate functions."""

from rushlight_text.data.collate import collate_bags, collate_padded
from rushlight_text.tokenizers.basic import get_tokenizer, ngrams_iterator

__all__ = ["collate_bags", "collate_padded", "get_tokenizer", "ngrams_iterator"]

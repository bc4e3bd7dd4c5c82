"""The place where torchtext's users look for `get_tokenizer` and `ngrams_iterator`."""

from rushlight_text.tokenizers.basic import get_tokenizer, ngrams_iterator

__all__ = ["get_tokenizer", "ngrams_iterator"]

"""From sentences to batches: tokenizers by name, n-grams, collate functions, samplers, BLEU."""

from rushlight_text.data import functional, metrics, utils
from rushlight_text.data.collate import collate_bags, collate_padded, pad_ids
from rushlight_text.data.functional import (
    custom_replace,
    filter_wikipedia_xml,
    generate_sp_model,
    load_sp_model,
    numericalize_tokens_from_iterator,
    sentencepiece_numericalizer,
    sentencepiece_tokenizer,
    simple_space_split,
    to_map_style_dataset,
)
from rushlight_text.data.metrics import bleu_score
from rushlight_text.data.sampling import LengthBucketSampler, TokenBudgetSampler
from rushlight_text.data.streaming import PackedBlocks, TextLines, pack
from rushlight_text.data.utils import RandomShuffler, interleave_keys
from rushlight_text.tokenizers.basic import get_tokenizer, ngrams_iterator

__all__ = [
    "LengthBucketSampler",
    "PackedBlocks",
    "RandomShuffler",
    "TextLines",
    "TokenBudgetSampler",
    "bleu_score",
    "collate_bags",
    "collate_padded",
    "custom_replace",
    "filter_wikipedia_xml",
    "functional",
    "generate_sp_model",
    "get_tokenizer",
    "interleave_keys",
    "load_sp_model",
    "metrics",
    "ngrams_iterator",
    "numericalize_tokens_from_iterator",
    "pack",
    "pad_ids",
    "sentencepiece_numericalizer",
    "sentencepiece_tokenizer",
    "simple_space_split",
    "to_map_style_dataset",
    "utils",
]

# Names of the API up to 0.8, when fields stood here.
_FORMER = (
    "BPTTIterator Batch BucketIterator Dataset Example Field Iterator LabelField NestedField "
    "Pipeline RawField ReversibleField SubwordField TabularDataset batch pool"
).split()


def __getattr__(name: str):
    """The fields and iterators of the legacy API under their older path."""
    if name in _FORMER:
        from rushlight_text.legacy import data

        return getattr(data, name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")

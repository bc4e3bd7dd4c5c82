"""Fields, examples, data sets and iterators of torchtext up to 0.11.

`field.py`: from a column to tensors; `dataset.py`: examples with their fields; `iterator.py`:
batches. Imports vocabularies and tokenizers of this package.
"""

from rushlight_text.data.utils import RandomShuffler, get_tokenizer, interleave_keys
from rushlight_text.legacy.data.batch import Batch
from rushlight_text.legacy.data.dataset import Dataset, TabularDataset
from rushlight_text.legacy.data.example import Example
from rushlight_text.legacy.data.field import Field, LabelField, RawField
from rushlight_text.legacy.data.iterator import (
    BPTTIterator,
    BucketIterator,
    Iterator,
    batch,
    pool,
)
from rushlight_text.legacy.data.nested import NestedField
from rushlight_text.legacy.data.pipeline import Pipeline
from rushlight_text.legacy.data.reversible import ReversibleField, SubwordField

__all__ = [
    "BPTTIterator",
    "Batch",
    "BucketIterator",
    "Dataset",
    "Example",
    "Field",
    "Iterator",
    "LabelField",
    "NestedField",
    "Pipeline",
    "RandomShuffler",
    "RawField",
    "ReversibleField",
    "SubwordField",
    "TabularDataset",
    "batch",
    "get_tokenizer",
    "interleave_keys",
    "pool",
]

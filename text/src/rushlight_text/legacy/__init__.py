"""torchtext's API up to 0.11 (``Field``, ``BucketIterator``, ...), so that old programs run.

Begin reading at `data/field.py`; new programs do better with `rushlight_text.data` and
`rushlight_text.vocab`.
"""

from rushlight_text.legacy import data, datasets, vocab

__all__ = ["data", "datasets", "vocab"]

"""Transforms as modules, from text to padded tensors, with torchtext's names.

`_basic.py`: lists and tensors; `_tokenizers.py`: text; `_masking.py`: masked language modelling.
"""

from rushlight_text.tokenizers.byte_letters import bytes_to_unicode
from rushlight_text.tokenizers.char_bpe import get_pairs
from rushlight_text.transforms._basic import (
    AddToken,
    LabelToIndex,
    PadTransform,
    Sequential,
    StrToIntTransform,
    ToTensor,
    Truncate,
    VocabTransform,
)
from rushlight_text.transforms._masking import MaskTransform
from rushlight_text.transforms._tokenizers import (
    BERTTokenizer,
    CharBPETokenizer,
    CLIPTokenizer,
    GPT2BPETokenizer,
    RegexTokenizer,
    SentencePieceTokenizer,
)

__all__ = [
    "AddToken",
    "BERTTokenizer",
    "CLIPTokenizer",
    "CharBPETokenizer",
    "GPT2BPETokenizer",
    "LabelToIndex",
    "MaskTransform",
    "PadTransform",
    "RegexTokenizer",
    "SentencePieceTokenizer",
    "Sequential",
    "StrToIntTransform",
    "ToTensor",
    "Truncate",
    "VocabTransform",
    "bytes_to_unicode",
    "get_pairs",
]

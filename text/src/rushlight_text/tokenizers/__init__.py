"""Tokenizers: rules for plain English, BPE of bytes and of characters, WordPiece, SentencePiece.

Begin reading at `pretrained.py` for tokenizers of published models, `training.py` for new ones.
"""

from rushlight_text.tokenizers.basic import basic_english, get_tokenizer, ngrams_iterator
from rushlight_text.tokenizers.bpe import ByteLevelBPETokenizer
from rushlight_text.tokenizers.byte_letters import bytes_to_unicode
from rushlight_text.tokenizers.char_bpe import CharBPE
from rushlight_text.tokenizers.clip import CLIPBPETokenizer
from rushlight_text.tokenizers.marian import MarianTokenizer
from rushlight_text.tokenizers.pretrained import Tokenizer
from rushlight_text.tokenizers.sentencepiece import SentencePieceModel
from rushlight_text.tokenizers.tiktoken import from_tiktoken
from rushlight_text.tokenizers.training import train
from rushlight_text.tokenizers.wordpiece import WordPieceTokenizer

__all__ = [
    "ByteLevelBPETokenizer",
    "CLIPBPETokenizer",
    "CharBPE",
    "MarianTokenizer",
    "SentencePieceModel",
    "Tokenizer",
    "WordPieceTokenizer",
    "basic_english",
    "bytes_to_unicode",
    "from_tiktoken",
    "get_tokenizer",
    "ngrams_iterator",
    "train",
]

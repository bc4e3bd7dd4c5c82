"""Tokenizers: rules for plain English, BPE of bytes and of characters, WordPiece, SentencePiece."""

from rushlight_text.tokenizers.basic import basic_english, get_tokenizer, ngrams_iterator
from rushlight_text.tokenizers.bpe import ByteLevelBPETokenizer
from rushlight_text.tokenizers.byte_letters import bytes_to_unicode
from rushlight_text.tokenizers.char_bpe import CharBPE
from rushlight_text.tokenizers.clip import CLIPBPETokenizer
from rushlight_text.tokenizers.sentencepiece import SentencePieceModel
from rushlight_text.tokenizers.wordpiece import WordPieceTokenizer

__all__ = [
    "ByteLevelBPETokenizer",
    "CLIPBPETokenizer",
    "CharBPE",
    "SentencePieceModel",
    "WordPieceTokenizer",
    "basic_english",
    "bytes_to_unicode",
    "get_tokenizer",
    "ngrams_iterator",
]

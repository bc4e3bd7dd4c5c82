"""Transformers whose parameters have the names of Hugging Face's checkpoints.

`loading.py`: from folders and back; `configs.py`: sizes; one file for each architecture. Imports
core alone, and `models/t5` for its norm.
"""

from rushlight_text.models.pretrained._parts import Config, ModelOutput
from rushlight_text.models.pretrained.bart import (
    BartForConditionalGeneration,
    BartModel,
    MarianMTModel,
)
from rushlight_text.models.pretrained.bert import BertModel, ElectraModel
from rushlight_text.models.pretrained.cache import KeyValueCache
from rushlight_text.models.pretrained.configs import PRESETS, config, read_config
from rushlight_text.models.pretrained.distilbert import DistilBertModel
from rushlight_text.models.pretrained.gpt2 import GPT2LMHeadModel, GPT2Model
from rushlight_text.models.pretrained.heads import (
    EncoderForMaskedLM,
    EncoderForQuestionAnswering,
    EncoderForSequenceClassification,
    EncoderForTokenClassification,
)
from rushlight_text.models.pretrained.llama import LlamaForCausalLM, LlamaModel
from rushlight_text.models.pretrained.loading import (
    HEADS,
    build_model,
    load_model,
    load_weights,
    save_model,
)
from rushlight_text.models.pretrained.quantization import int8_copy, quantize_int8
from rushlight_text.models.pretrained.sentence import SentenceEncoder
from rushlight_text.models.pretrained.t5 import T5EncoderModel, T5ForConditionalGeneration

__all__ = [
    "HEADS",
    "PRESETS",
    "BartForConditionalGeneration",
    "BartModel",
    "BertModel",
    "Config",
    "DistilBertModel",
    "ElectraModel",
    "EncoderForMaskedLM",
    "EncoderForQuestionAnswering",
    "EncoderForSequenceClassification",
    "EncoderForTokenClassification",
    "GPT2LMHeadModel",
    "GPT2Model",
    "KeyValueCache",
    "LlamaForCausalLM",
    "LlamaModel",
    "MarianMTModel",
    "ModelOutput",
    "SentenceEncoder",
    "T5EncoderModel",
    "T5ForConditionalGeneration",
    "build_model",
    "config",
    "int8_copy",
    "load_model",
    "load_weights",
    "quantize_int8",
    "read_config",
    "save_model",
]

"""Models of sound: speech to text, text to speech, separation, quality, representations.

Each file is one architecture; names of parameters are those of torchaudio, whose weights load.
"""

from rushlight_audio.models import decoder, squim, wav2vec2, whisper
from rushlight_audio.models._hdemucs import HDemucs, hdemucs_high, hdemucs_low, hdemucs_medium
from rushlight_audio.models.audio_spectrogram_transformer import (
    AudioSpectrogramTransformer,
    ast_features,
)
from rushlight_audio.models.conformer import Conformer
from rushlight_audio.models.conv_tasnet import ConvTasNet, conv_tasnet_base
from rushlight_audio.models.crepe import Crepe
from rushlight_audio.models.deepspeech import DeepSpeech
from rushlight_audio.models.ecapa_tdnn import ECAPA_TDNN
from rushlight_audio.models.emformer import Emformer
from rushlight_audio.models.fastspeech2 import FastSpeech2
from rushlight_audio.models.ge2e import SpeakerEncoder
from rushlight_audio.models.hifi_gan import (
    HiFiGANVocoder,
    hifigan_vocoder,
    hifigan_vocoder_v1,
    hifigan_vocoder_v2,
    hifigan_vocoder_v3,
)
from rushlight_audio.models.rnnt import RNNT, emformer_rnnt_base, emformer_rnnt_model
from rushlight_audio.models.rnnt_decoder import Hypothesis, RNNTBeamSearch
from rushlight_audio.models.silero_vad import SileroVAD
from rushlight_audio.models.spectrogram_classifier import SpectrogramClassifier
from rushlight_audio.models.squim import (
    SquimObjective,
    SquimSubjective,
    squim_objective_base,
    squim_objective_model,
    squim_subjective_base,
    squim_subjective_model,
)
from rushlight_audio.models.tacotron2 import Tacotron2
from rushlight_audio.models.wav2letter import Wav2Letter
from rushlight_audio.models.wav2vec2 import (
    HuBERTPretrainModel,
    Wav2Vec2Model,
    hubert_base,
    hubert_large,
    hubert_pretrain_base,
    hubert_pretrain_large,
    hubert_pretrain_model,
    hubert_pretrain_xlarge,
    hubert_xlarge,
    wav2vec2_base,
    wav2vec2_large,
    wav2vec2_large_lv60k,
    wav2vec2_model,
    wav2vec2_xlsr_1b,
    wav2vec2_xlsr_2b,
    wav2vec2_xlsr_300m,
    wavlm_base,
    wavlm_large,
    wavlm_model,
)
from rushlight_audio.models.wavernn import WaveRNN

__all__ = [
    "ECAPA_TDNN",
    "RNNT",
    "AudioSpectrogramTransformer",
    "Conformer",
    "ConvTasNet",
    "Crepe",
    "DeepSpeech",
    "Emformer",
    "FastSpeech2",
    "HDemucs",
    "HiFiGANVocoder",
    "HuBERTPretrainModel",
    "Hypothesis",
    "RNNTBeamSearch",
    "SileroVAD",
    "SpeakerEncoder",
    "SpectrogramClassifier",
    "SquimObjective",
    "SquimSubjective",
    "Tacotron2",
    "Wav2Letter",
    "Wav2Vec2Model",
    "WaveRNN",
    "ast_features",
    "conv_tasnet_base",
    "decoder",
    "emformer_rnnt_base",
    "emformer_rnnt_model",
    "hdemucs_high",
    "hdemucs_low",
    "hdemucs_medium",
    "hifigan_vocoder",
    "hifigan_vocoder_v1",
    "hifigan_vocoder_v2",
    "hifigan_vocoder_v3",
    "hubert_base",
    "hubert_large",
    "hubert_pretrain_base",
    "hubert_pretrain_large",
    "hubert_pretrain_model",
    "hubert_pretrain_xlarge",
    "hubert_xlarge",
    "squim",
    "squim_objective_base",
    "squim_objective_model",
    "squim_subjective_base",
    "squim_subjective_model",
    "wav2vec2",
    "wav2vec2_base",
    "wav2vec2_large",
    "wav2vec2_large_lv60k",
    "wav2vec2_model",
    "wav2vec2_xlsr_1b",
    "wav2vec2_xlsr_2b",
    "wav2vec2_xlsr_300m",
    "wavlm_base",
    "wavlm_large",
    "wavlm_model",
    "whisper",
]

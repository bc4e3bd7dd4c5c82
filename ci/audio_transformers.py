"""Write down what small networks of transformers compute, which `rushlight_audio` imports.

Usage: python ci/audio_transformers.py      where torch and transformers are
"""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

TESTS = Path(__file__).resolve().parents[1] / "audio" / "tests"
sys.path.insert(0, str(TESTS / "models"))

import foreign_weights  # noqa: E402

PATH = TESTS / "recorded" / "transformers.json"
AST_PATH = TESTS / "recorded" / "ast.json"
FASTSPEECH2_PATH = TESTS / "recorded" / "fastspeech2.json"
HIFI_GAN_PATH = TESTS / "recorded" / "hifi_gan.json"
WHISPER_PATH = TESTS / "recorded" / "whisper.json"
SIZES = {
    "hidden_size": 12, "num_hidden_layers": 2, "num_attention_heads": 2, "intermediate_size": 16,
    "conv_dim": (8, 6), "conv_kernel": (4, 3), "conv_stride": (2, 2),
    "num_feat_extract_layers": 2, "num_conv_pos_embeddings": 4,
    "num_conv_pos_embedding_groups": 2, "vocab_size": 5,
}  # fmt: skip
FIRST = {"feat_extract_norm": "layer", "do_stable_layer_norm": True, "conv_bias": True}
BUCKETS = {"num_buckets": 8, "max_bucket_distance": 16}
CASES = {
    "wav2vec2-ctc": ("Wav2Vec2Config", "Wav2Vec2ForCTC", {}),
    "wav2vec2-first": ("Wav2Vec2Config", "Wav2Vec2Model", FIRST),
    "hubert-ctc": ("HubertConfig", "HubertForCTC", FIRST),
    "hubert": ("HubertConfig", "HubertModel", {}),
    "wavlm-ctc": ("WavLMConfig", "WavLMForCTC", BUCKETS),
    "wavlm-first": ("WavLMConfig", "WavLMModel", {**FIRST, **BUCKETS}),
}
# What of the settings is read.
KEPT = (
    "model_type", "feat_extract_norm", "conv_dim", "conv_kernel", "conv_stride", "conv_bias",
    "hidden_size", "feat_proj_dropout", "num_conv_pos_embeddings",
    "num_conv_pos_embedding_groups", "num_hidden_layers", "num_attention_heads",
    "attention_dropout", "intermediate_size", "activation_dropout", "hidden_dropout",
    "do_stable_layer_norm", "layerdrop", "num_buckets", "max_bucket_distance",
)  # fmt: skip


WHISPER = {
    "vocab_size": 40, "num_mel_bins": 20, "d_model": 16, "encoder_layers": 2, "decoder_layers": 2,
    "encoder_attention_heads": 2, "decoder_attention_heads": 4, "encoder_ffn_dim": 64,
    "decoder_ffn_dim": 64, "max_source_positions": 15, "max_target_positions": 24,
    "pad_token_id": 0, "bos_token_id": 1, "eos_token_id": 2, "decoder_start_token_id": 1,
}  # fmt: skip


def whisper(torch: Any, transformers: Any) -> dict[str, Any]:
    """Logits, the best tokens, and what is heard."""
    config = transformers.WhisperConfig(**WHISPER)
    model = transformers.WhisperForConditionalGeneration(config).eval()
    shapes = {key: list(value.shape) for key, value in model.state_dict().items()}
    del shapes["proj_out.weight"]
    weights = {
        key: torch.tensor(foreign_weights.values(key, tuple(shape)))
        for key, shape in shapes.items()
    }
    model.load_state_dict(weights, strict=False)
    model.tie_weights()
    mel = torch.tensor(foreign_weights.wave(600)).view(2, 20, 30)
    tokens = [[1, 7, 9, 30], [1, 8, 11, 31]]
    with torch.no_grad():
        logits = model(mel, decoder_input_ids=torch.tensor(tokens)).logits
        best = torch.tensor([[1, 7], [1, 7]])
        for _ in range(10):
            scores = model(mel, decoder_input_ids=best).logits[:, -1]
            scores[:, [2, 4]] = -torch.inf
            best = torch.cat([best, scores.argmax(-1, keepdim=True)], 1)
    sizes = {key: value for key, value in config.to_dict().items() if key in WHISPER}
    found = {
        "config": {**sizes, "model_type": "whisper"}, "shapes": shapes, "tokens": tokens,
        "logits": rounded(logits), "best": best[:, 2:].tolist(), "heard": {},
    }  # fmt: skip
    sound = foreign_weights.wave(16000)[0]
    for bands in (80, 128):
        extractor = transformers.WhisperFeatureExtractor(feature_size=bands)
        heard = extractor(sound, sampling_rate=16000, return_tensors="np").input_features[0]
        found["heard"][str(bands)] = rounded(heard[:, :120:17].copy())
    return found


def hifi_gan(torch: Any, transformers: Any) -> dict[str, Any]:
    """A waveform, and the names of the weights."""
    config = transformers.SpeechT5HifiGanConfig(**foreign_weights.HIFI_GAN, normalize_before=False)
    model = transformers.SpeechT5HifiGan(config).eval()
    state = {}
    for key, value in model.state_dict().items():
        own = key.replace("upsampler.", "ups.")  # the authors' names
        state[key] = torch.tensor(foreign_weights.values(own, tuple(value.shape)))
    model.load_state_dict(state)
    mel = torch.tensor(foreign_weights.wave(54)).view(2, 9, 6)
    with torch.no_grad():
        return {"waveform": rounded(model(mel))}


def fastspeech2(torch: Any, transformers: Any) -> dict[str, Any]:
    """What two texts sound like, the second with durations, pitch and energy of our own."""
    config = transformers.FastSpeech2ConformerConfig(**foreign_weights.FASTSPEECH2)
    model = transformers.FastSpeech2ConformerModel(config).eval()
    shapes = {key: list(value.shape) for key, value in model.state_dict().items()}
    state = {}
    for key, shape in shapes.items():
        numbers = foreign_weights.values(key, tuple(shape)) if shape else 0
        numbers = abs(numbers) + 0.5 if key.endswith("running_var") else numbers
        numbers = numbers + 1.5 if key == "duration_predictor.linear.bias" else numbers
        state[key] = torch.tensor(numbers)
    model.load_state_dict(state)
    kept = {key: value for key, value in config.to_dict().items() if "config" not in key}
    found: dict[str, Any] = {"config": kept, "shapes": shapes}
    with torch.no_grad():
        output = model(torch.tensor([[3, 5, 1, 8, 2]]))
        found["durations"] = output.duration_outputs.tolist()
        for name in ("spectrogram", "pitch_outputs", "energy_outputs"):
            found[name] = rounded(getattr(output, name))
        draw = foreign_weights.wave(14)
        labels = torch.zeros(2, 7, config.num_mel_bins)
        labels[1, 3:] = -100.0  # padding
        durations = torch.tensor([[2, 1, 3, 1], [1, 2, 0, 0]])
        model.train()  # true durations count in training alone
        for module in model.modules():
            if isinstance(module, torch.nn.Dropout):
                module.p = 0.0
            elif isinstance(module, torch.nn.BatchNorm1d):
                module.eval()
        given = model(
            torch.tensor([[3, 5, 1, 8], [4, 2, 0, 0]]),
            attention_mask=torch.tensor([[1, 1, 1, 1], [1, 1, 0, 0]]),
            spectrogram_labels=labels,
            duration_labels=durations,
            pitch_labels=torch.tensor(draw[:, :4, None]),
            energy_labels=torch.tensor(draw[:, 4:8, None]),
        )
    found["given"] = rounded(given.spectrogram)
    found["given log durations"] = rounded(given.duration_outputs)
    return found


def spectrogram_transformer(torch: Any, transformers: Any) -> dict[str, Any]:
    """Logits of noise, and what is heard of it."""
    config = transformers.ASTConfig(**foreign_weights.AST, num_labels=5)
    model = transformers.ASTForAudioClassification(config).eval()
    shapes = {key: list(value.shape) for key, value in model.state_dict().items()}
    weights = {
        key: torch.tensor(foreign_weights.values(key, tuple(shape)))
        for key, shape in shapes.items()
    }
    model.load_state_dict(weights)
    features = torch.tensor(foreign_weights.wave(400)).view(2, 25, 16)
    with torch.no_grad():
        logits = model(features).logits
    kept = {key: value for key, value in config.to_dict().items() if key in foreign_weights.AST}
    named = {"model_type": config.model_type, "id2label": config.id2label, **kept}
    extractor = transformers.ASTFeatureExtractor(num_mel_bins=32, max_length=120)
    sound = 0.1 * foreign_weights.wave(16000)[0]
    heard = extractor(sound, sampling_rate=16000, return_tensors="np").input_values[0]
    return {
        "config": named, "shapes": shapes, "logits": rounded(logits),
        "heard": rounded(heard[::17].copy()),
    }  # fmt: skip


def rounded(values: Any) -> list[float]:
    """Numbers as JSON has them."""
    return [round(float(each), 7) for each in values.reshape(-1)]


def main() -> int:
    import torch
    import transformers

    table = {}
    for name, (settings, network, options) in CASES.items():
        config = getattr(transformers, settings)(**SIZES, **options)
        model = getattr(transformers, network)(config).eval()
        shapes = {key: list(value.shape) for key, value in model.state_dict().items()}
        weights = {
            key: torch.tensor(foreign_weights.values(key, tuple(shape)))
            for key, shape in shapes.items()
        }
        model.load_state_dict(weights)
        with torch.no_grad():
            output = model(torch.tensor(foreign_weights.wave(120)))[0]
        kept = {key: value for key, value in config.to_dict().items() if key in KEPT}
        table[name] = {"config": kept, "shapes": shapes, "output": rounded(output)}
        print(name, tuple(output.shape))
    PATH.write_text(json.dumps(table) + "\n")
    WHISPER_PATH.write_text(json.dumps(whisper(torch, transformers)) + "\n")
    AST_PATH.write_text(json.dumps(spectrogram_transformer(torch, transformers)) + "\n")
    FASTSPEECH2_PATH.write_text(json.dumps(fastspeech2(torch, transformers)) + "\n")
    HIFI_GAN_PATH.write_text(json.dumps(hifi_gan(torch, transformers)) + "\n")
    return 0


if __name__ == "__main__":
    raise SystemExit(main())

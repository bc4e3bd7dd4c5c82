"""Small bundles with weights of our own, and all published ones without weights, measured the same
way by torchaudio, which writes it down (see ci/audio_pipelines.py), and by Rushlight."""

from __future__ import annotations

import json
from collections.abc import Callable
from contextlib import ExitStack
from typing import Any
from unittest import mock

import numpy as np
from foreign_weights import values
from network_measures import fingerprint, signature

CLASSES = (
    "Wav2Vec2Bundle", "Wav2Vec2ASRBundle", "Wav2Vec2FABundle", "Tacotron2TTSBundle", "RNNTBundle",
    "SourceSeparationBundle", "SquimObjectiveBundle", "SquimSubjectiveBundle",
)  # fmt: skip
LOADERS = (
    "get_model", "get_tacotron2", "get_vocoder", "get_decoder", "get_token_processor",
    "get_feature_extractor",
)  # fmt: skip
SIZES = {
    "extractor_mode": "group_norm", "extractor_conv_layer_config": [(8, 4, 2), (8, 3, 2)],
    "extractor_conv_bias": False, "encoder_embed_dim": 12, "encoder_projection_dropout": 0.1,
    "encoder_pos_conv_kernel": 4, "encoder_pos_conv_groups": 2, "encoder_num_layers": 2,
    "encoder_num_heads": 2, "encoder_attention_dropout": 0.1, "encoder_ff_interm_features": 16,
    "encoder_ff_interm_dropout": 0.1, "encoder_dropout": 0.1, "encoder_layer_norm_first": False,
    "encoder_layer_drop": 0.1, "aux_num_out": 4,
}  # fmt: skip
BUCKETS = {"encoder_num_buckets": 8, "encoder_max_distance": 16}
WAVERNN = {
    "upsample_scales": [2, 3], "n_classes": 16, "hop_length": 6, "n_res_block": 1, "n_rnn": 8,
    "n_fc": 8, "kernel_size": 5, "n_freq": 80, "n_hidden": 8, "n_output": 8,
}  # fmt: skip
RNNT = {
    "input_dim": 80, "encoding_dim": 6, "num_symbols": 5, "segment_length": 4,
    "right_context_length": 2, "time_reduction_input_dim": 4, "time_reduction_stride": 2,
    "transformer_num_heads": 2, "transformer_ffn_dim": 8, "transformer_num_layers": 1,
    "transformer_dropout": 0.1, "transformer_activation": "gelu",
    "transformer_left_context_length": 3, "transformer_max_memory_size": 0,
    "transformer_weight_init_scale_strategy": "depthwise", "transformer_tanh_on_mem": True,
    "symbol_embedding_dim": 7, "num_lstm_layers": 1, "lstm_layer_norm": True,
    "lstm_layer_norm_epsilon": 1e-3, "lstm_dropout": 0.3,
}  # fmt: skip
LABELS = ("a", "b", "c")
TEXTS = ["Hello, World! (42) é", "so it goes.", "-"]
STATS = {
    "mean": [round(0.1 * number, 3) for number in range(80)],
    "invstddev": [round(0.5 + 0.01 * number, 3) for number in range(80)],
}

# Makes a file of weights, or of anything that JSON has, findable under a path or key.
Provide = Callable[[str, Any], None]


def weights(torch: Any, model: Any, rows: int = 0) -> dict[str, Any]:
    """Weights for `model`, with `rows` more of tokens that are left out."""
    found = {}
    for key, value in model.state_dict().items():
        shape = tuple(value.shape)
        if key.startswith("aux.") and rows:
            shape = (shape[0] + rows, *shape[1:])
        if "num_batches" in key:
            found[key] = value
        else:
            numbers = values(key, shape)
            found[key] = torch.tensor(abs(numbers) if key.endswith("running_var") else numbers)
    return found


def _waves(torch: Any, batch: int) -> Any:
    draw = np.random.default_rng(batch)
    return torch.tensor((3 * draw.standard_normal((batch, 120)) + 1).astype(np.float32))


def recognition(torch: Any, audio: Any, provide: Provide) -> dict[str, Any]:
    """Networks of representations, of tokens, and of alignments."""
    found: dict[str, Any] = {}
    for kind, sizes in (("Wav2Vec2", SIZES), ("WavLM", {**SIZES, **BUCKETS})):
        builder = {"Wav2Vec2": audio.models.wav2vec2_model, "WavLM": audio.models.wavlm_model}
        provide("small.pth", weights(torch, builder[kind](**sizes)))
        for normalised in (False, True):
            bundle = audio.pipelines.Wav2Vec2Bundle("small.pth", sizes, 16000, normalised, kind)
            model = bundle.get_model()
            name = f"{kind} {normalised}"
            found[f"{name} state"] = np.array(fingerprint(model.state_dict()))
            found[f"{name} output"] = model(_waves(torch, 2))[0]
            found[f"{name} layer"] = model.extract_features(_waves(torch, 2))[0][1]
    provide("tokens.pth", weights(torch, audio.models.wav2vec2_model(**SIZES), rows=3))
    facts = ("tokens.pth", SIZES, 16000, True, "Wav2Vec2", LABELS)
    found["asr"] = audio.pipelines.Wav2Vec2ASRBundle(*facts).get_model()(_waves(torch, 2))[0]
    bundle = audio.pipelines.Wav2Vec2FABundle(*facts)
    found["star"] = bundle.get_model()(_waves(torch, 1))[0]
    found["no star"] = bundle.get_model(with_star=False)(_waves(torch, 2))[0]
    words = bundle.get_tokenizer()(["ab", "c*a"])
    found["words"] = np.array([token for word in words for token in word])
    spans = bundle.get_aligner()(found["star"][0], words)
    rows = [(s.token, s.start, s.end, s.score) for word in spans for s in word]
    found["spans"] = np.array(rows)
    return found


def speaking(torch: Any, audio: Any, provide: Provide) -> dict[str, Any]:
    """Texts and vocoders."""
    found: dict[str, Any] = {}
    bundle = audio.pipelines.TACOTRON2_WAVERNN_CHAR_LJSPEECH
    found["text"], found["lengths"] = bundle.get_text_processor()(TEXTS)
    found["letters"] = np.array("".join(bundle.get_text_processor().tokens))
    provide("wavernn.pth", weights(torch, audio.models.WaveRNN(**WAVERNN)))
    small = type(bundle)(
        _tacotron2_path="", _tacotron2_params={}, _wavernn_path="wavernn.pth",
        _wavernn_params=WAVERNN,
    )  # fmt: skip
    draw = np.random.default_rng(1)
    mels = torch.tensor((draw.standard_normal((2, 80, 7)) - 4).astype(np.float32))
    vocoder = small.get_vocoder()
    torch.manual_seed(3)
    found["wavernn"], found["wavernn lengths"] = vocoder(mels, torch.tensor([7, 5]))
    vocoder = audio.pipelines.TACOTRON2_GRIFFINLIM_CHAR_LJSPEECH.get_vocoder()
    torch.manual_seed(3)
    found["griffinlim"] = vocoder(mels)[0].detach()
    return found


def transducing(torch: Any, audio: Any, provide: Provide) -> dict[str, Any]:
    """Features, and symbols of a small transducer."""
    model = audio.models.emformer_rnnt_model(**RNNT)
    provide("models/rnnt.pt", weights(torch, model))
    provide("pipeline-assets/stats.json", STATS)
    bundle = audio.pipelines.RNNTBundle(
        "models/rnnt.pt", lambda: model, "pipeline-assets/stats.json", "", 4, 4, 16000, 400, 80,
        160, 4, 2,
    )  # fmt: skip
    draw = np.random.default_rng(2)
    wave = torch.tensor(draw.standard_normal(3000).astype(np.float32))
    found: dict[str, Any] = {}
    found["features"], found["frames"] = bundle.get_feature_extractor()(wave)
    found["stream"], found["stream frames"] = bundle.get_streaming_feature_extractor()(wave)
    with torch.no_grad():
        best = bundle.get_decoder()(found["features"][:14], torch.tensor(12), 3)
    found["symbols"] = np.array(best[0][0])
    found["score"] = np.array(best[0][3])
    return found


PARTS = {"recognition": recognition, "speaking": speaking, "transducing": transducing}


def measured(torch: Any, audio: Any, provide: Provide) -> dict[str, np.ndarray]:
    """What small bundles give."""
    found = {}
    for part, measure in PARTS.items():
        for name, value in measure(torch, audio, provide).items():
            numbers = value if isinstance(value, np.ndarray) else value.detach().numpy()
            found[f"{part}/{name}"] = numbers
    return found


def _asked(torch: Any, bundle: Any, method: str, patches: list[str]) -> dict[str, Any]:
    """Which addresses a method asks for, and the state of what it makes."""
    urls: list[str] = []

    def load(url: str, *args: Any, **kwargs: Any) -> dict[str, Any]:
        urls.append(url)
        return {"aux.weight": torch.zeros(50, 1), "aux.bias": torch.zeros(50)}

    def fetch(url: str, path: Any = None, *args: Any, **kwargs: Any) -> None:
        urls.append(url)
        if not url.endswith((".pt", ".pth")):
            raise LookupError("the address is all that is asked for")
        torch.save({}, path)

    with ExitStack() as stack:
        for path in patches:
            fake = load if path.endswith("load_state_dict_from_url") else fetch
            stack.enter_context(mock.patch(path, fake))
        loading = mock.patch.object(torch.nn.Module, "load_state_dict", lambda *a, **k: None)
        stack.enter_context(loading)
        stack.enter_context(torch.device("meta"))
        try:
            made = getattr(bundle, method)()
        except LookupError:
            made = None
    state = made.state_dict() if isinstance(made, torch.nn.Module) else {}
    return {"urls": urls, "state": fingerprint(state) if state else ""}


def published(torch: Any, audio: Any, patches: list[str], names: list[str]) -> dict[str, Any]:
    """What is known of all published bundles."""
    found = {}
    for name in names:
        bundle = getattr(audio.pipelines, name)
        if isinstance(bundle, type):
            continue
        facts: dict[str, Any] = {}
        if hasattr(bundle, "sample_rate"):
            facts["sample_rate"] = bundle.sample_rate
        if hasattr(bundle, "get_labels"):
            facts["labels"] = list(bundle.get_labels())
        loads_nothing = "get_vocoder" if "GRIFFINLIM" in name else ""
        for method in LOADERS:
            if hasattr(bundle, method) and method != loads_nothing:
                facts[method] = _asked(torch, bundle, method, patches)
        found[name] = facts
    return found


def signatures(audio: Any) -> dict[str, Any]:
    """Parameters of the public methods of all classes."""
    found = {}
    for name in CLASSES:
        kind = getattr(audio.pipelines, name)
        methods = [key for key in dir(kind) if key.startswith("get_")]
        found[name] = {key: signature(getattr(kind, key)) for key in methods}
        if name != "Tacotron2TTSBundle":  # an interface there
            found[name]["__init__"] = signature(kind.__init__)
    return found


def dump(table: Any) -> str:
    """One line of JSON for each bundle."""
    return json.dumps(table).replace('}, "', '},\n"') + "\n"

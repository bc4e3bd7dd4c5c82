"""Small networks of every architecture, and what they are given; torchaudio writes down what they
compute, and Rushlight must compute the same (see ci/audio_models.py)."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

LAYERS = [(8, 4, 2), (8, 3, 2)]
SMALL = (0.1, 4, 2, 2, 2)
BEHIND = (0.1, 16, 0.1, 0.1)
STATIC = ("static", 0.0, 10, False, 1)
TACOTRON2 = {
    "n_mels": 4, "n_symbol": 5, "symbol_embedding_dim": 6, "encoder_embedding_dim": 6,
    "decoder_rnn_dim": 7, "decoder_max_step": 6, "attention_rnn_dim": 9,
    "attention_hidden_dim": 3, "attention_location_n_filter": 2,
    "attention_location_kernel_size": 3, "prenet_dim": 5, "postnet_embedding_dim": 6,
}  # fmt: skip
RNNT = {
    "input_dim": 4, "encoding_dim": 6, "num_symbols": 5, "segment_length": 4,
    "right_context_length": 2, "time_reduction_input_dim": 3, "time_reduction_stride": 2,
    "transformer_num_heads": 2, "transformer_ffn_dim": 8, "transformer_num_layers": 2,
    "transformer_dropout": 0.1, "transformer_activation": "gelu",
    "transformer_left_context_length": 3, "transformer_max_memory_size": 0,
    "transformer_weight_init_scale_strategy": "depthwise", "transformer_tanh_on_mem": True,
    "symbol_embedding_dim": 7, "num_lstm_layers": 2, "lstm_layer_norm": True,
    "lstm_layer_norm_epsilon": 1e-3, "lstm_dropout": 0.3,
}  # fmt: skip
EMFORMER = {
    "input_dim": 8, "num_heads": 2, "ffn_dim": 16, "num_layers": 2, "segment_length": 4,
    "dropout": 0.1, "left_context_length": 3, "right_context_length": 2, "max_memory_size": 2,
}  # fmt: skip
TASNET = {
    "enc_kernel_size": 4, "enc_num_feats": 8, "msk_num_feats": 6, "msk_num_hidden_feats": 7,
    "msk_num_layers": 2, "msk_num_stacks": 2,
}  # fmt: skip


class Case(NamedTuple):
    """How a network is built from the library's models, and what it computes from PyTorch's names;
    `training`: also in training mode, dropout from the same seed; `gradients`: torchaudio has
    some."""

    build: Callable[[Any], Any]
    call: Callable[[Any, Any], Any]
    training: bool = True
    gradients: bool = True


def wav2vec2(mode: str, bias: bool, first: bool, aux: int | None, drop: float = 0.0) -> Any:
    def build(models: Any) -> Any:
        return models.wav2vec2_model(mode, LAYERS, bias, 12, *SMALL, *BEHIND, first, drop, aux)

    return build


def wavlm(mode: str, first: bool, aux: int | None) -> Any:
    def build(models: Any) -> Any:
        sizes = (0.1, 4, 2, 2, 2, 8, 16)
        return models.wavlm_model(mode, LAYERS, False, 12, *sizes, *BEHIND, first, 0.0, aux)

    return build


def hubert(frames: tuple[Any, ...], channels: tuple[Any, ...], grad: float | None) -> Any:
    def build(models: Any) -> Any:
        sizes = ("group_norm", LAYERS, False, 12, *SMALL, *BEHIND, False, 0.0)
        masks = (0.4, *frames, 0.3, *channels)
        return models.hubert_pretrain_model(*sizes, *masks, False, False, 7, 6, grad)

    return build


def waves(*shape: int) -> Any:
    return lambda torch, model: model(torch.randn(*shape))


def with_lengths(shape: tuple[int, ...], lengths: list[int]) -> Any:
    return lambda torch, model: model(torch.randn(*shape), torch.tensor(lengths))


def layers_of(torch: Any, model: Any) -> Any:
    found, lengths = model.extract_features(
        torch.randn(2, 200), torch.tensor([200, 150]), num_layers=1
    )
    return *found, lengths


def labelled(lengths: list[int] | None) -> Any:
    def call(torch: Any, model: Any) -> Any:
        given = None if lengths is None else torch.tensor(lengths)
        labels = torch.randint(0, 7, (2, 49))
        return model(torch.randn(2, 200), labels, given)

    return call


def streamed(torch: Any, model: Any) -> Any:
    """Four segments of two streams, the last of one shorter."""
    state, found = None, []
    size = model.segment_length + model.right_context_length
    for number in range(4):
        lengths = torch.tensor([size, size - (number == 3)])
        frames, lengths, state = model.infer(torch.randn(2, size, 8), lengths, state)
        found += [frames, lengths]
    return *found, *(part for layer in state for part in layer)


def transduced(torch: Any, model: Any) -> Any:
    sources, targets = torch.randn(2, 14, 4), torch.randint(0, 5, (2, 3))
    output = model(sources, torch.tensor([12, 10]), targets, torch.tensor([3, 2]))
    return *output[:3], *(part for layer in output[3] for part in layer)


def transcribed(torch: Any, model: Any) -> Any:
    state, found = None, []
    for _ in range(3):
        encoded, lengths, state = model.transcribe_streaming(
            torch.randn(1, 6, 4), torch.tensor([6]), state
        )
        found += [encoded, lengths]
    return tuple(found)


def searched(models: Any, torch: Any, model: Any) -> Any:
    """Tokens and scores of a whole utterance, and of a stream."""
    found = []
    search = models.RNNTBeamSearch(model, blank=4, temperature=0.7, step_max_tokens=3)
    source = torch.randn(14, 4)
    for hypotheses in (search(source, torch.tensor(12), 4), _stream(torch, search)):
        for tokens, _, _, score in hypotheses:
            found += [torch.tensor(tokens), torch.tensor(float(score))]
    return tuple(found)


def _stream(torch: Any, search: Any) -> Any:
    state = hypotheses = None
    for _ in range(3):
        hypotheses, state = search.infer(
            torch.randn(6, 4), torch.tensor([6]), 4, state=state, hypothesis=hypotheses
        )
    return hypotheses


def spoken(torch: Any, model: Any) -> Any:
    tokens, mels = torch.randint(0, 5, (2, 6)), torch.randn(2, 4, 7)
    return model(tokens, torch.tensor([6, 4]), mels, torch.tensor([7, 5]))


def synthesised(torch: Any, model: Any) -> Any:
    return model.infer(torch.randint(0, 5, (2, 6)), torch.tensor([6, 4]))


def vocoded(torch: Any, model: Any) -> Any:
    return model.infer(torch.randn(2, 3, 4), torch.tensor([4, 3]))


def compared(torch: Any, model: Any) -> Any:
    return model(torch.randn(2, 900), torch.randn(2, 400))


def squim_subjective(models: Any) -> Any:
    """The small one: torchaudio's builder takes none but the named sizes of its encoder."""
    encoder = wav2vec2("group_norm", False, False, None)(models)
    from_library = type(models.squim_objective_base()).__module__.rpartition(".")[0]
    module = __import__(f"{from_library}.subjective", fromlist=["Predictor"])
    linear = type(encoder.encoder.feature_projection.projection)
    return models.SquimSubjective(encoder, linear(12, 4), module.Predictor(8, 5))


CASES: dict[str, Case] = {
    "wav2letter": Case(lambda m: m.Wav2Letter(5), waves(1, 1, 8000)),
    "wav2letter-mfcc": Case(lambda m: m.Wav2Letter(4, "mfcc", 3), waves(2, 3, 60)),
    "deepspeech": Case(lambda m: m.DeepSpeech(6, 5, 4, 0.2), waves(2, 1, 7, 6)),
    "conv_tasnet": Case(lambda m: m.ConvTasNet(**TASNET), waves(2, 1, 103)),
    "conv_tasnet-relu": Case(
        lambda m: m.ConvTasNet(3, **{**TASNET, "enc_kernel_size": 5}, msk_activate="relu"),
        waves(2, 1, 102),
    ),
    "wavernn": Case(
        lambda m: m.WaveRNN([2, 3], 8, 6, 2, 5, 4, 5, 3, 7, 8),
        lambda torch, model: model(torch.randn(2, 1, 36), torch.randn(2, 1, 3, 10)),
    ),
    "wavernn-infer": Case(
        lambda m: m.WaveRNN([2, 3], 8, 6, 2, 5, 4, 5, 3, 7, 8), vocoded, training=False
    ),
    "conformer": Case(lambda m: m.Conformer(8, 2, 16, 2, 3), with_lengths((3, 9, 8), [9, 7, 4])),
    "conformer-other": Case(
        lambda m: m.Conformer(8, 2, 16, 2, 5, 0.1, True, True), with_lengths((2, 9, 8), [9, 7])
    ),
    "emformer": Case(lambda m: m.Emformer(**EMFORMER), with_lengths((3, 13, 8), [11, 9, 6])),
    "emformer-plain": Case(
        lambda m: m.Emformer(
            8, 2, 16, 2, 4, activation="silu", weight_init_scale_strategy="constant"
        ),
        with_lengths((1, 9, 8), [9]),
    ),
    "emformer-tanh": Case(
        lambda m: m.Emformer(
            **{**EMFORMER, "left_context_length": 0},
            activation="gelu",
            weight_init_scale_strategy=None,
            tanh_on_mem=True,
        ),
        with_lengths((2, 14, 8), [12, 12]),
    ),
    "emformer-infer": Case(lambda m: m.Emformer(**EMFORMER), streamed, training=False),
    "rnnt": Case(lambda m: m.emformer_rnnt_model(**RNNT), transduced),
    "rnnt-plain": Case(
        lambda m: m.emformer_rnnt_model(
            **{**RNNT, "lstm_layer_norm": False, "transformer_max_memory_size": 1}
        ),
        transduced,
    ),
    "rnnt-infer": Case(lambda m: m.emformer_rnnt_model(**RNNT), transcribed, training=False),
    "tacotron2": Case(lambda m: m.Tacotron2(**TACOTRON2), spoken),
    "tacotron2-masked": Case(
        lambda m: m.Tacotron2(mask_padding=True, **TACOTRON2), spoken, gradients=False
    ),
    "tacotron2-infer": Case(lambda m: m.Tacotron2(**TACOTRON2), synthesised, training=False),
    "hdemucs": Case(
        lambda m: m.HDemucs(
            ["a", "b"], channels=16, depth=3, nfft=256, norm_starts=1, dconv_attn=1, dconv_lstm=1
        ),
        waves(1, 2, 3000),
    ),
    "hdemucs-deep": Case(
        lambda m: m.HDemucs(
            ["a"],
            1,
            channels=8,
            depth=4,
            nfft=256,
            kernel_size=8,
            norm_starts=2,
            dconv_attn=4,
            dconv_lstm=0,
            context_enc=1,
            freq_emb=0.0,
        ),
        waves(2, 1, 6000),
    ),
    "squim_objective": Case(
        lambda m: m.squim_objective_model(8, 4, 6, 2, 5, 2, "LSTM", 7), waves(2, 120)
    ),
    "squim_subjective": Case(squim_subjective, compared),
    "wav2vec2": Case(wav2vec2("group_norm", False, False, 5), with_lengths((2, 200), [200, 150])),
    "wav2vec2-first": Case(wav2vec2("layer_norm", True, True, None), waves(2, 200)),
    "wav2vec2-drop": Case(wav2vec2("layer_norm", True, False, None, 0.5), waves(2, 200)),
    "wav2vec2-layers": Case(wav2vec2("group_norm", False, False, None), layers_of),
    "wavlm": Case(wavlm("group_norm", False, 5), waves(2, 200)),
    "wavlm-first": Case(wavlm("layer_norm", True, None), waves(1, 300)),
    "hubert": Case(hubert(STATIC, STATIC, 0.1), labelled(None)),
    "hubert-lengths": Case(
        hubert(("uniform", 2.0, 5, False, 1), ("static", 0.0, 2, True, 1), None),
        labelled([200, 140]),
    ),
    "hubert-normal": Case(
        hubert(("normal", 1.5, 4, True, 2), ("normal", 1.0, 3, False, 1), 0.5),
        labelled([200, 180]),
    ),
}
SEARCH = "rnnt-infer"

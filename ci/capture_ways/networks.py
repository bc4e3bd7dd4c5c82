"""Networks of the sister packages in small configurations, each with its inputs."""

from __future__ import annotations

import rushlight as rl

# Builders of `rushlight_vision`, with the size of pictures; one network of each family.
VISION = {
    "alexnet": 64, "convnext_tiny": 64, "densenet121": 64, "efficientnet_b0": 64,
    "efficientnet_v2_s": 64, "googlenet": 64, "inception_v3": 96, "maxvit_t": 224,
    "mnasnet0_5": 64, "mobilenet_v2": 64, "mobilenet_v3_small": 64, "regnet_x_400mf": 64,
    "regnet_y_400mf": 64, "resnet18": 64, "resnet50": 64, "resnext50_32x4d": 64,
    "shufflenet_v2_x0_5": 64, "squeezenet1_0": 64, "swin_t": 64, "swin_v2_t": 64, "vgg11": 64,
    "vgg11_bn": 64, "vit_b_32": 224, "wide_resnet50_2": 64,
}  # fmt: skip
SEGMENTATION = ("fcn_resnet50", "deeplabv3_mobilenet_v3_large", "lraspp_mobilenet_v3_large")


def _picture(size, count=1):
    return rl.randn(count, 3, size, size)


def vision() -> dict:
    """Classification, segmentation and videos."""
    import rushlight_vision.models as models

    options = {"googlenet": {"init_weights": False}, "inception_v3": {"init_weights": False}}
    found = {
        name: lambda name=name, size=size: (
            getattr(models, name)(weights=None, num_classes=7, **options.get(name, {})),
            (_picture(size),),
        )
        for name, size in VISION.items()
    }
    found["LeNet5"] = lambda: (models.LeNet5(), (rl.randn(2, 1, 28, 28),))
    for name in SEGMENTATION:
        found[name] = lambda name=name: (
            getattr(models.segmentation, name)(weights=None, weights_backbone=None, num_classes=4),
            (_picture(64),),
        )
    found["r3d_18"] = lambda: (
        models.video.r3d_18(weights=None, num_classes=4), (rl.randn(1, 3, 4, 32, 32),)
    )  # fmt: skip
    return found


def _words(*shape):
    return rl.randint(3, 30, shape)


def text() -> dict:
    """Classifiers, taggers and encoders."""
    import rushlight_text.models as models

    encoder = models.RobertaEncoderConf(
        vocab_size=40, embedding_dim=16, ffn_dimension=32, max_seq_len=20, num_attention_heads=2,
        num_encoder_layers=2,
    )  # fmt: skip
    sizes = {
        "embedding_dim": 16, "qkv_dim": 8, "num_attention_heads": 2, "num_encoder_layers": 2,
        "num_decoder_layers": 2, "ffn_dimension": 32, "vocab_size": 40, "max_seq_len": 20,
    }  # fmt: skip
    return {
        "TextCNN": lambda: (models.TextCNN(40, 8, 3, channels=4), (_words(2, 9),)),
        "BiLSTMClassifier": lambda: (
            models.BiLSTMClassifier(40, 8, 3, hidden_size=6),
            (_words(2, 9), rl.tensor([9, 7])),
        ),
        "BiLSTMTagger": lambda: (
            models.BiLSTMTagger(40, 8, 3, hidden_size=6),
            (_words(2, 9), rl.tensor([9, 7]), rl.randint(0, 3, (2, 9))),
        ),
        "EmbeddingBagClassifier": lambda: (
            models.EmbeddingBagClassifier(40, 8, 3),
            (_words(9), rl.tensor([0, 4])),
        ),
        "RobertaModel": lambda: (models.RobertaModel(encoder), (_words(2, 9),)),
        "T5Model, encoder": lambda: (
            models.T5Model(models.T5Conf(encoder_only=True, **sizes)),
            (_words(2, 9),),
        ),
        "T5Model": lambda: (models.T5Model(models.T5Conf(**sizes)), (_words(2, 9), _words(2, 5))),
    }


def audio() -> dict:
    """Recognition, separation, speakers, pitch; features and vocoders."""
    import rushlight_audio.models as models
    import rushlight_audio.transforms as transforms

    wave, lengths = (lambda: rl.randn(1, 1600)), (lambda: rl.tensor([40, 30]))
    return {
        "Spectrogram": lambda: (transforms.Spectrogram(n_fft=64), (wave(),)),
        "MelSpectrogram": lambda: (
            transforms.MelSpectrogram(8000, n_fft=128, n_mels=8), (wave(),)
        ),
        "MFCC": lambda: (
            transforms.MFCC(8000, n_mfcc=4, melkwargs={"n_fft": 128, "n_mels": 8}), (wave(),)
        ),
        "Wav2Letter": lambda: (
            models.Wav2Letter(5, "mfcc", 8), (rl.randn(1, 8, 60),)
        ),
        "DeepSpeech": lambda: (models.DeepSpeech(8, 16, 5), (rl.randn(1, 1, 20, 8),)),
        "Conformer": lambda: (
            models.Conformer(8, 2, 16, 2, 3), (rl.randn(2, 40, 8), lengths())
        ),
        "Emformer": lambda: (
            models.Emformer(8, 2, 16, 2, 4, right_context_length=1),
            (rl.randn(2, 41, 8), lengths()),
        ),
        "ConvTasNet": lambda: (
            models.ConvTasNet(2, 16, 8, 3, 8, 8, 2, 1), (rl.randn(1, 1, 800),)
        ),
        "Crepe": lambda: (models.Crepe("tiny"), (rl.randn(2, 1024),)),
        "ECAPA_TDNN": lambda: (
            models.ECAPA_TDNN(8, 6, (16, 16, 16, 16, 32), attention_channels=4, se_channels=4),
            (rl.randn(2, 30, 8),),
        ),
        "SpectrogramClassifier": lambda: (
            models.SpectrogramClassifier(4, 8000, n_fft=128, n_mels=8), (wave(),)
        ),
        "WaveRNN": lambda: (
            models.WaveRNN([2, 2, 3], 8, 12, 2, 8, 8, 5, 8, 8, 8),
            (rl.randn(1, 1, 12 * 6), rl.randn(1, 1, 8, 10)),
        ),
        "HiFiGANVocoder": lambda: (
            models.HiFiGANVocoder(8, (2, 2), 8, (4, 4), (3,), ((1, 3, 5),), 1, 0.1),
            (rl.randn(1, 8, 20),),
        ),
    }  # fmt: skip


def all_networks() -> dict:
    """Package and name -> a function that makes the network and its inputs."""
    packages = {"vision": vision, "text": text, "audio": audio}
    return {
        (package, name): make
        for package, networks in packages.items()
        for name, make in networks().items()
    }

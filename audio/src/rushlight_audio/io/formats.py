"""What libsndfile calls a format and a subtype, in torchaudio's terms and back."""

from __future__ import annotations

from dataclasses import dataclass

__all__ = ["AudioMetaData", "format_of", "holds_nan", "metadata_names", "seekable", "subtype_for"]

# libsndfile's subtype: bits of a sample (0: compressed), name of the encoding.
_ENCODINGS = {
    "PCM_S8": (8, "PCM_S"),
    "PCM_16": (16, "PCM_S"),
    "PCM_24": (24, "PCM_S"),
    "PCM_32": (32, "PCM_S"),
    "PCM_U8": (8, "PCM_U"),
    "FLOAT": (32, "PCM_F"),
    "DOUBLE": (64, "PCM_F"),
    "ULAW": (8, "ULAW"),
    "ALAW": (8, "ALAW"),
    "VORBIS": (0, "VORBIS"),
    "OPUS": (0, "OPUS"),
    "MPEG_LAYER_III": (0, "MP3"),
}
_BY_DTYPE = {
    "uint8": "PCM_U8",
    "int16": "PCM_16",
    "int32": "PCM_32",
    "float32": "FLOAT",
    "float64": "DOUBLE",
}
_WAV = {
    ("PCM_S", 16): "PCM_16",
    ("PCM_S", 24): "PCM_24",
    ("PCM_S", 32): "PCM_32",
    ("PCM_S", None): "PCM_32",
    ("PCM_U", 8): "PCM_U8",
    ("PCM_U", None): "PCM_U8",
    ("PCM_F", 32): "FLOAT",
    ("PCM_F", 64): "DOUBLE",
    ("PCM_F", None): "FLOAT",
    ("ULAW", 8): "ULAW",
    ("ULAW", None): "ULAW",
    ("ALAW", 8): "ALAW",
    ("ALAW", None): "ALAW",
    (None, 8): "PCM_U8",
    (None, 16): "PCM_16",
    (None, 24): "PCM_24",
    (None, 32): "PCM_32",
}
_FLAC = {8: "PCM_S8", 16: "PCM_16", 24: "PCM_24", None: "PCM_16"}
_COMPRESSED = {"ogg": "VORBIS", "vorbis": "VORBIS", "opus": "OPUS", "mp3": "MPEG_LAYER_III"}
_CONTAINERS = {"wav": "WAV", "flac": "FLAC", "mp3": "MP3"} | dict.fromkeys(
    ("ogg", "vorbis", "opus"), "OGG"
)


@dataclass(frozen=True)
class AudioMetaData:
    """What a sound file says of itself.

    Attributes:
        sample_rate: samples per second and channel.
        num_frames: samples per channel.
        num_channels: channels.
        bits_per_sample: bits of a stored sample; 0 where the file is compressed.
        encoding: ``PCM_S``, ``PCM_U``, ``PCM_F``, ``ULAW``, ``ALAW``, ``FLAC``, ``VORBIS``,
            ``OPUS``, ``MP3`` or ``UNKNOWN``.
    """

    sample_rate: int
    num_frames: int
    num_channels: int
    bits_per_sample: int
    encoding: str


def metadata_names(container: str, subtype: str) -> tuple[int, str]:
    """Bits of a sample and name of the encoding for libsndfile's names."""
    bits, encoding = _ENCODINGS.get(subtype, (0, "UNKNOWN"))
    return bits, "FLAC" if container == "FLAC" else encoding


def seekable(subtype: str) -> bool:
    """Whether reading from the middle gives the samples that reading from the beginning gives.

    A compressed file's decoder has a state, so there it does not, not even to a rounding: at the
    end of a Vorbis file libsndfile lands on other samples.
    """
    return _ENCODINGS.get(subtype, (0, ""))[0] > 0


def holds_nan(subtype: str) -> bool:
    """Whether an encoding has a value for NaN."""
    return subtype in ("FLOAT", "DOUBLE")


def format_of(extension: str, where: object) -> tuple[str, str]:
    """The format's name and libsndfile's container for a file extension or `format` argument."""
    name = extension.lower().lstrip(".")
    if name not in _CONTAINERS:
        raise ValueError(
            f"save(): {where}: unknown format {name!r}; known are {sorted(_CONTAINERS)}"
        )
    return name, _CONTAINERS[name]


def subtype_for(name: str, dtype: str, encoding: str | None, bits: int | None) -> str:
    """libsndfile's subtype for a format and the arguments of :func:`rushlight_audio.save`."""
    if name == "wav":
        if encoding is None and bits is None:
            return _BY_DTYPE[dtype]
        if (encoding, bits) in _WAV:
            return _WAV[encoding, bits]
        raise ValueError(
            f"save(): wav has no encoding={encoding!r} with bits_per_sample={bits}; it has "
            "PCM_S with 16, 24 or 32, PCM_U with 8, PCM_F with 32 or 64, ULAW and ALAW with 8"
        )
    if encoding is not None:
        raise ValueError(f"save(): {name} takes no encoding, got {encoding!r}")
    if name == "flac":
        if bits in _FLAC:
            return _FLAC[bits]
        raise ValueError(f"save(): flac has bits_per_sample 8, 16 or 24, got {bits}")
    if bits is not None:
        raise ValueError(f"save(): {name} takes no bits_per_sample, got {bits}")
    return _COMPRESSED[name]

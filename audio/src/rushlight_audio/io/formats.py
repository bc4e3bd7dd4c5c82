"""What libsndfile calls a format and a subtype, in torchaudio's terms and back."""

from __future__ import annotations

from dataclasses import dataclass

__all__ = [
    "AudioMetaData",
    "format_of",
    "holds_nan",
    "known_formats",
    "metadata_names",
    "most_channels",
    "seekable",
    "subtype_for",
]

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
    "MPEG_LAYER_I": (0, "MP1"),
    "MPEG_LAYER_II": (0, "MP2"),
    "MPEG_LAYER_III": (0, "MP3"),
}
_BY_DTYPE = {
    "uint8": "PCM_U8",
    "int16": "PCM_16",
    "int32": "PCM_32",
    "float32": "FLOAT",
    "float64": "DOUBLE",
}
# (encoding, bits) of torchaudio: libsndfile's subtype.
_PCM = {
    ("PCM_S", 16): "PCM_16",
    ("PCM_S", 24): "PCM_24",
    ("PCM_S", 32): "PCM_32",
    ("PCM_S", None): "PCM_32",
    (None, 16): "PCM_16",
    (None, 24): "PCM_24",
    (None, 32): "PCM_32",
}
_FLOATS = {("PCM_F", 32): "FLOAT", ("PCM_F", 64): "DOUBLE", ("PCM_F", None): "FLOAT"}
_LAWS = {(law, bits): law for law in ("ULAW", "ALAW") for bits in (8, None)}
_UNSIGNED = {key: "PCM_U8" for key in (("PCM_U", 8), ("PCM_U", None), (None, 8))}
_SIGNED = {key: "PCM_S8" for key in (("PCM_S", 8), (None, 8))}
# What a container without compression holds; its default for a dtype that it does not hold.
_PLAIN = {
    "WAV": _PCM | _FLOATS | _LAWS | _UNSIGNED,
    "RF64": _PCM | _FLOATS | _LAWS | _UNSIGNED,
    "W64": _PCM | _FLOATS | _LAWS | _UNSIGNED,
    "AIFF": _PCM | _FLOATS | _LAWS | _SIGNED | _UNSIGNED,
    "AU": _PCM | _FLOATS | _LAWS | _SIGNED,
    "CAF": _PCM | _FLOATS | _LAWS | _SIGNED,
    "NIST": _PCM | _LAWS | _SIGNED,
    "HTK": {("PCM_S", 16): "PCM_16", ("PCM_S", None): "PCM_16", (None, 16): "PCM_16"},
}
_FLAC = {8: "PCM_S8", 16: "PCM_16", 24: "PCM_24", None: "PCM_16"}
_COMPRESSED = {"ogg": "VORBIS", "vorbis": "VORBIS", "opus": "OPUS", "mp3": "MPEG_LAYER_III"}
_CONTAINERS = {
    "wav": "WAV",
    "flac": "FLAC",
    "mp3": "MP3",
    "ogg": "OGG",
    "vorbis": "OGG",
    "opus": "OGG",
    "rf64": "RF64",
    "w64": "W64",
    "aif": "AIFF",
    "aiff": "AIFF",
    "au": "AU",
    "snd": "AU",
    "caf": "CAF",
    "sph": "NIST",
    "sphere": "NIST",
    "nis": "NIST",
    "nist": "NIST",
    "htk": "HTK",
}
# How many channels libsndfile writes; asked for more, its Vorbis encoder ends the process.
_CHANNELS = {"flac": 8, "mp3": 2, "ogg": 255, "vorbis": 255, "opus": 255, "htk": 1}


@dataclass(frozen=True)
class AudioMetaData:
    """What a sound file says of itself.

    Attributes:
        sample_rate: samples per second and channel.
        num_frames: samples per channel.
        num_channels: channels.
        bits_per_sample: bits of a stored sample; 0 where the file is compressed.
        encoding: ``PCM_S``, ``PCM_U``, ``PCM_F``, ``ULAW``, ``ALAW``, ``FLAC``, ``VORBIS``,
            ``OPUS``, ``MP3``, what FFmpeg calls another codec, in capitals, or ``UNKNOWN``.
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


def most_channels(name: str) -> int:
    """How many channels a file of a format holds."""
    return _CHANNELS.get(name, 1024)


def holds_nan(subtype: str) -> bool:
    """Whether an encoding has a value for NaN."""
    return subtype in ("FLOAT", "DOUBLE")


def format_of(extension: str) -> tuple[str, str] | None:
    """The format's name and libsndfile's container for a file extension or `format` argument;
    None where libsndfile does not write it."""
    name = extension.lower().lstrip(".")
    return (name, _CONTAINERS[name]) if name in _CONTAINERS else None


def known_formats() -> list[str]:
    """The names that :func:`format_of` knows."""
    return sorted(_CONTAINERS)


def subtype_for(name: str, dtype: str, encoding: str | None, bits: int | None) -> str:
    """libsndfile's subtype for a format and the arguments of :func:`rushlight_audio.save`."""
    container = _CONTAINERS[name]
    if container in _PLAIN:
        return _plain(name, _PLAIN[container], dtype, encoding, bits)
    if encoding is not None:
        raise ValueError(f"save(): {name} takes no encoding, got {encoding!r}")
    if name == "flac":
        if bits in _FLAC:
            return _FLAC[bits]
        raise ValueError(f"save(): flac has bits_per_sample 8, 16 or 24, got {bits}")
    if bits is not None:
        raise ValueError(f"save(): {name} takes no bits_per_sample, got {bits}")
    return _COMPRESSED[name]


def _plain(
    name: str,
    table: dict[tuple[str | None, int | None], str],
    dtype: str,
    encoding: str | None,
    bits: int | None,
) -> str:
    if encoding is None and bits is None:
        own = _BY_DTYPE[dtype]
        return own if own in table.values() else "PCM_16"
    if (encoding, bits) in table:
        return table[encoding, bits]
    pairs: dict[str, list[int]] = {}
    for known, size in table:
        if known is not None:
            pairs.setdefault(known, []).extend([size] if size else [])
    listed = ", ".join(f"{key} with {' or '.join(map(str, sizes))}" for key, sizes in pairs.items())
    raise ValueError(
        f"save(): {name} has no encoding={encoding!r} with bits_per_sample={bits}; it has {listed}"
    )

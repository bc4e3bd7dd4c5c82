"""Calls of torchaudio's streams: the same program with torchaudio 2.8 and with rushlight_audio.

Each scenario gets the modules (`torch`, `io` of torchaudio) and a folder, and gives plain values.
"""

from __future__ import annotations

import struct
import wave

RATE = 8000
FRAMES = 10000
SCENARIOS = {}


def scenario(function):
    SCENARIOS[function.__name__] = function
    return function


def samples(index):
    """A sample of 16 bits, by a formula."""
    return (index * index * 7 + index * 13) % 20001 - 10000


def sound(folder, channels=2):
    """A WAV of 16 bits made by Python alone."""
    path = folder / f"sound{channels}.wav"
    values = [samples(n * channels + c) for n in range(FRAMES) for c in range(channels)]
    with wave.open(str(path), "wb") as file:
        file.setnchannels(channels)
        file.setsampwidth(2)
        file.setframerate(RATE)
        file.writeframes(struct.pack(f"<{len(values)}h", *values))
    return str(path)


def shown(chunk):
    """Shape, dtype, time, and some numbers of a chunk."""
    if chunk is None:
        return None
    flat = chunk.double().flatten()
    picked = flat[:: max(1, len(flat) // 12)].tolist()
    pts = getattr(chunk, "pts", None)
    return [
        list(chunk.shape),
        str(chunk.dtype).rpartition(".")[2],
        None if pts is None else round(pts, 6),
        [round(value, 6) for value in picked],
    ]


def all_shown(reader):
    return [[shown(chunk) for chunk in chunks] for chunks in reader.stream()]


@scenario
def source_info(torch, io, folder):
    info = io.StreamReader(sound(folder)).get_src_stream_info(0)
    names = ("media_type", "codec", "format", "bits_per_sample", "sample_rate", "num_channels")
    return [getattr(info, name) for name in names]


@scenario
def basic_chunks(torch, io, folder):
    reader = io.StreamReader(sound(folder))
    reader.add_basic_audio_stream(3000)
    return all_shown(reader)


@scenario
def formats(torch, io, folder):
    found = []
    for format in ("u8p", "s16p", "s32p", "fltp", "dblp", "s16", "flt", None):
        reader = io.StreamReader(sound(folder))
        reader.add_basic_audio_stream(5000, format=format)
        found.append(all_shown(reader))
    return found


@scenario
def one_channel(torch, io, folder):
    reader = io.StreamReader(sound(folder))
    reader.add_basic_audio_stream(4096, num_channels=1)
    return all_shown(reader)


@scenario
def everything_at_once(torch, io, folder):
    reader = io.StreamReader(sound(folder))
    reader.add_basic_audio_stream(-1, -1)
    reader.process_all_packets()
    return [[shown(c) for c in reader.pop_chunks()], [shown(c) for c in reader.pop_chunks()]]


@scenario
def small_buffer(torch, io, folder):
    reader = io.StreamReader(sound(folder))
    reader.add_basic_audio_stream(1000, 2)
    reader.process_all_packets()
    return [[shown(c) for c in reader.pop_chunks()] for _ in range(3)]


@scenario
def fill_and_pop(torch, io, folder):
    reader = io.StreamReader(sound(folder))
    reader.add_basic_audio_stream(1500)
    found = [reader.is_buffer_ready()]
    code = 0
    while not code:
        code = reader.fill_buffer()
        found.append([code, reader.is_buffer_ready(), [shown(c) for c in reader.pop_chunks()]])
    found.append([shown(c) for c in reader.pop_chunks()])
    return found


@scenario
def two_outputs(torch, io, folder):
    reader = io.StreamReader(sound(folder))
    reader.add_basic_audio_stream(2000)
    reader.add_audio_stream(3000, filter_desc="volume=0.5")
    count = [reader.num_src_streams, reader.num_out_streams, reader.default_audio_stream]
    return [count, all_shown(reader)]


@scenario
def removed_output(torch, io, folder):
    reader = io.StreamReader(sound(folder))
    reader.add_basic_audio_stream(2000)
    reader.add_audio_stream(4000, filter_desc="volume=0.5")
    reader.remove_stream(0)
    return all_shown(reader)


@scenario
def output_info(torch, io, folder):
    reader = io.StreamReader(sound(folder))
    reader.add_basic_audio_stream(2000, sample_rate=16000, num_channels=1, format="s16p")
    info = reader.get_out_stream_info(0)
    names = ("source_index", "filter_description", "media_type", "format", "sample_rate",
             "num_channels")  # fmt: skip
    return [getattr(info, name) for name in names]


@scenario
def sought(torch, io, folder):
    reader = io.StreamReader(sound(folder))
    reader.add_basic_audio_stream(500, -1)
    reader.seek(0.5, "key")
    reader.fill_buffer()
    (chunk,) = reader.pop_chunks()
    start = round(chunk.pts * RATE)
    return [start <= 4000, abs(chunk[0, 0].item() * 32768 - samples(2 * start)) < 0.5]


@scenario
def raw_source(torch, io, folder):
    path = folder / "raw.s16"
    path.write_bytes(struct.pack("<2000h", *(samples(n) for n in range(2000))))
    option = {"sample_rate": "4000", "channels": "2"}
    reader = io.StreamReader(str(path), format="s16le", option=option)
    reader.add_basic_audio_stream(600)
    return all_shown(reader)


@scenario
def file_object(torch, io, folder):
    with open(sound(folder, 1), "rb") as file:
        reader = io.StreamReader(file, buffer_size=128)
        reader.add_basic_audio_stream(4000)
        return all_shown(reader)


def waveform(torch, channels=2, frames=3000):
    index = torch.arange(frames * channels).reshape(frames, channels)
    return samples(index).float() / 32768


@scenario
def written_wav(torch, io, folder):
    path = folder / "written.wav"
    writer = io.StreamWriter(str(path))
    writer.add_audio_stream(RATE, 2)
    with writer.open():
        for start in range(0, 3000, 700):
            writer.write_audio_chunk(0, waveform(torch)[start : start + 700])
    reader = io.StreamReader(str(path))
    info = reader.get_src_stream_info(0)
    reader.add_basic_audio_stream(-1, -1)
    reader.process_all_packets()
    return [info.codec, info.sample_rate, [shown(c) for c in reader.pop_chunks()]]


@scenario
def written_encodings(torch, io, folder):
    found = []
    for encoder, format, dtype in (
        ("pcm_u8", "u8", torch.uint8),
        ("pcm_s16le", "s16", torch.int16),
        ("pcm_s32le", "s32", torch.int32),
        ("pcm_f32le", "flt", torch.float32),
        ("pcm_f64le", "dbl", torch.float64),
    ):
        path = folder / f"{encoder}.wav"
        writer = io.StreamWriter(str(path))
        writer.add_audio_stream(RATE, 1, format, encoder=encoder)
        chunk = (samples(torch.arange(500)) % 200)[:, None].to(dtype)
        with writer.open():
            writer.write_audio_chunk(0, chunk)
        reader = io.StreamReader(str(path))
        reader.add_basic_audio_stream(-1, -1, format=None)
        reader.process_all_packets()
        found.append([reader.get_src_stream_info(0).codec, [shown(c) for c in reader.pop_chunks()]])
    return found


@scenario
def written_video(torch, io, folder):
    path = folder / "film.mkv"
    pictures = (torch.arange(6 * 3 * 16 * 24) % 251).reshape(6, 3, 16, 24).to(torch.uint8)
    writer = io.StreamWriter(str(path))
    writer.add_video_stream(5, 24, 16, encoder="ffv1", encoder_format="bgr0")
    with writer.open():
        writer.write_video_chunk(0, pictures[:4])
        writer.write_video_chunk(0, pictures[4:])
    reader = io.StreamReader(str(path))
    info = reader.get_src_stream_info(0)
    reader.add_basic_video_stream(4)
    reader.add_basic_video_stream(4, format="gray", width=12, height=8)
    sizes = [
        [list(c.shape), round(c.pts, 3)]
        for chunks in reader.stream()
        for c in chunks
        if c is not None
    ]
    reader = io.StreamReader(str(path))
    reader.add_basic_video_stream(6)
    (whole,) = next(reader.stream())
    return [
        info.width,
        info.height,
        info.frame_rate,
        info.codec,
        sizes,
        torch.equal(whole, pictures),
    ]


@scenario
def effects(torch, io, folder):
    found = []
    for effect in ("volume=0.5", "lowpass=f=800", "aecho=0.8:0.9:20:0.4", "volume=2,volume=0.5"):
        found.append(shown(io.AudioEffector(effect=effect).apply(waveform(torch), RATE)))
    return found


@scenario
def effect_in_chunks(torch, io, folder):
    effector = io.AudioEffector(effect="volume=0.25")
    return [
        shown(chunk)[:2] + shown(chunk)[3:]
        for chunk in effector.stream(waveform(torch), RATE, 1024)
    ]


@scenario
def effect_lengths(torch, io, folder):
    found = []
    for options in ({"pad_end": False}, {"pad_end": True}, {"format": "wav"}, {"format": "mulaw"}):
        found.append(shown(io.AudioEffector(**options).apply(waveform(torch), RATE)))
    found.append(list(io.AudioEffector().apply(waveform(torch), RATE, 4000).shape))
    return found


@scenario
def effect_dtypes(torch, io, folder):
    found = []
    for dtype in (torch.uint8, torch.int16, torch.int32, torch.float32):
        chunk = (samples(torch.arange(600)) % 120).reshape(300, 2).to(dtype)
        found.append(shown(io.AudioEffector().apply(chunk, RATE)))
    return found


def results(torch, io, folder):
    """What all scenarios give; an error by its kind."""
    found = {}
    for name, function in SCENARIOS.items():
        (folder / name).mkdir()
        found[name] = function(torch, io, folder / name)
    return found

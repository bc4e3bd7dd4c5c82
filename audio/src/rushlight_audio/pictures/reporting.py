"""`report`: a folder of sound files as one page with players and spectrograms."""

from __future__ import annotations

import base64
import html
import io
import os
import urllib.parse
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from rushlight_audio.io import info, load, save
from rushlight_audio.pictures.showing import show

__all__ = ["report"]

_ENDINGS = tuple(".wav .flac .ogg .opus .mp3 .aiff .aif .au .caf .sph .m4a .webm".split())
# What browsers play as it is, with its type; other files are turned into WAV.
_PLAYED = {
    ".wav": "audio/wav",
    ".flac": "audio/flac",
    ".ogg": "audio/ogg",
    ".opus": "audio/ogg",
    ".mp3": "audio/mpeg",
    ".m4a": "audio/mp4",
    ".webm": "audio/webm",
}
_STYLE = """
body { font: 15px/1.5 system-ui, sans-serif; margin: 2rem auto; max-width: 60rem; padding: 0 1rem;
       color: #222; background: #fff; }
h1 { font-size: 1.4rem; } h2 { font-size: 1.05rem; margin: 0; overflow-wrap: anywhere; }
section { border-top: 1px solid #ccc; padding: 1rem 0; }
audio { width: 100%; margin: .4rem 0; } img { max-width: 100%; height: auto; display: block; }
p { margin: .3rem 0; } .facts { color: #555; } .fault { color: #a00; }
table { border-collapse: collapse; } td { padding: 0 1rem 0 0; }
"""


def report(
    folder: str | os.PathLike,
    path: str | os.PathLike | None = None,
    *,
    title: str | None = None,
    notes: Mapping[str, str | Mapping[str, Any]] | None = None,
    embed: bool = False,
    seconds: float = 60.0,
) -> Path:
    """Write a page with a player, the waveform and the spectrogram of every sound file of a folder.

    Args:
        folder: where the files are, and below it.
        path: the page; None for ``index.html`` in the folder.
        title: of the page; None for the folder's name.
        notes: by the path of a file relative to the folder: a text, or a table of names and
            values. A file ``name.txt`` beside ``name.wav`` is its text too.
        embed: put the sounds into the page, so that it can be sent alone; else they are linked.
        seconds: how much of a file is drawn and turned into WAV, where a browser does not play it.

    Returns: the path of the page. A file that cannot be read is named there with the reason.

    Raises:
        FileNotFoundError: no such folder, or no sound files in it.
        ImportError: Matplotlib is not there.
    """
    base = Path(folder)
    files = [p for p in sorted(base.rglob("*")) if p.suffix.lower() in _ENDINGS and p.is_file()]
    if not files:
        raise FileNotFoundError(f"report(): no sound files in {str(base)!r}")
    target = base / "index.html" if path is None else Path(path)
    notes = notes or {}
    parts = [
        _section(file, file.relative_to(base).as_posix(), target, notes, embed, seconds)
        for file in files
    ]
    name = html.escape(title or base.resolve().name)
    target.write_text(
        f'<!doctype html>\n<html lang="en"><head><meta charset="utf-8"><title>{name}</title>'
        f"<style>{_STYLE}</style></head>\n<body><h1>{name}</h1>\n<p>{len(files)} sounds</p>\n"
        + "\n".join(parts)
        + "\n</body></html>\n",
        encoding="utf-8",
    )
    return target


def _section(
    file: Path, name: str, page: Path, notes: Mapping[str, Any], embed: bool, seconds: float
) -> str:
    head = f"<section><h2>{html.escape(name)}</h2>"
    try:
        facts = info(file)
        frames = max(1, round(seconds * facts.sample_rate))
        waveform, rate = load(file, num_frames=frames)
    except (RuntimeError, ValueError, OSError) as error:
        return f'{head}<p class="fault">{html.escape(str(error))}</p></section>'
    length = facts.num_frames / rate
    channels = f"{facts.num_channels} channel{'s' * (facts.num_channels > 1)}"
    said = f"{length:.2f} s, {rate} Hz, {channels}, {facts.encoding}"
    if frames < facts.num_frames:
        said += f"; drawn: the first {seconds:g} s"
    pictures = (show(waveform[:8], "waveform", rate), show(waveform.mean(0), "spectrogram", rate))
    return "\n".join(
        [
            head,
            f'<p class="facts">{html.escape(said)}</p>',
            f'<audio controls preload="none" src="{_source(file, page, embed, waveform, rate)}">'
            "</audio>",
            *(_note(note) for note in (notes.get(name), _words(file)) if note is not None),
            *(_image(picture.png) for picture in pictures),
            "</section>",
        ]
    )


def _source(file: Path, page: Path, embed: bool, waveform: Any, rate: int) -> str:
    """A link to the file, or the sound itself."""
    kind = _PLAYED.get(file.suffix.lower())
    if kind and not embed:
        link = Path(os.path.relpath(file.resolve(), page.resolve().parent)).as_posix()
        return html.escape(urllib.parse.quote(link))
    if kind:
        return _data(kind, file.read_bytes())
    buffer = io.BytesIO()
    save(buffer, waveform, rate, format="wav", bits_per_sample=16)
    return _data("audio/wav", buffer.getvalue())


def _data(kind: str, content: bytes) -> str:
    return f"data:{kind};base64,{base64.b64encode(content).decode()}"


def _image(png: bytes) -> str:
    return f'<img alt="" src="{_data("image/png", png)}">'


def _words(file: Path) -> str | None:
    text = file.with_suffix(".txt")
    return text.read_text(encoding="utf-8", errors="replace").strip() if text.is_file() else None


def _note(note: str | Mapping[str, Any]) -> str:
    if isinstance(note, str):
        return f"<p>{html.escape(note)}</p>"
    rows = (
        f"<tr><td>{html.escape(str(key))}</td><td>{html.escape(_value(value))}</td></tr>"
        for key, value in note.items()
    )
    return f"<table>{''.join(rows)}</table>"


def _value(value: Any) -> str:
    return f"{value:.4g}" if isinstance(value, float) else str(value)

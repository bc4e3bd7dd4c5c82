"""FFmpeg's filters by their descriptions: ``"atempo=1.5,aecho=0.8:0.9:60:0.4"``."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Any

__all__ = ["FilterGraph", "audio_description", "parsed", "video_description"]


@dataclass
class _Node:
    """One filter of a description: its name, arguments, and labels of its inputs and outputs."""

    name: str
    arguments: str
    inputs: list[str] = field(default_factory=list)
    outputs: list[str] = field(default_factory=list)


def audio_description(rate: int | None, format: str | None, channels: int | None) -> str | None:
    """Filters that give audio a rate, format and number of channels; None where all are None."""
    filters = [] if rate is None else [f"aresample={rate}"]
    parts = [] if format is None else [f"sample_fmts={format}"]
    parts += [] if channels is None else [f"channel_layouts={channels}c"]
    filters += [f"aformat={':'.join(parts)}"] if parts else []
    return ",".join(filters) or None


def video_description(
    rate: float | None, width: int | None, height: int | None, format: str | None
) -> str | None:
    """Filters that give a video a frame rate, size and format; None where all are None."""
    filters = [] if rate is None else [f"fps={rate}"]
    sizes = [] if width is None else [f"width={width}"]
    sizes += [] if height is None else [f"height={height}"]
    filters += [f"scale={':'.join(sizes)}"] if sizes else []
    filters += [] if format is None else [f"format=pix_fmts={format}"]
    return ",".join(filters) or None


def parsed(description: str) -> list[list[_Node]]:
    """The chains of a description, each a list of filters.

    Chains end with ``;``, filters with ``,``; ``[label]`` before and after a filter names its
    inputs and outputs; quotation marks and backslashes are FFmpeg's.
    """
    return [
        [_node(text, description) for text in _split(chain, ",", description)]
        for chain in _split(description, ";", description)
    ]


def _split(text: str, mark: str, whole: str) -> list[str]:
    parts, begin, quoted, depth, place = [], 0, False, 0, 0
    while place < len(text):
        sign = text[place]
        if sign == "\\":
            place += 1
        elif sign == "'":
            quoted = not quoted
        elif not quoted and sign in "[]":
            depth += 1 if sign == "[" else -1
        elif not quoted and depth == 0 and sign == mark:
            parts.append(text[begin:place])
            begin = place + 1
        place += 1
    if quoted or depth:
        raise ValueError(f"filter description {whole!r}: a quotation mark or bracket is open")
    return [part.strip() for part in [*parts, text[begin:]] if part.strip()]


def _node(text: str, whole: str) -> _Node:
    inputs, text = _labels(text)
    outputs: list[str] = []
    while text.endswith("]"):
        text, _, label = text[:-1].rpartition("[")
        outputs.insert(0, label.strip())
    name, _, arguments = text.strip().partition("=")
    name = name.partition("@")[0].strip()
    if not name:
        raise ValueError(f"filter description {whole!r}: a filter without a name")
    return _Node(name, arguments.strip(), inputs, outputs)


def _labels(text: str) -> tuple[list[str], str]:
    found = []
    while text.startswith("["):
        label, _, text = text[1:].partition("]")
        found.append(label.strip())
        text = text.lstrip()
    return found, text


class FilterGraph:
    """Frames of one stream go in, frames come out of the filters.

    Args:
        descriptions: FFmpeg's, one behind the other; None or "" passes frames on.
        first: the first frame, which says what comes; of a video also its `rate`.
        time_base: of the frames, where they have none of their own.
    """

    def __init__(
        self,
        descriptions: Sequence[str | None],
        first: Any,
        time_base: Fraction,
        rate: Any = None,
    ):
        import av

        self._is_audio = isinstance(first, av.AudioFrame)
        graph = av.filter.Graph()
        self._source = self._buffer(graph, first, first.time_base or time_base, rate)
        self._sink = graph.add("abuffersink" if self._is_audio else "buffersink")
        end = (self._source, 0)
        for each in descriptions:
            end = self._linked(graph, each, end) if each else end
        end[0].link_to(self._sink, end[1], 0)
        graph.configure()
        self._graph = graph

    def _buffer(self, graph: Any, first: Any, time_base: Fraction, rate: Any) -> Any:
        if self._is_audio:
            return graph.add_abuffer(
                sample_rate=first.sample_rate,
                format=first.format,
                layout=first.layout,
                time_base=time_base,
            )
        arguments = (
            f"video_size={first.width}x{first.height}:pix_fmt={first.format.name}:"
            f"time_base={time_base.numerator}/{time_base.denominator}:pixel_aspect=1/1"
        )
        return graph.add("buffer", arguments + (f":frame_rate={rate}" if rate else ""))

    def _linked(self, graph: Any, description: str, begin: tuple[Any, int]) -> tuple[Any, int]:
        """Add the filters behind an output; gives the output of the last.

        What has no label continues its chain; the first input without one is `begin`.
        """
        given: dict[str, tuple[Any, int]] = {"in": begin}
        wanted: list[tuple[str, Any, int]] = []
        for chain in parsed(description):
            label = "in"
            for place, node in enumerate(chain):
                made = self._added(graph, node, description)
                for pad, name in enumerate(node.inputs or [label]):
                    wanted.append((name, made, pad))
                label = f"{id(chain)} {place}" if place + 1 < len(chain) else "out"
                for pad, name in enumerate(node.outputs or [label]):
                    if name in given:
                        raise ValueError(
                            f"filter description {description!r}: [{name}] is given twice"
                        )
                    given[name] = (made, pad)
        return self._joined(given, wanted, description)

    def _added(self, graph: Any, node: _Node, description: str) -> Any:
        import av

        try:
            return graph.add(node.name, node.arguments or None)
        except (av.FFmpegError, ValueError) as error:
            raise ValueError(
                f"filter description {description!r}: {node.name!r}: {error}"
            ) from error

    def _joined(
        self,
        given: dict[str, tuple[Any, int]],
        wanted: list[tuple[str, Any, int]],
        description: str,
    ) -> tuple[Any, int]:
        """Link inputs to the outputs of the same label; gives the output ``out``."""
        for label, node, pad in wanted:
            if label not in given:
                raise ValueError(f"filter description {description!r}: nothing gives [{label}]")
            end, place = given.pop(label)
            end.link_to(node, place, pad)
        if list(given) != ["out"]:
            raise ValueError(
                f"filter description {description!r}: it must end in one output, not in "
                f"{sorted(given)}"
            )
        return given["out"]

    def push(self, frame: Any) -> Iterator[Any]:
        """The frames that come out after one went in; None says that there are no more."""
        import av

        self._source.push(frame)
        while True:
            try:
                yield self._sink.pull()
            except (av.BlockingIOError, av.EOFError):
                return

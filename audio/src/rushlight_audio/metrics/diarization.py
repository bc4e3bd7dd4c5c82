"""Who spoke when: the diarization error rate."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np

from rushlight_audio.metrics.assignment import best_assignment

__all__ = ["DiarizationErrors", "diarization_error_rate"]

Turns = Iterable[tuple[float, float, str]]


@dataclass(frozen=True)
class DiarizationErrors:
    """Seconds of each kind of error, and of speech in the reference; speakers at once count each.

    Attributes:
        missed: speech that is not found.
        false_alarm: speech where there is none.
        confusion: speech of one speaker given to another.
        total: speech of the reference.
        mapping: speaker of the hypothesis: speaker of the reference.
    """

    missed: float
    false_alarm: float
    confusion: float
    total: float
    mapping: dict[str, str]

    @property
    def rate(self) -> float:
        """All errors by the speech of the reference."""
        return (self.missed + self.false_alarm + self.confusion) / self.total


def diarization_error_rate(
    reference: Turns, hypothesis: Turns, collar: float = 0.0, skip_overlap: bool = False
) -> DiarizationErrors:
    """Errors of a diarization; its `rate` is the DER.

    Args:
        reference: (start, end, speaker) in seconds.
        hypothesis: the same, with names of its own: they are matched so that the most speech fits.
        collar: seconds on either side of a turn's begin and end in the reference that do not count.
        skip_overlap: do not count where speakers of the reference speak at once.

    Raises:
        ValueError: a turn that ends before it begins, or no speech in the reference.

    >>> found = diarization_error_rate([(0, 4, "a"), (4, 8, "b")], [(0, 5, "x"), (5, 8, "y")])
    >>> found.rate, found.mapping
    (0.125, {'x': 'a', 'y': 'b'})
    """
    expected, found = _checked("reference", reference), _checked("hypothesis", hypothesis)
    times = _boundaries(expected, found, collar)
    middles, lengths = (times[1:] + times[:-1]) / 2, np.diff(times)
    names, other_names = _speakers(expected), _speakers(found)
    spoken, claimed = _active(expected, names, middles), _active(found, other_names, middles)
    counts = ~_near(expected, middles, collar)
    if skip_overlap:
        counts &= spoken.sum(0) < 2
    lengths = lengths * counts
    pairs = best_assignment((spoken * lengths) @ claimed.T.astype(float))
    correct = sum((spoken[r] & claimed[h]).astype(float) for r, h in pairs)
    there, given = spoken.sum(0), claimed.sum(0)
    total = float((there * lengths).sum())
    if total == 0:
        raise ValueError("diarization_error_rate(): the reference has no speech that counts")
    return DiarizationErrors(
        float((np.maximum(there - given, 0) * lengths).sum()),
        float((np.maximum(given - there, 0) * lengths).sum()),
        float(((np.minimum(there, given) - correct) * lengths).sum()),
        total,
        {other_names[h]: names[r] for r, h in sorted(pairs, key=lambda pair: pair[1])},
    )


def _checked(name: str, turns: Turns) -> list[tuple[float, float, str]]:
    found = [(float(start), float(end), speaker) for start, end, speaker in turns]
    for start, end, speaker in found:
        if not end >= start:
            raise ValueError(
                f"diarization_error_rate(): {name}: a turn of {speaker!r} ends at {end}, before it "
                f"begins at {start}"
            )
    return found


def _boundaries(expected: list, found: list, collar: float) -> np.ndarray:
    times = [time for turns in (expected, found) for turn in turns for time in turn[:2]]
    ends = [time for turn in expected for time in turn[:2]]
    return np.unique([*times, *(e - collar for e in ends), *(e + collar for e in ends), 0.0])


def _speakers(turns: list) -> list[str]:
    return sorted({speaker for _, _, speaker in turns})


def _active(turns: list, names: list[str], times: np.ndarray) -> np.ndarray:
    """Whether a speaker speaks at a time ``[speakers, times]``."""
    active = np.zeros((len(names), len(times)), bool)
    for start, end, speaker in turns:
        active[names.index(speaker)] |= (start <= times) & (times < end)
    return active


def _near(turns: list, times: np.ndarray, collar: float) -> np.ndarray:
    """Whether a time is within the collar of a begin or end."""
    near = np.zeros(len(times), bool)
    for turn in turns:
        for end in turn[:2]:
            near |= np.abs(times - end) < collar
    return near

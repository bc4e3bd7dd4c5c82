"""A curve as a small SVG picture, without a library."""

from __future__ import annotations

import math

WIDTH, HEIGHT, LEFT, BOTTOM, TOP = 340, 190, 52, 22, 8
COLOR = "#d9480f"


def ticks(low: float, high: float, count: int = 4) -> list[float]:
    """Round numbers between two.

    >>> ticks(0.0, 1.0)
    [0.0, 0.5, 1.0]
    """
    if high <= low:
        return [low]
    raw = (high - low) / count
    size = 10.0 ** math.floor(math.log10(raw))
    step = next(size * factor for factor in (1, 2, 5, 10) if size * factor >= raw)
    first = math.ceil(low / step - 1e-9)
    return [round(n * step, 12) for n in range(first, math.floor(high / step + 1e-9) + 1)]


def picture(points: list[tuple[int, float]]) -> str:
    """Values over steps, as an `<svg>`; what is not finite is left out."""
    drawn = [(x, y) for x, y in points if math.isfinite(y)]
    if not drawn:
        return "<p>no finite values</p>"
    left, right = drawn[0][0], max(drawn[-1][0], drawn[0][0] + 1)
    low, high = min(y for _, y in drawn), max(y for _, y in drawn)
    if high == low:
        low, high = low - 0.5, high + 0.5

    def across(x: float) -> float:
        return LEFT + (WIDTH - LEFT - 8) * (x - left) / (right - left)

    def down(y: float) -> float:
        return TOP + (HEIGHT - TOP - BOTTOM) * (high - y) / (high - low)

    path = " ".join(f"{across(x):.1f},{down(y):.1f}" for x, y in drawn)
    line = f'<polyline points="{path}" fill="none" stroke="{COLOR}" stroke-width="1.6"/>'
    if len(drawn) == 1:  # a line of one point is not seen
        center = path.partition(",")
        line += f'<circle cx="{center[0]}" cy="{center[2]}" r="3" fill="{COLOR}"/>'
    marks = [
        f'<line x1="{LEFT}" x2="{WIDTH - 8}" y1="{down(y):.1f}" y2="{down(y):.1f}" '
        f'stroke="#ddd"/><text x="{LEFT - 5}" y="{down(y) + 4:.1f}" text-anchor="end">{y:g}</text>'
        for y in ticks(low, high)
    ]
    marks += [
        f'<text x="{across(x):.1f}" y="{HEIGHT - 6}" text-anchor="middle">{x:g}</text>'
        for x in ticks(left, right)
    ]
    return (
        f'<svg width="{WIDTH}" height="{HEIGHT}" viewBox="0 0 {WIDTH} {HEIGHT}" '
        f'font-size="11" fill="#555">{"".join(marks)}{line}</svg>'
    )

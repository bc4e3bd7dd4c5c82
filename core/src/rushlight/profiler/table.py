"""The table of a profile: a row for a name, columns for times, memory, counts."""

from __future__ import annotations

_KEYS = (
    "cpu_time cpu_time_total cpu_memory_usage self_cpu_memory_usage self_cpu_time_total count "
    "device_time device_time_total self_device_time_total flops cuda_time cuda_time_total"
).split()


def memory_text(count) -> str:
    """Bytes as tables print them."""
    for size, unit in ((1 << 30, "GB"), (1 << 20, "MB"), (1 << 10, "KB")):
        if abs(count) >= size:
            return f"{count / size:.2f} {unit}"
    return f"{count} B"


def _clipped(text, width, end=True):
    if width is None or len(text) <= width:
        return text
    return text[: width - 3] + "..." if end else "..." + text[3 - width :]


def _share(part, total):
    return f"{100.0 * part / total:.2f}%" if total else "NaN"


def make_table(
    events, sort_by, row_limit, widths, header, top_level_events_only, memory, flops, time_unit
):
    """The text of the table."""
    from rushlight.profiler.events import time_text

    if not events:
        return ""
    if sort_by is not None and sort_by not in _KEYS:
        raise ValueError(f"table: expected 'sort_by' to be one of {_KEYS}, got {sort_by!r}")
    rows = list(events)
    if top_level_events_only:
        rows = [e for e in rows if getattr(e, "cpu_parent", None) is None]
    total = sum(e.self_cpu_time_total for e in events)
    if sort_by is not None:
        rows.sort(key=lambda e: getattr(e, sort_by.replace("cuda", "device"), 0), reverse=True)
    divisor = {None: None, "us": 1.0, "ms": 1e3, "s": 1e6}[time_unit]

    def shown(value):
        return time_text(value) if divisor is None else f"{value / divisor:.3f}{time_unit}"

    titles = ["Name", "Self CPU %", "Self CPU", "CPU total %", "CPU total", "CPU time avg"]
    titles += ["CPU Mem", "Self CPU Mem"] if memory else []
    titles.append("# of Calls")
    has_shapes = any(e.input_shapes for e in rows)
    has_stack = any(e.stack for e in rows)
    titles += ["Input Shapes"] if has_shapes else []
    titles += ["Source Location"] if has_stack else []
    titles += ["Total MFLOPs"] if flops else []
    cells = []
    for event in rows[: row_limit if row_limit >= 0 else None]:
        line = [
            _clipped(event.key, widths[0]),
            _share(event.self_cpu_time_total, total), shown(event.self_cpu_time_total),
            _share(event.cpu_time_total, total), shown(event.cpu_time_total),
            shown(event.cpu_time),
        ]  # fmt: skip
        if memory:
            line += [memory_text(event.cpu_memory_usage), memory_text(event.self_cpu_memory_usage)]
        line.append(str(event.count))
        line += [_clipped(str(event.input_shapes), widths[1])] if has_shapes else []
        line += [_clipped(event.stack[0], widths[2], False) if event.stack else ""] * has_stack
        line += [f"{event.flops / 1e6:.3f}" if event.flops else "--"] if flops else []
        cells.append(line)
    sizes = [max(map(len, column)) for column in zip(titles, *cells, strict=True)]
    left = {0, *(i for i, t in enumerate(titles) if t in ("Input Shapes", "Source Location"))}

    def printed(line):
        return "  ".join(
            text.ljust(size) if i in left else text.rjust(size)
            for i, (text, size) in enumerate(zip(line, sizes, strict=True))
        )

    rule = "  ".join("-" * size for size in sizes)
    lines = [rule, printed(titles), rule, *map(printed, cells), rule]
    if header is not None:
        lines = ["=" * len(rule), header, *lines]
    return "\n".join(lines) + f"\nSelf CPU time total: {shown(total)}\n"

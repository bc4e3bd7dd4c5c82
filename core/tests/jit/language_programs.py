"""Scripted functions of the kinds that programs have, for any library: calls by name."""

# ruff: noqa: UP006, UP035, UP045, SIM118 - annotations that TorchScript has had from its start
import math
from typing import Any, Dict, List, NamedTuple, Optional, Tuple


class Found(NamedTuple):
    box: List[int]
    score: float
    label: Optional[int] = None


def programs(library):  # noqa: C901, PLR0915 - a list of functions
    """Functions by name, each with the arguments of its calls."""
    made = {}
    tensor = library.tensor
    x = library.arange(12.0).reshape(3, 4)

    def program(*calls):
        def keep(function):
            made[function.__name__] = function, calls
            return function

        return keep

    @program(())
    def mixed_lists():
        values = [1, "a", 2.5]
        table = {"a": 1, "b": "c"}
        count = 0
        for value in values:
            if isinstance(value, str):
                count += len(value)
        return values, table, count

    @program((x,))
    def lists_of_any(x):
        values: List[Any] = [1, x, "ab", 2.5]
        values.append([1, 2])
        count = 0
        for value in values:
            if isinstance(value, int):
                count += value
            elif isinstance(value, str):
                count += len(value)
        return count, len(values)

    @program((x, None), (x, 2))
    def optional_elements(x, k: Optional[int]):
        values: List[Optional[int]] = [None, 3]
        values.append(k)
        total = x.sum()
        for value in values:
            if value is not None:
                total = total + value
        return total, [value is None for value in values]

    @program((5,))
    def lists_in_dicts(n: int):
        table: Dict[str, List[int]] = {}
        for i in range(n):
            key = "even" if i % 2 == 0 else "odd"
            if key not in table:
                table[key] = library.jit.annotate(List[int], [])
            table[key].append(i)
        return table, [key for key in table.keys()]

    @program((x,))
    def tuples_in_lists(x):
        rows: List[Tuple[int, str]] = []
        for i in range(x.size(0)):
            rows.append((i, str(i)))
        names = ""
        for i, name in rows:
            names += name + str(i + 1)
        return names, rows

    @program((x,))
    def tuples_added_to_lists(x):
        pair, names = (x.size(0), 5), ["a"]
        sizes = x.size()[:1] + (x.size(-1), 1)
        more = pair + x.size()
        more += pair
        names += ("b", "c")
        both = [x] + (x * 2, x + 1)
        return sizes, more, names, both, x.view(sizes), (1, 2) + (3,)

    def grown(items: List[int]) -> Tuple[int, int]:
        items.append(1)
        return len(items), 2

    @program(())
    def results_added_to_lists():
        """Each call is made once."""
        items: List[int] = []
        more = [3] + grown(items)
        more += grown(items)
        return more, items, [3, 2] == grown(items)

    @program((x,))
    def named_results(x) -> List[Found]:
        made: List[Found] = []
        for i in range(2):
            made.append(Found([i, i + 1], float(x[i].sum()), label=i))
        made.append(Found([9], 0.5))
        return made

    @program((x,))
    def tables_with_defaults(x):
        table = {"a": x}
        return table.get("b", x).sum(), table.get("a", x * 2).sum()

    @program(("banana",))
    def positions_in_text(text: str):
        return text.index("n"), text.rindex("n"), text.find("z"), text.count("a")

    @program((1.5, 2), (-1.0, 0))
    def complex_numbers(a: float, b: int):
        return complex(a, b)

    @program((17, 5), (-17, 5))
    def numbers(a: int, b: int):
        return (divmod(a, b), math.fmod(a, b), math.remainder(float(a), float(b)),
                math.pow(a, 2), pow(a, 2), library.Size([a, b]))  # fmt: skip

    @program((x,), (x[0],))
    def elements(x) -> List[List[float]]:
        values: List[List[float]] = x.tolist()
        return values

    @program((tensor([1, 2]),), (tensor([1.5]),))
    def whole_elements(x):
        values: List[int] = x.tolist()
        return sum(values)

    @program((x,), (None,))
    def unwrapped(x: Optional[library.Tensor]):
        return library.jit._unwrap_optional(x) + 1

    def scaled(x, k: int):
        return x * k

    @program((x,))
    def forked(x):
        futures: List[library.jit.Future[library.Tensor]] = []
        for i in range(3):
            futures.append(library.jit.fork(scaled, x, i))
        total = library.zeros_like(x)
        for future in futures:
            total = total + library.jit.wait(future)
        return total

    @program((x, 2))
    def decoded(scores, width: int):
        beams: List[Tuple[List[int], float]] = [(library.jit.annotate(List[int], []), 0.0)]
        for step in range(scores.size(0)):
            found: List[Tuple[List[int], float]] = []
            for ids, score in beams:
                for token in range(scores.size(1)):
                    found.append((ids + [token], score + float(scores[step, token])))
            _, order = library.tensor([pair[1] for pair in found]).topk(width)
            beams = [found[int(i)] for i in order]
        return beams[0]

    return made

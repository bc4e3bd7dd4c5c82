"""Which rows to give to which columns so that the sum is greatest."""

from __future__ import annotations

import numpy as np

__all__ = ["best_assignment"]


def best_assignment(gains: np.ndarray) -> list[tuple[int, int]]:
    """Pairs (row, column), each at most once, with the greatest sum of gains; pairs that gain
    nothing are left out.

    By shortest augmenting paths (Jonker and Volgenant 1987), in the cube of the size.
    """
    rows, columns = gains.shape
    if rows > columns:
        return sorted((row, column) for column, row in best_assignment(gains.T))
    costs = -np.asarray(gains, float)
    row_price, column_price = np.zeros(rows), np.zeros(columns)
    owner = np.full(columns, -1)  # the row that has a column
    for row in range(rows):
        _augment(costs, row_price, column_price, owner, row)
    return [(int(r), c) for c, r in enumerate(owner) if r >= 0 and gains[r, c] > 0]


def _augment(
    costs: np.ndarray,
    row_price: np.ndarray,
    column_price: np.ndarray,
    owner: np.ndarray,
    row: int,
) -> None:
    """Give one more row a column, moving others along the cheapest path."""
    columns = costs.shape[1]
    least, before = np.full(columns, np.inf), np.full(columns, -1)
    seen = np.zeros(columns, bool)
    current, last, distance = row, -1, 0.0
    while True:
        reach = distance + costs[current] - row_price[current] - column_price
        better = ~seen & (reach < least)
        least[better], before[better] = reach[better], last
        last = int(np.argmin(np.where(seen, np.inf, least)))
        distance = least[last]
        seen[last] = True
        if owner[last] < 0:
            break
        current = owner[last]
    row_price[row] += distance
    for column in np.nonzero(seen)[0]:
        column_price[column] += least[column] - distance
        if owner[column] >= 0:
            row_price[owner[column]] += distance - least[column]
    while last >= 0:
        owner[last] = row if before[last] < 0 else owner[before[last]]
        last = before[last]

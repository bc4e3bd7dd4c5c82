"""Graphs that read values of the graph around them."""

from __future__ import annotations


def bound(body, count, *values):
    """A graph whose last inputs are given; it is called with the others."""

    def call(*inputs):
        return body(*inputs, *values)

    return call

"""Sizes that may differ from call to call.

A program is captured at several sizes, on tensors without elements, which is cheap. Where the
captures differ only in whole numbers, each of these is written as an expression of the sizes that
may differ; where they differ in more, the size was not free, and the error says where.

Begin reading at ``declared.py`` (what the user asks for), ``sampling.py`` (at which sizes),
``fitting.py`` (from numbers to expressions), ``unifying.py`` (from graphs to a graph) and
``export.py`` (all of it).
"""

"""Whole graphs for inference: a program is followed once on shapes, guarded, and written down as
one Python function that calls the same ops without the modules around them. May import all below.
Begin with :mod:`interpreter`, which follows; :mod:`entry` says when a graph is used."""

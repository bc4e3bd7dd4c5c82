"""Graphs of TorchScript functions: nodes that take and give values, made of the intermediate form.

May import all of `jit`. Begin with `parts.py`, what programs see; `building.py`
makes it.
"""

"""Nodes of a model's own functions, where the function is called."""

from __future__ import annotations


def renamed(node, names, prefix):
    """Inner names of a function as names of the graph."""

    def of(name):
        return names.get(name, prefix + name) if name else ""

    node.input[:] = [of(n) for n in node.input]
    node.output[:] = [of(n) for n in node.output]
    for attribute in node.attribute:
        if attribute.HasField("g"):
            local = {v.name for v in attribute.g.input} | {v.name for v in attribute.g.initializer}
            for inner in attribute.g.node:
                local.update(inner.output)
            for inner in attribute.g.node:
                inner.input[:] = [n if n in local or not n else of(n) for n in inner.input]
            for value in attribute.g.output:
                value.name = value.name if value.name in local else of(value.name)


def referred(node, given):
    """Attributes that stand for those of the call."""
    kept = []
    for attribute in node.attribute:
        if not attribute.ref_attr_name:
            kept.append(attribute)
            continue
        value = given.get(attribute.ref_attr_name)
        if value is not None:
            copy = type(attribute)()
            copy.CopyFrom(value)
            copy.name = attribute.name
            kept.append(copy)
    del node.attribute[:]
    node.attribute.extend(kept)

"""`.pt2` archives with other JSON, other members, other bytes."""

from __future__ import annotations

import io
import json
import random
import zipfile

import fuzz

from fuzz_changes.hostile import NUMBERS, TEXTS

MODEL = "models/model.json"


def _hostile_value(chance):
    """Anything that JSON can hold."""
    return chance.choice((
        lambda: None, lambda: True, lambda: chance.choice(NUMBERS), lambda: chance.choice(TEXTS),
        lambda: 1e308, lambda: float("nan"), lambda: [], lambda: {}, lambda: 10**400,
        lambda: _nested(chance.choice((50, 200, 300))), lambda: {"as_int": chance.choice(NUMBERS)},
        lambda: {"as_name": chance.choice(TEXTS)}, lambda: {"as_tensor": {"name": "add"}},
        lambda: [chance.choice(NUMBERS)] * chance.choice((1, 100, 5000)),
        lambda: {"as_expr": {"expr_str": chance.choice(TEXTS), "hint": {"as_int": 3}}},
    ))()  # fmt: skip


def _nested(depth):
    found = chance = []
    for _ in range(depth):
        inner = []
        chance.append(inner)
        chance = inner
    return found


def _places(found, limit=4000):
    """All containers of a JSON value with their keys."""
    stack, places = [found], []
    while stack and len(places) < limit:
        value = stack.pop()
        keys = list(value) if isinstance(value, dict) else range(len(value))
        for key in keys:
            places.append((value, key))
            if isinstance(value[key], dict | list) and value[key]:
                stack.append(value[key])
    return places


def changed_json(content: bytes, chance: random.Random) -> bytes:
    """JSON with one to three other values, keys or places."""
    if chance.random() < 0.05:
        depth = chance.choice((1000, 100_000))
        return b"[" * depth if chance.random() < 0.5 else b'{"a":' * depth + b"1" + b"}" * depth
    found = json.loads(content)
    for _ in range(chance.choice((1, 1, 2, 3))):
        places = _places(found)
        if not places:
            break
        (home, key), (other, name) = chance.choice(places), chance.choice(places)
        kind = chance.randrange(6)
        if kind == 0:
            del home[key]
        elif kind == 1 and isinstance(home, list):
            home.insert(key, json.loads(json.dumps(other[name])))
        elif kind == 2:  # exchanged: types, names, what reads what
            home[key], other[name] = (json.loads(json.dumps(v)) for v in (other[name], home[key]))
        elif kind == 3 and isinstance(home, dict):
            home[chance.choice(TEXTS)] = home.pop(key)
        else:
            home[key] = _hostile_value(chance)
    return json.dumps(found).encode("utf-8", "surrogatepass")


def _rewritten(data, chance, change):
    """An archive of other members; checksums are right."""
    buffer = io.BytesIO()
    with zipfile.ZipFile(io.BytesIO(data)) as old, zipfile.ZipFile(buffer, "w") as new:
        for name, content, kind in change([(n, old.read(n)) for n in old.namelist()], chance):
            new.writestr(name, content, kind)
    return buffer.getvalue()


def _one_member(members, chance):
    texts = [n for n, _ in members if n.endswith(".json")]
    wanted = chance.choice(texts) if chance.random() < 0.8 else chance.choice(members)[0]
    if chance.random() < 0.5:
        wanted = next(n for n in texts if n.endswith(MODEL))
    for name, content in members:
        if name == wanted:
            mended = name.endswith(".json") and chance.random() < 0.85
            content = (changed_json if mended else fuzz.damaged)(content, chance)
        yield name, content, zipfile.ZIP_STORED


def _exchanged(members, chance):
    """Members with the content, or the name, of others; compressed ones; ones that swell."""
    names, contents = (list(part) for part in zip(*members, strict=True))
    at, other = chance.randrange(len(names)), chance.randrange(len(names))
    kind, packed = chance.randrange(5), zipfile.ZIP_STORED
    if kind == 0:
        contents[at], contents[other] = contents[other], contents[at]
    elif kind == 1:
        names[at] = chance.choice(("../" + names[at], "/etc/passwd", "a\\b", "x" * 60_000))
    elif kind == 2:
        del names[at], contents[at]
    elif kind == 3:
        packed = zipfile.ZIP_DEFLATED
    else:
        contents[at], packed = b"\0" * (chance.choice((1, 100)) << 20), zipfile.ZIP_DEFLATED
    for name, content in zip(names, contents, strict=True):
        yield name, content, packed


def _shared(members, chance):
    """Thousands of weights over the same bytes, and weights of terabytes by their strides."""
    for name, content in members:
        if name.endswith("model_weights_config.json"):
            entry = {"path_name": "weight_0", "is_param": False, "use_pickle": False}
            sizes = [{"as_int": chance.choice((16, 1 << 20, 1 << 45))}]
            entry["tensor_meta"] = {
                "dtype": 7, "sizes": sizes, "requires_grad": False, "layout": 7,
                "device": {"type": "cpu", "index": None}, "strides": [{"as_int": 0}],
                "storage_offset": {"as_int": 0},
            }  # fmt: skip
            found = json.loads(content)
            found["config"].update({f"w{i}": entry for i in range(chance.choice((1, 3000)))})
            content = json.dumps(found).encode()
        yield name, content, zipfile.ZIP_STORED


def archive_case(data: bytes, chance: random.Random) -> bytes:
    """A changed archive."""
    drawn = chance.random()
    if drawn < 0.2:
        return fuzz.damaged(data, chance)
    change = _one_member if drawn < 0.85 else _exchanged if drawn < 0.97 else _shared
    return _rewritten(data, chance, change)

"""Damaged and hostile TorchScript archives: what `jit.load` may do with them is raise an error.

Archives of a few models are changed: bytes anywhere, bytes of one entry with its checksum made
right again, words of the source. Every load must end with a module or with an error that names the
file; nothing may be written, started or connected to, and memory stays bounded.

Usage: python ci/fuzz_archives.py [--cases 20000] [--seed 0]
"""

from __future__ import annotations

import argparse
import io
import random
import resource
import sys
import zipfile

import rushlight
from rushlight import jit, nn

MEMORY = 400 << 20  # more than at the start, of all cases together
FORBIDDEN = ("os.", "subprocess.", "socket.", "shutil.", "ctypes.dlopen", "marshal.", "pty.")
ALLOWED = ("os.listdir", "os.scandir", "os.walk", "os.fspath")
ERRORS = (RuntimeError, NotImplementedError)
WORDS = (
    "import os", "__import__", "eval", "().__class__", "torch.load", "lambda: 1", "[" * 300,
    "-" * 3000, "self.x.y", "__torch__.os", "CONSTANTS.c9", "x[0]" * 200, "\0", "while True:",
    "9" * 5000, "'%s'", "List[Tensor]", "ops.prim.x", "del x", "yield", "async def f(): pass",
)  # fmt: skip


class Model(nn.Module):
    """Some of everything that archives hold."""

    sizes: list[int]
    table: dict[str, float]

    def __init__(self):
        super().__init__()
        self.layers = nn.ModuleList([nn.Linear(3, 3), nn.ReLU()])
        self.sizes, self.table, self.rate = [1, 2], {"a": 0.5}, 0.5

    def forward(self, x, flag: bool = True):
        for layer in self.layers:
            x = layer(x)
        if flag and len(self.sizes) > 1:
            x = x * self.table["a"] + self.rate
        parts = [x[i] for i in range(x.size(0))]
        return rushlight.stack(parts), f"{flag}"


def originals() -> list[bytes]:
    """The archives that are changed."""
    models = [jit.script(Model()), jit.script(nn.LSTM(2, 2)), jit.script(nn.BatchNorm1d(2))]
    return [model.save_to_buffer() for model in models]


def rewritten(data: bytes, rng: random.Random) -> bytes:
    """One entry changed, its checksum right."""
    out = io.BytesIO()
    with zipfile.ZipFile(io.BytesIO(data)) as old, zipfile.ZipFile(out, "w") as new:
        names = old.namelist()
        target = rng.choice([n for n in names if n.endswith((".py", ".pkl", "version"))])
        for name in names:
            content = old.read(name)
            if name == target:
                change = words if name.endswith(".py") else flipped
                content = change(content, rng)
            kind = rng.choice((zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED))
            new.writestr(name, content, kind if name.endswith(".py") else zipfile.ZIP_STORED)
    return out.getvalue()


def words(text: bytes, rng: random.Random) -> bytes:
    """Words of a source replaced, dropped or repeated."""
    parts = text.split(b" ")
    for _ in range(rng.randint(1, 3)):
        at = rng.randrange(len(parts))
        choice = rng.random()
        if choice < 0.4:
            parts[at] = rng.choice(WORDS).encode()
        elif choice < 0.6:
            del parts[at]
        elif choice < 0.8:
            parts.insert(at, rng.choice(parts))
        else:
            parts[at] = flipped(parts[at], rng) if parts[at] else b"("
        parts = parts or [b""]
    return b" ".join(parts)


def flipped(data: bytes, rng: random.Random) -> bytes:
    """A few bytes changed, or a piece cut out or repeated."""
    found = bytearray(data)
    for _ in range(rng.randint(1, 4)):
        if not found:
            break
        at = rng.randrange(len(found))
        choice = rng.random()
        if choice < 0.7:
            found[at] = rng.randrange(256)
        elif choice < 0.85:
            del found[at : at + rng.randint(1, 40)]
        else:
            found[at:at] = found[at : at + rng.randint(1, 40)]
    return bytes(found)


def bomb(rng: random.Random) -> bytes:
    """An archive whose source is far larger than its file."""
    out = io.BytesIO()
    with zipfile.ZipFile(io.BytesIO(originals()[2])) as old, zipfile.ZipFile(out, "w") as new:
        for name in old.namelist():
            content = old.read(name)
            if name.endswith(".py"):
                content = content + b"    x = 1\n" * rng.choice((10**6, 4 * 10**6))
            new.writestr(name, content, zipfile.ZIP_DEFLATED if name.endswith(".py") else 0)
    return out.getvalue()


def watch(seen: list) -> None:
    """Note what a load does outside of this process."""

    def hook(event, arguments):
        if event.startswith(FORBIDDEN) and event not in ALLOWED and seen is not None:
            seen.append(event)
        elif event == "open" and isinstance(arguments[1], str) and set(arguments[1]) & set("wax+"):
            seen.append(f"open {arguments[0]}")

    sys.addaudithook(hook)


def main() -> int:
    """Run all cases; the number of those that went wrong is the exit status."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--cases", type=int, default=20_000)
    parser.add_argument("--seed", type=int, default=0)
    options = parser.parse_args()
    rng, sources, wrong, loaded = random.Random(options.seed), originals(), 0, 0
    for data in sources:
        jit.load(io.BytesIO(data))
    seen: list = []
    watch(seen)
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    for case in range(options.cases):
        if case % 500 == 0:
            data = bomb(rng)
        else:
            change = rewritten if rng.random() < 0.75 else flipped
            data = change(rng.choice(sources), rng)
        seen.clear()
        try:
            jit.load(io.BytesIO(data))
            loaded += 1
        except ERRORS as error:
            if "the archive" not in str(error):
                wrong += 1
                print(f"case {case}: an error without the file's name: {error!r}"[:300])
        except BaseException as error:  # noqa: BLE001 - whatever else comes is wrong
            wrong += 1
            print(f"case {case}: {error!r}"[:300])
        if seen:
            wrong += 1
            print(f"case {case}: {seen[:5]}")
    grown = (resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before) << 10
    print(f"{options.cases} archives, {loaded} loaded, {wrong} wrong, {grown >> 20} MB more")
    return min(wrong + (grown > MEMORY), 100)


if __name__ == "__main__":
    sys.exit(main())

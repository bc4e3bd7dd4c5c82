"""Mutated and hostile checkpoints, by the thousand: none may crash, hang, take memory or run code.

python ci/fuzz.py [--cases 100000] [--seed 0] [--kills 200] [--bombs all|few|WORD|none]

Files of several makings (zip checkpoints, the old format, safetensors) are damaged - bits flipped,
bytes overwritten, lengths made huge, cut off, pieces repeated or exchanged - or are built to do
harm: pickles that call functions, ask for terabytes, repeat themselves, nest without end; archives
whose entries overlap or are compressed. A child process loads each of them; an audit hook sees
every attempt to run code, the kernel's high-water mark how much memory a load took, an alarm what
hangs. A load either succeeds (a bit in padding was hit) or raises an error that names the file.
The bombs of `ci/bombs` are loaded so as well, under a limit on the address space: memory that
is asked for is found out, touched or not.
"""

from __future__ import annotations

import argparse
import contextlib
import ctypes
import functools
import gc
import io
import json
import os
import pickle
import random
import resource
import signal
import struct
import sys
import tempfile
import time
import zipfile
from pathlib import Path

ALLOWED = 64 << 20  # bytes beyond the file's size
SECONDS = 60  # after which a load counts as hanging
BATCH, SHORT_BATCH = 250, 10
IDLE, SPEED = 8, 5e5  # seconds of any load, and bytes a second that one reads at least
ROOM = 256 << 20  # bytes of address space that a bomb may ask for


# -------------------------------------------------------------------------------------------- seeds
def seeds() -> dict[str, bytes]:
    """Whole files of every making, by name."""
    import rushlight
    from rushlight import nn, safetensors

    rushlight.manual_seed(0)
    model = nn.Sequential(nn.Conv2d(1, 2, 3), nn.BatchNorm2d(2), nn.Linear(4, 3))
    optimizer = rushlight.optim.Adam(model.parameters())
    model[2](rushlight.ones(2, 4)).sum().backward()
    optimizer.step()
    base = rushlight.arange(40.0).reshape(5, 8)
    many = {
        "views": [base, base.t(), base[1:3, ::2]], "model": model.state_dict(),
        "optimizer": optimizer.state_dict(), "parameter": nn.Parameter(rushlight.ones(3)),
        "storages": [base.storage(), base.untyped_storage()],
        "numbers": [1, 2.5, "text", None, True, 10**30, 1 + 2j, b"bytes", {1, 2}, (1, (2, 3))],
        **{str(d): rushlight.ones(3).to(d) for d in (rushlight.float16, rushlight.bfloat16,
                                                     rushlight.int8, rushlight.bool)},
    }  # fmt: skip
    found = {}
    for protocol in (2, 4):
        buffer = io.BytesIO()
        rushlight.save(many, buffer, pickle_protocol=protocol)
        found[f"zip{protocol}.pt"] = buffer.getvalue()
    found["old.pt"] = old_format()
    named = {k: v for k, v in model.state_dict().items()}
    found["a.safetensors"] = safetensors.save(named, {"made": "here"})
    return found


class _Named:
    """A name of the old format's pickle, written without being imported."""

    def __init__(self, module, name, args=None):
        self.module, self.name, self.args = module, name, args


class _OldPickler(pickle._Pickler):
    dispatch = dict(pickle._Pickler.dispatch)

    def save_named(self, value):
        """A global, called where it has arguments."""
        self.write(b"c" + f"{value.module}\n{value.name}\n".encode())
        if value.args is not None:
            self.save(value.args)
            self.write(b"R")

    dispatch[_Named] = save_named

    def persistent_id(self, value):
        """Storages are tuples that begin so."""
        return value if isinstance(value, tuple) and value[:1] == ("storage",) else None


def old_format() -> bytes:
    """A checkpoint as PyTorch wrote it before version 1.6."""
    stream = io.BytesIO()
    for value in (0x1950A86A20F9469CFC6C, 1001, {"protocol_version": 1001, "little_endian": True}):
        pickle.dump(value, stream, 2)
    tensors = {}
    for key, count in (("7", 6), ("8", 4)):
        storage = ("storage", _Named("torch", "FloatStorage"), key, "cpu", count, None)
        hooks = _Named("collections", "OrderedDict", ())
        args = (storage, 0, (count // 2, 2), (2, 1), False, hooks)
        tensors[key] = _Named("torch._utils", "_rebuild_tensor_v2", args)
    pickler = _OldPickler(stream, 2)
    pickler.dump(tensors)
    pickle.dump(["7", "8"], stream, 2)
    for count in (6, 4):
        stream.write(struct.pack("<q", count) + struct.pack(f"<{count}f", *range(count)))
    return stream.getvalue()


# ---------------------------------------------------------------------------------------- mutations
def archive_of(data: bytes, storage: bytes = b"\0" * 64, compress: bool = False) -> bytes:
    """A checkpoint around any pickle."""
    buffer = io.BytesIO()
    kind = zipfile.ZIP_DEFLATED if compress else zipfile.ZIP_STORED
    with zipfile.ZipFile(buffer, "w", kind) as archive:
        archive.writestr("a/data.pkl", data)
        archive.writestr("a/version", "3\n")
        archive.writestr("a/data/0", storage)
    return buffer.getvalue()


def _repaired(data: bytes, change) -> bytes:
    """A zip checkpoint whose pickle went through `change`, its checksum right again."""
    source = zipfile.ZipFile(io.BytesIO(data))
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w") as target:
        for name in source.namelist():
            content = source.read(name)
            target.writestr(name, change(content) if name.endswith("data.pkl") else content)
    return buffer.getvalue()


def damaged(data: bytes, chance: random.Random) -> bytes:
    """Bytes with one to eight wounds."""
    wounded = bytearray(data)
    for _ in range(chance.choice((1, 1, 1, 2, 3, 8))):
        at = chance.randrange(len(wounded)) if wounded else 0
        kind = chance.randrange(7)
        if kind == 0:
            wounded[at : at + 1] = bytes(
                [wounded[at] ^ 1 << chance.randrange(8)] if wounded else []
            )
        elif kind == 1:
            wounded[at : at + 1] = bytes([chance.randrange(256)])
        elif kind == 2:
            del wounded[at:]
        elif kind == 3:
            size = chance.choice((1, 2, 4, 8))
            wounded[at : at + size] = b"\xff" * (size - 1) + chance.choice((b"\x7f", b"\xff"))
        elif kind == 4:
            del wounded[at : at + chance.randrange(1, 40)]
        elif kind == 5:
            wounded[at:at] = wounded[at : at + chance.randrange(1, 200)]
        else:
            other = chance.randrange(len(wounded) + 1)
            wounded[at : at + 8] = wounded[other : other + 8]
    return bytes(wounded)


class _Call:
    """Pickles as a call of a function."""

    def __init__(self, function, *args):
        self.function, self.args = function, args

    def __reduce__(self):
        return self.function, self.args


def _harmful_calls():
    import builtins
    import subprocess

    marker = "touch /tmp/rushlight-fuzz-was-here"
    return (
        (os.system, marker), (builtins.exec, "import os"), (builtins.eval, "1"),
        (subprocess.Popen, ["/bin/true"]), (builtins.open, "/tmp/rushlight-fuzz-open", "w"),
        (builtins.__import__, "antigravity"), (bytearray, 10**11), (builtins.getattr, 1, "real"),
        (os.unlink, "/tmp/none"), (builtins.print, "hello"), (range, 10**12), (list, range(3)),
    )  # fmt: skip


def _names(chance):
    """Names with dots, and from the libraries that are there."""
    module, name = chance.choice((
        ("torch", "nn.Module"), ("rushlight", "save"), ("rushlight.hub", "load"), ("numpy", "load"),
        ("torch", "load"), ("torch.nn.modules.linear", "Linear"), ("builtins", "object.__class__"),
        ("rushlight.serialization.rebuild", "tensor"), ("collections", "OrderedDict.fromkeys"),
        ("collections", "OrderedDict.__init__"), ("torch._utils", "os.system"), ("", ""),
        ("pickle", "loads"), ("functools", "partial"), ("x" * 3000, "y"), ("torch", "uint16"),
    ))  # fmt: skip
    return f"c{module}\n{name}\n".encode() + b"(X\x01\x00\x00\x00xtR."


def _greedy(chance):
    """Pickles that announce or build more than there is."""
    size = chance.choice((1 << 31, (1 << 32) - 1, 1 << 40, (1 << 63) - 1))
    small, many = struct.pack("<I", min(size, (1 << 32) - 1)), chance.choice((10**5, 10**6))
    return chance.choice((
        lambda: b"\x80\x02X" + small + b"abc.",
        lambda: b"\x80\x04\x8d" + struct.pack("<Q", size) + b"abc.",
        lambda: b"\x80\x05\x96" + struct.pack("<Q", size) + b"abc.",
        lambda: b"\x80\x04\x95" + struct.pack("<Q", size) + b"N.",
        lambda: b"\x80\x02Nr" + small + b".",
        lambda: b"\x80\x02Np%d\n." % size,
        lambda: b"\x80\x02\x8b" + struct.pack("<I", 0x7FFFFFFF) + b"abc.",
        lambda: b"\x80\x02" + b"]" * many + b"." ,
        lambda: b"\x80\x02" + b"(" * many + b".",
        lambda: b"\x80\x02" + b"}" * many + b".",
        lambda: b"\x80\x02" + b")" + b"\x85" * many + b".",
        lambda: b"\x80\x02}" + b")" + b"\x85" * many + b"Ns.",
        lambda: b"\x80\x02}" + b")" + b"2\x86" * chance.choice((40, 300)) + b"Ns.",
        lambda: b"\x80\x02]" + b"2\x86" * 200 + b".",
        lambda: b"\x80\x02I" + b"9" * many + b"\n.",
        lambda: b"\x80\x02}(" + b"".join(
            b"\x8a\x0b" + (k * ((1 << 61) - 1)).to_bytes(11, "little") + b"N" for k in range(30_000)
        ) + b"u.",
        lambda: b"\x80\x02cbuiltins\nbytearray\n\x8a\x06\x00\xe8\x76\x48\x17\x00\x85R.",
        lambda: b"\x80\x02c__builtin__\nset\n]\x85R" * (many // 20) + b".",
        lambda: b"\x80\x02X\x04\x00\x10\x00" + "\U0001f600".encode() + b"a" * (1 << 20) + b".",
    ))()  # fmt: skip


def _tensor_pickle(chance):
    """A tensor with a random, mostly impossible, form."""

    def number():
        return chance.choice((0, 1, 2, 16, 17, -1, 1 << 31, 1 << 40, 1 << 62, 1 << 63, 10**30))

    def size():
        return tuple(number() for _ in range(chance.choice((0, 1, 2, 70))))

    kind = chance.choice(("FloatStorage", "ComplexDoubleStorage", "BoolStorage", "Tensor"))
    storage = ("storage", _Named("torch", kind), chance.choice(("0", "../0", "1", 0)), "cpu",
               number() if chance.random() < 0.7 else 16)  # fmt: skip
    hooks = _Named("collections", "OrderedDict", ())
    args = [storage, number(), size(), size(), chance.random() < 0.5, hooks]
    if chance.random() < 0.3:
        args.append({"conj": True})
    home = chance.choice(("_rebuild_tensor_v2", "_rebuild_tensor_v3", "_rebuild_parameter",
                          "_rebuild_meta_tensor_no_storage", "_rebuild_sparse_tensor"))  # fmt: skip
    stream = io.BytesIO()
    _OldPickler(stream, 2).dump(_Named("torch._utils", home, tuple(args)))
    return stream.getvalue()


def _overlapping(chance):
    """An archive many of whose entries are the same bytes."""
    storage = b"\1" * (1 << 16)
    data = bytearray(archive_of(pickle.dumps([1], 2), storage))
    end = data.rfind(b"PK\x05\x06")
    count, size, start = struct.unpack("<HII", data[end + 10 : end + 20])
    directory = bytes(data[start : start + size])
    last = directory.rfind(b"PK\x01\x02")
    extra, copies = b"", chance.choice((50, 2000))
    for number in range(copies):
        entry = bytearray(directory[last:])
        name = f"b/data/{number}".encode()
        entry[28:30] = struct.pack("<H", len(name))
        extra += bytes(entry[:46]) + name
    size += len(extra)
    record = data[end : end + 8] + struct.pack(
        "<HHIIH", count + copies, count + copies, size, start, 0
    )
    return bytes(data[:start]) + directory + extra + bytes(record)


def hostile(chance: random.Random) -> tuple[str, bytes]:
    """A file built to do harm."""
    kind = chance.randrange(7)
    if kind == 0:
        return "call.pt", archive_of(pickle.dumps([_Call(*chance.choice(_harmful_calls()))], 2))
    if kind == 1:
        return "name.pt", archive_of(_names(chance))
    if kind == 2:
        return "greedy.pt", archive_of(_greedy(chance))
    if kind == 3:
        return "tensor.pt", archive_of(_tensor_pickle(chance))
    if kind == 4:
        return "overlap.pt", _overlapping(chance)
    if kind == 5:
        bomb = pickle.dumps([b"\0" * chance.choice((1 << 20, 1 << 24))], 2)
        return "bomb.pt", archive_of(bomb, b"\0" * (1 << 22), compress=True)
    length = chance.choice((0, 8, 1 << 20, 1 << 40, (1 << 64) - 1))
    header = chance.choice((
        b'{"x":{"dtype":"F32","shape":[%d],"data_offsets":[0,%d]}}' % (1 << 50, 1 << 52),
        b'{"x":{"dtype":"F32","shape":[-1],"data_offsets":[4,0]}}', b"[" * 100_000, b"{}", b"",
        b'{"x":' * 50_000, b'{"x":{"dtype":"F32","shape":' + b"[" * 50_000 + b"}}",
        b'{"x":{"dtype":"F99","shape":[1],"data_offsets":[0,4]}}', b'{"x":{}}', b'{"\\ud800":{}}',
        b'{"x":{"dtype":"F32","shape":[1e400],"data_offsets":[0,4]}}',
    ))  # fmt: skip
    size = len(header) if chance.random() < 0.8 else length
    return "hostile.safetensors", struct.pack("<Q", size) + header + b"\0" * chance.choice((0, 4))


def case(number: int, seed: int, files: dict[str, bytes]) -> tuple[str, bytes]:
    """The name and bytes of one case; the same for the same numbers."""
    chance = random.Random(f"{seed}-{number}")
    if number % 8 == 7:
        return hostile(chance)
    name = chance.choice(sorted(files))
    data = files[name]
    if name.startswith("zip") and chance.random() < 0.5:
        return name, _repaired(data, lambda content: damaged(content, chance))
    return name, damaged(data, chance)


# ---------------------------------------------------------------------------------------- loading
# Loaders by the names of files, each with the errors that it may end in; other files are
# checkpoints.
LOADERS: dict[str, tuple] = {}


def _loader(name: str) -> tuple:
    import rushlight
    from rushlight import safetensors

    errors = (RuntimeError, pickle.UnpicklingError, NotImplementedError)
    if name.endswith(".safetensors"):
        return safetensors.load_file, errors
    return LOADERS.get(Path(name).suffix, (rushlight.load, errors))


class Hang(BaseException):
    """A load that took too long; no loader catches it."""


def _give_back():
    """Return freed memory to the system, lest it hide what the next load takes."""
    gc.collect(0)
    ctypes.CDLL(None).malloc_trim(0)


def _memory(key):
    with open("/proc/self/status", encoding="ascii") as file:
        for line in file:
            if line.startswith(key):
                return int(line.split()[1]) * 1024
    raise OSError(f"/proc/self/status has no {key}")


_WATCHED = ("os.system", "os.exec", "os.posix_spawn", "os.fork", "subprocess.Popen", "socket.",
            "exec", "compile", "ctypes.dlopen", "shutil.", "os.remove", "os.rename", "os.mkdir",
            "os.kill", "pty.spawn", "urllib.")  # fmt: skip
_seen: list[str] = []


def _watch(event, args):
    if _watching[0]:
        if event.startswith(_WATCHED) or (event == "import" and args[0] not in sys.modules):
            _seen.append(f"{event} {args[:1]!r}"[:200])
        elif event == "open" and args[1] and set(str(args[1])) & set("wax+"):
            _seen.append(f"open {args[:2]!r}"[:200])


_watching = [False]


def _out_of_memory(error) -> bool:
    """Whether memory ran out, and not the budget of the load."""
    cause = error.__cause__
    return isinstance(cause, MemoryError) and "more memory than the file" not in str(cause)


@contextlib.contextmanager
def _limited(room: int | None):
    """A block in which the address space grows by `room` bytes at most."""
    soft, hard = resource.getrlimit(resource.RLIMIT_AS)
    if room is not None:
        resource.setrlimit(resource.RLIMIT_AS, (_memory("VmSize") + room, hard))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_AS, (soft, hard))


def judge(name: str, data: bytes, folder: str, room: int | None = None) -> str | None:
    """What is wrong with the load of one file; None if all is well. Memory and code are watched;
    `room` limits what the address space grows by, beyond the file's size."""
    load, errors = _loader(name)
    path = os.path.join(folder, name)
    Path(path).write_bytes(data)
    _give_back()
    with open("/proc/self/clear_refs", "w", encoding="ascii") as file:
        file.write("5")
    before, started = _memory("VmRSS"), time.process_time()
    _seen.clear()
    _watching[0] = True
    signal.alarm(SECONDS)
    wrong = None
    try:
        with _limited(room and room + len(data)):
            load(path)
    except Hang:
        wrong = f"hangs for {SECONDS} s"
    except errors as error:
        if _out_of_memory(error):
            wrong = f"asks for memory without end: {error}"
        elif name not in str(error):
            wrong = f"the error does not name the file: {type(error).__name__}: {error}"
        elif len(str(error)) > 3000:
            wrong = f"an error of {len(str(error))} characters"
    except BaseException as error:  # noqa: BLE001 - anything else is what is looked for
        wrong = f"raises {type(error).__name__}: {str(error)[:300]}"
    finally:
        signal.alarm(0)
        _watching[0] = False
    taken = _memory("VmHWM") - before
    spent = time.process_time() - started
    if wrong is None and taken > len(data) + ALLOWED:
        wrong = f"takes {taken >> 20} MiB for a file of {len(data)} bytes"
    if wrong is None and spent > IDLE + len(data) / SPEED:
        wrong = f"takes {spent:.1f} s for a file of {len(data)} bytes"
    if wrong is None and _seen:
        wrong = f"runs code: {_seen}"
    return wrong


def _on_alarm(number, frame):
    raise Hang


_hooked: list[bool] = []


def prepare() -> None:
    """Watch this process: its audit events and its alarm. Loads that import late do so now."""
    import rushlight
    from rushlight import safetensors

    for name, data in seeds().items():  # so that nothing is left to import
        if name.endswith("tensors"):
            safetensors.load(data)
        else:
            rushlight.load(io.BytesIO(data))
    rushlight.ones(2, 2).to_sparse_csr()
    signal.signal(signal.SIGALRM, _on_alarm)
    if not _hooked:
        sys.addaudithook(_watch)
        _hooked.append(True)


def run_batch(batch, folder: str, room: int | None, judge=judge) -> list[str]:
    """Judge cases, ``(label, make)``, in this process; what is wrong, by case."""
    found = []
    for label, make in batch:
        Path(folder, "now").write_text(label, encoding="utf-8")
        name, data = make()
        wrong = judge(name, data, folder, room)
        if wrong is not None:
            found.append(f"{label} ({name}, {len(data)} bytes): {wrong}")
    return found


def _child(batch, folder: str, result: str, room: int | None, judge) -> None:
    """The work of a child process, which ends in it."""
    try:
        signal.signal(signal.SIGALRM, _on_alarm)
        Path(result).write_text(json.dumps(run_batch(batch, folder, room, judge)), encoding="utf-8")
        os._exit(0)
    finally:
        os._exit(1)


def run_batches(
    batches, room: int | None = None, report=None, judge=judge, setting=None
) -> list[str]:
    """Judge batches of cases, each in a child process, so that a crash is one finding and not the
    end; `room` is for :func:`judge`. `setting` gets the folder first."""
    found: list[str] = []
    with tempfile.TemporaryDirectory(prefix="rushlight-fuzz-") as folder:
        result = os.path.join(folder, "result.json")
        if setting is not None:
            setting(folder)
        for batch in batches:
            child = os.fork()
            if not child:
                _child(batch, folder, result, room, judge)
            _, status = os.waitpid(child, 0)
            if status:
                at = Path(folder, "now").read_text(encoding="utf-8")
                found.append(f"{at}: the process died with status {status}")
            else:
                found += json.loads(Path(result).read_text(encoding="utf-8"))
            if report is not None:
                report(found)
    return found


def run_cases(cases: int, seed: int, report=None) -> list[str]:
    """Judge mutated and hostile files."""
    files = seeds()

    def batches():
        for first in range(0, cases, BATCH):
            numbers = range(first, min(first + BATCH, cases))
            yield [(f"case {n}", functools.partial(case, n, seed, files)) for n in numbers]
            if report is not None:
                report(numbers.stop)

    return run_batches(batches())


def run_bombs(wanted: str = "all") -> tuple[int, list[str]]:
    """Judge the bombs of `ci/bombs` that are wanted; how many, and what is wrong."""
    from bombs import bombs

    def made(build):
        return lambda: ("bomb.pt", build())

    chosen = [(label, made(build)) for label, build in bombs(wanted)]
    batches = (chosen[at : at + SHORT_BATCH] for at in range(0, len(chosen), SHORT_BATCH))
    return len(chosen), run_batches(batches, ROOM)


# ------------------------------------------------------------------------------------------ kills
def kill_while_saving(times: int, seed: int, elements: int = 2_000_000) -> tuple[int, int, int]:
    """Kill a process that saves over and over; how often its file was whole, and how often new, and
    how many files there were beside it after one more save."""
    import rushlight

    chance, whole, new = random.Random(seed), 0, 0
    with tempfile.TemporaryDirectory(prefix="rushlight-kill-") as folder:
        path = os.path.join(folder, "checkpoint.pt")
        rushlight.save({"number": 0, "data": rushlight.zeros(elements)}, path)
        for _ in range(times):
            child = os.fork()
            if not child:
                try:
                    for number in range(1, 1 << 30):
                        data = rushlight.full((elements,), float(number))
                        rushlight.save({"number": number, "data": data}, path)
                finally:
                    os._exit(1)
            time.sleep(chance.uniform(0.0, 0.06))
            os.kill(child, signal.SIGKILL)
            os.waitpid(child, 0)
            loaded = rushlight.load(path)
            whole += bool((loaded["data"] == float(loaded["number"])).all())
            new += loaded["number"] > 0
        rushlight.save(loaded, path)
        left = len(os.listdir(folder)) - 1
    return whole, new, left


def _cases(options, started) -> int:
    def report(done):
        if done % 10_000 == 0:
            print(f"{done} cases, {time.monotonic() - started:.0f} s", flush=True)

    found = run_cases(options.cases, options.seed, report)
    print("\n".join(found[:50]))
    print(f"{options.cases} cases in {time.monotonic() - started:.0f} s: {len(found)} findings")
    return len(found)


def _bombs(options, started) -> int:
    if options.bombs == "none":
        return 0
    count, found = run_bombs(options.bombs)
    print("\n".join(found[:200]))
    print(f"{count} bombs, {time.monotonic() - started:.0f} s: {len(found)} findings", flush=True)
    return len(found)


def main() -> int:
    """Run the cases, and the kills; print figures."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument("--cases", type=int, default=100_000)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--kills", type=int, default=200)
    parser.add_argument("--bombs", default="all", metavar="all|few|WORD|none")
    options = parser.parse_args()
    prepare()
    started = time.monotonic()
    bad = _cases(options, started) + _bombs(options, started)
    if options.kills:
        whole, new, left = kill_while_saving(options.kills, options.seed)
        print(
            f"killed {options.kills} times while saving: {whole} whole files, {new} new ones, "
            f"{left} left behind"
        )
        bad += options.kills - whole + left
    return 1 if bad else 0


if __name__ == "__main__":
    sys.exit(main())

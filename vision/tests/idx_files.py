"""Tiny data sets in MNIST's format, and a web server on loopback that gives them, well or badly."""

from __future__ import annotations

import gzip
import hashlib
import http.server
import struct
import threading

import numpy as np

NAMES = (
    "train-images-idx3-ubyte",
    "train-labels-idx1-ubyte",
    "t10k-images-idx3-ubyte",
    "t10k-labels-idx1-ubyte",
)


def idx_bytes(array, code=0x08):
    """An array in the idx format."""
    header = struct.pack(f">HBB{array.ndim}I", 0, code, array.ndim, *array.shape)
    return header + array.tobytes()


def md5(data):
    """The sum of some bytes."""
    return hashlib.md5(data).hexdigest()


def tiny_files(train=20, test=8):
    """Name -> unpacked bytes of a tiny data set."""
    generator = np.random.default_rng(0)
    files = {}
    for part, count in (("train", train), ("t10k", test)):
        images = generator.integers(0, 256, (count, 28, 28), dtype=np.uint8)
        files[f"{part}-images-idx3-ubyte"] = idx_bytes(images)
        files[f"{part}-labels-idx1-ubyte"] = idx_bytes(np.arange(count, dtype=np.uint8) % 10)
    return files


def tiny_dataset(base, mirrors):
    """A subclass of a data set, of the same name, whose files are the tiny ones of `mirrors`."""
    unpacked = tiny_files()
    packed = {f"{name}.gz": gzip.compress(data, mtime=0) for name, data in unpacked.items()}
    body = {
        "mirrors": mirrors,
        "resources": [(f"{name}.gz", md5(packed[f"{name}.gz"])) for name in NAMES],
        "contents": {name: md5(data) for name, data in unpacked.items()},
    }
    return type(base.__name__, (base,), body), unpacked, packed


class Handler(http.server.BaseHTTPRequestHandler):
    """Gives `server.files`; notes every request; breaks what `server.faults` names."""

    def do_GET(self):
        """One file, from `Range` on; a fault is used up by the request it spoils."""
        name = self.path.split("?")[0].rsplit("/", 1)[-1]
        asked = self.headers.get("Range")
        self.server.requests.append((self.path, asked))
        faults = self.server.faults.get(self.path, [])
        fault = faults.pop(0) if faults else None
        data = self.server.files.get(name)
        if data is None or fault == "missing":
            self.send_error(404)
            return
        if fault == "altered":
            data = data[:50] + bytes([data[50] ^ 1]) + data[51:]
        start = int(asked.removeprefix("bytes=").rstrip("-")) if asked else 0
        if fault == "no range":
            start = 0
        if start >= len(data) > 0:
            self.send_error(416)
            return
        self.send_response(206 if start else 200)
        if start:
            self.send_header("Content-Range", f"bytes {start}-{len(data) - 1}/{len(data)}")
        self.send_header("Content-Length", str(len(data) - start))
        self.end_headers()
        end = start + (len(data) - start) // 2 if fault == "cut off" else len(data)
        self.wfile.write(data[start:end])

    def log_message(self, *arguments):
        """Say nothing."""
        del arguments


class Server:
    """A web server in a thread; a context manager."""

    def __init__(self):
        self.http = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.http.files, self.http.requests, self.http.faults = {}, [], {}
        self.files, self.requests, self.faults = (
            self.http.files,
            self.http.requests,
            self.http.faults,
        )
        self.address = f"http://127.0.0.1:{self.http.server_port}"
        self.thread = threading.Thread(target=self.http.serve_forever, args=(0.02,), daemon=True)

    def __enter__(self):
        self.thread.start()
        return self

    def __exit__(self, *error):
        self.http.shutdown()
        self.http.server_close()
        self.thread.join()

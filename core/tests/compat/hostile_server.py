"""A web server in a thread that does what servers should not."""

from __future__ import annotations

import hashlib
import http.server
import threading
import time


class Handler(http.server.BaseHTTPRequestHandler):
    """Sends ``server.files``; ``server.faults`` holds for a path what goes wrong, in turn."""

    protocol_version = "HTTP/1.1"

    def log_message(self, *_):
        """Say nothing."""

    def do_GET(self):
        server = self.server
        server.requests.append((self.path, self.headers.get("Range")))
        faults = server.faults.get(self.path, [])
        fault = faults.pop(0) if faults else ""
        getattr(self, "send_" + (fault or "file"))()
        self.close_connection = True

    def body(self):
        """The file, from where it is asked for on, and the status and headers that belong to it."""
        data = self.server.files[self.path]
        tag = '"' + hashlib.md5(data, usedforsecurity=False).hexdigest() + '"'
        asked, start = self.headers.get("Range"), 0
        if asked and self.headers.get("If-Range", tag) == tag and not self.server.no_ranges:
            start = int(asked[6:-1])
        if start >= len(data) > 0:
            self.send_response(416)
            self.send_header("Content-Range", f"bytes */{len(data)}")
            self.send_header("Content-Length", "0")
            self.end_headers()
            return None
        self.send_response(206 if start else 200)
        if start:
            self.send_header("Content-Range", f"bytes {start}-{len(data) - 1}/{len(data)}")
        self.send_header("ETag", tag)
        return data[start:]

    def send_file(self):
        data = self.body()
        if data is not None:
            self.send_header("Content-Length", str(len(data)))
            self.end_headers()
            self.wfile.write(data)

    def send_half(self):
        data = self.body()
        self.send_header("Content-Length", str(len(data)))
        self.end_headers()
        self.wfile.write(data[: len(data) // 2])

    def send_stall(self):
        data = self.body()
        self.send_header("Content-Length", str(len(data)))
        self.end_headers()
        self.wfile.write(data[: len(data) // 2])
        self.wfile.flush()
        self.server.stopped.wait(20)

    def send_trickle(self):
        data = self.body()
        self.send_header("Content-Length", str(len(data)))
        self.end_headers()
        for byte in data:
            if self.server.stopped.is_set():
                return
            try:
                self.wfile.write(bytes([byte]))
            except OSError:
                return
            time.sleep(0.05)

    def send_chunks_cut(self):
        data = self.body()
        self.send_header("Transfer-Encoding", "chunked")
        self.end_headers()
        half = data[: len(data) // 2]
        self.wfile.write(f"{len(half):x}\r\n".encode() + half + b"\r\n")

    def send_commented_page(self):
        self.send_page(b"<!-- of a proxy --><html><body>Please sign in</body></html>")

    def send_page(self, page=b"\n <!DOCTYPE html><html><body>Please sign in</body></html>"):
        self.send_response(200)
        self.send_header("Content-Length", str(len(page)))
        self.end_headers()
        self.wfile.write(page)

    def send_refusal(self):
        self.send_response(404)
        self.send_header("Content-Length", "0")
        self.end_headers()

    def send_more(self):
        self.send_response(200)
        self.end_headers()
        for _ in range(200):
            try:
                self.wfile.write(bytes(1 << 16))
            except OSError:
                return

    def send_wrong_range(self):
        self.send_response(206)
        self.send_header("Content-Range", "bytes 5-9/10")
        self.send_header("Content-Length", "5")
        self.end_headers()
        self.wfile.write(b"wrong")

    def _part(self, start, data, whole, tag):
        self.send_response(206)
        self.send_header("Content-Range", f"bytes {start}-{start + len(data) - 1}/{whole}")
        self.send_header("ETag", tag)
        self.send_header("Content-Length", str(len(data)))
        self.end_headers()
        self.wfile.write(data)

    def send_unasked_part(self):
        self._part(0, bytes(100), 3_000_000, '"x"')

    def send_short_part(self):
        data = self.server.files[self.path]
        tag = '"' + hashlib.md5(data, usedforsecurity=False).hexdigest() + '"'
        start = int(self.headers["Range"][6:-1])
        self._part(start, data[start : start + 10], len(data), tag)

    def send_other_version(self):
        data, start = self.server.files[self.path], int(self.headers["Range"][6:-1])
        self._part(start, bytes(len(data) - start), len(data), '"another"')

    def send_nothing(self):
        """Hang up without a word."""


class Server:
    """The server as a context manager; `address` is where it is."""

    def __init__(self):
        self.http = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.http.files, self.http.requests, self.http.faults = {}, [], {}
        self.http.no_ranges, self.http.stopped = False, threading.Event()
        self.files, self.requests, self.faults = (
            self.http.files, self.http.requests, self.http.faults
        )  # fmt: skip
        self.address = f"http://127.0.0.1:{self.http.server_port}"
        self.thread = threading.Thread(target=self.http.serve_forever, args=(0.02,), daemon=True)

    def __enter__(self):
        self.thread.start()
        return self

    def __exit__(self, *_):
        self.http.stopped.set()
        self.http.shutdown()
        self.http.server_close()
        self.thread.join()

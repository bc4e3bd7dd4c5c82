"""Hosts that a slow network connects: network namespaces of Linux, and a switch that waits.

Each host has a TAP device; the switch is a process that reads their Ethernet frames and hands each
on when it has been on its way for as long as a link of this delay and rate takes. Needs root,
``ip`` and /dev/net/tun.
"""

from __future__ import annotations

import ctypes
import fcntl
import heapq
import os
import select
import struct
import subprocess
import sys
import time

NEWNET = 0x40000000  # CLONE_NEWNET of sched.h
TUNSETIFF, TAP = 0x400454CA, 0x1002  # of linux/if_tun.h: IFF_TAP | IFF_NO_PI
FRAME = 9000  # bytes, at most


class Network:
    """Hosts with addresses 10.77.84.1, .2 and on; `delay` seconds one way, `rate` bytes a second
    out of each host."""

    def __init__(self, hosts, delay, rate):
        self.names = [f"rl{os.getpid()}h{i}" for i in range(hosts)]
        self.addresses = [f"10.77.84.{i + 1}" for i in range(hosts)]
        self.delay, self.rate, self.switch = delay, rate, None

    def __enter__(self):
        for name in self.names:
            _ip("netns", "add", name)
        words = [sys.executable, __file__, str(self.delay), str(self.rate), *self.names]
        self.switch = subprocess.Popen(words, stdout=subprocess.PIPE, text=True)
        self.switch.stdout.readline()  # the devices are there
        for name, address in zip(self.names, self.addresses, strict=True):
            _ip("-n", name, "addr", "add", f"{address}/24", "dev", "wire")
            _ip("-n", name, "link", "set", "wire", "mtu", str(FRAME - 20))
            for device in ("lo", "wire"):
                _ip("-n", name, "link", "set", device, "up")
        return self

    def __exit__(self, *_):
        if self.switch is not None:
            self.switch.kill()
            self.switch.communicate()
        for name in self.names:
            _ip("netns", "del", name)

    def run(self, script, *arguments):
        """A rank of a Python script on each host; what the first one prints."""
        processes = [
            self._start(rank, [sys.executable, *map(str, (script, *arguments))])
            for rank in range(len(self.names))
        ]
        outputs = [each.communicate(timeout=600) for each in processes]
        for process, (_, errors) in zip(processes, outputs, strict=True):
            if process.returncode:
                raise SystemExit(f"{script} failed:\n{errors}")
        return outputs[0][0]

    def _start(self, rank, command):
        given = {
            "RANK": rank, "WORLD_SIZE": len(self.names), "MASTER_ADDR": self.addresses[0],
            "MASTER_PORT": 29500, "UCX_TLS": "tcp,self", "OMP_NUM_THREADS": 1,
            "RUSHLIGHT_NUM_THREADS": 1,
        }  # fmt: skip
        # A /dev/shm and a name of its own, or MPI takes them for one host.
        name = self.names[rank]
        shell = f"mount -t tmpfs none /dev/shm; hostname {name}; exec {' '.join(command)}"
        return subprocess.Popen(
            ["ip", "netns", "exec", name, "unshare", "--mount", "--uts", "sh", "-c", shell],
            env=os.environ | {key: str(value) for key, value in given.items()},
            stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
        )  # fmt: skip


def _ip(*words):
    subprocess.run(["ip", *words], check=True, capture_output=True, text=True)


def _device(name):
    """The file of a new TAP device "wire" in a namespace."""
    with open(f"/var/run/netns/{name}") as file:
        if ctypes.CDLL(None, use_errno=True).setns(file.fileno(), NEWNET):
            raise OSError(ctypes.get_errno(), f"setns: {name}")
    device = os.open("/dev/net/tun", os.O_RDWR | os.O_NONBLOCK)
    fcntl.ioctl(device, TUNSETIFF, struct.pack("16sH", b"wire", TAP))
    return device


def switch(delay, rate, names):
    """Hand frames on until the process is ended."""
    devices = [_device(name) for name in names]
    print("ready", flush=True)
    free = dict.fromkeys(devices, 0.0)  # when each link out of a host has sent what it has
    owners, waiting, count = {}, [], 0
    while True:
        left = None if not waiting else max(0.0, waiting[0][0] - time.monotonic())
        for device in select.select(devices, [], [], left)[0]:
            frame = os.read(device, FRAME + 64)
            owners[frame[6:12]] = device
            free[device] = max(free[device], time.monotonic()) + len(frame) / rate
            known = owners.get(frame[:6])
            for target in [known] if known else [each for each in devices if each != device]:
                count += 1
                heapq.heappush(waiting, (free[device] + delay, count, target, frame))
        while waiting and waiting[0][0] <= time.monotonic():
            _, _, target, frame = heapq.heappop(waiting)
            try:
                os.write(target, frame)
            except OSError:  # a device that is not up yet loses frames, as links do
                continue


if __name__ == "__main__":
    switch(float(sys.argv[1]), float(sys.argv[2]), sys.argv[3:])

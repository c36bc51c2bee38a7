"""A tiny program that is a strategy: datagrams at a fixed rate, or what else is asked for.

flow_program.py server ADDRESS PORT MODE FOLDER
flow_program.py client ADDRESS PORT MODE FOLDER

It has no use for the folder, which tells its processes from those of other runs.
"""

import os
import socket
import subprocess
import sys
import time
from pathlib import Path

PAYLOAD = bytes(1000)
GAP_S = 0.002
SEGMENTS = 10
UDP_SEGMENT, UDP_GRO = 103, 104


def serve(address: str, port: int, mode: str) -> None:
    if mode == "elsewhere":
        address = "127.0.0.1"
    if mode == "never-ready":
        time.sleep(3600)
    family = socket.AF_INET
    if mode.startswith("ipv6"):
        address, family = "::", socket.AF_INET6
    with socket.socket(family, socket.SOCK_DGRAM) as sock:
        if mode == "ipv6-alone":
            sock.setsockopt(socket.IPPROTO_IPV6, socket.IPV6_V6ONLY, 1)
        sock.bind((address, port))
        if mode == "gro":
            sock.setsockopt(socket.IPPROTO_UDP, UDP_GRO, 1)
        while True:
            sock.recv(2048)


def send(address: str, port: int, mode: str) -> None:
    """Send a datagram every 2 ms, until something is to happen after a second."""
    if mode == "leaves-another" and os.fork() == 0:
        time.sleep(3600)
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as sock:
        sock.connect((address, port))
        if mode == "looks":
            look()
        if mode.endswith("segments"):
            sock.setsockopt(socket.IPPROTO_UDP, UDP_SEGMENT, len(PAYLOAD))
        while mode.startswith("fast"):
            sock.send(PAYLOAD * (SEGMENTS if mode == "fast-segments" else 1))
        for sent in range(10**6):
            if mode != "silent":
                sock.send(3 * PAYLOAD if mode == "segments" else PAYLOAD)
            if sent * GAP_S >= 1:
                happen(mode)
            time.sleep(GAP_S)


def happen(mode: str) -> None:
    """What goes wrong in mid-trial."""
    if mode == "ends":
        sys.exit(0)
    if mode == "crashes":
        print("something broke", flush=True)
        os.abort()
    if mode == "tells-cores":
        sys.exit(f"on cores {sorted(os.sched_getaffinity(0))}")
    if mode == "raises":
        raise ValueError("something broke")
    while mode == "fills":
        print("x" * 2**20)


def look() -> None:
    """Find nothing of the host: no devices, one core of a model that is everywhere the same."""
    loader = ["/lib64/ld-linux-x86-64.so.2", "--list-diagnostics"]
    processor = subprocess.run(loader, capture_output=True, text=True, check=True).stdout
    seen = {
        "devices": [*Path("/sys").iterdir()],
        "cores": os.cpu_count(),
        "host": "host" in Path("/proc/cpuinfo").read_text(),
        "model": "x86.cpu_features.basic.model=0x3f" in processor,
    }
    if seen != {"devices": [], "cores": 1, "host": False, "model": True}:
        raise ValueError(seen)


if __name__ == "__main__":
    role, to, at, what, _ = sys.argv[1:]
    (serve if role == "server" else send)(to, int(at), what)

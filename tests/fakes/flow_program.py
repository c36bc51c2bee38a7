"""A tiny program that is a strategy: datagrams at a fixed rate, or a failure that is asked for.

flow_program.py server ADDRESS PORT [MODE]
flow_program.py client ADDRESS PORT [MODE]
"""

import os
import socket
import sys
import time

PAYLOAD = bytes(1000)
GAP_S = 0.002


def serve(address: str, port: int, mode: str) -> None:
    """Read what comes."""
    if mode == "elsewhere":
        address = "127.0.0.1"
    if mode == "never-ready":
        time.sleep(3600)
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as sock:
        sock.bind((address, port))
        while True:
            sock.recv(2048)


def send(address: str, port: int, mode: str) -> None:
    """Send a datagram every 2 ms, until something is to happen after a second."""
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as sock:
        sock.connect((address, port))
        for sent in range(10**6):
            if mode != "silent":
                sock.send(PAYLOAD)
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
    if mode == "raises":
        raise ValueError("something broke")
    while mode == "fills":
        print("x" * 2**20)


if __name__ == "__main__":
    role, to, at, *rest = sys.argv[1:]
    (serve if role == "server" else send)(to, int(at), rest[0] if rest else "")

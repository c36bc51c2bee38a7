"""The committed object that stamps arrivals is of the sources as they are."""

import hashlib
from pathlib import Path

XDP = Path(__file__).resolve().parents[3] / "hosts" / "dpdk" / "xdp"


def test_the_committed_object_is_of_these_sources() -> None:
    lines = (XDP / "objects" / "SHA256SUMS").read_text().splitlines()
    committed = dict(reversed(line.split()) for line in lines)
    digests = {
        path.name: hashlib.sha256(path.read_bytes()).hexdigest()
        for path in XDP.iterdir()
        if path.suffix in (".c", ".h")
    }
    assert committed == digests, "run `make cc`"
    assert (XDP / "objects" / "arrival.bpf.o").read_bytes().startswith(b"\x7fELF")

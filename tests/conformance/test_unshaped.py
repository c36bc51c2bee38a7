"""What is not ours passes at once and unchanged, is counted by its reason, and has no postcard."""

import random

import pytest
from scapy.layers.inet import ICMP, IP, TCP, IPOption_Router_Alert
from scapy.layers.inet6 import IPv6
from scapy.layers.l2 import ARP, LLC, Dot1Q, Dot3, Ether
from tests.conformance.conftest import Run
from tests.conformance.packets import (
    LINK,
    RECEIVER,
    SENDER,
    TCP_HEADERS,
    UDP_HEADERS,
    burst,
    changed,
    ip_of,
    noise,
    spaced,
    tcp,
    tcp_key,
    udp,
)
from tests.conformance.target import Count, Packet, Target, needs
from tests.model.classifier import FlowKey, Sound, classify
from tests.support.replay import Bottleneck

LINK_HEADER = Ether(**LINK)
SEGMENT = TCP(sport=10000, dport=5001) / noise(100)

UNKNOWN = {
    "arp": bytes(LINK_HEADER / ARP(psrc=SENDER, pdst=RECEIVER)),
    "ipv6": bytes(LINK_HEADER / IPv6(src="fd00::1", dst="fd00::2") / SEGMENT),
    "vlan": bytes(LINK_HEADER / Dot1Q(vlan=5) / IP(src=SENDER, dst=RECEIVER) / SEGMENT),
    "icmp": bytes(ip_of(tcp_key()) / ICMP() / noise(56)),
    "sctp": bytes(ip_of(tcp_key(), proto=132)) + noise(100),
    "ip-options": bytes(ip_of(tcp_key(), options=[IPOption_Router_Alert()]) / SEGMENT),
    "ip-version": changed(tcp(), 14, b"\x65"),
    "later-fragment": bytes(ip_of(tcp_key(), frag=100) / SEGMENT),
    "last-fragment": bytes(ip_of(tcp_key(), flags=0, frag=8191) / SEGMENT),
    "llc": bytes(Dot3(**LINK) / LLC() / noise(40)),
    "made-up": bytes(Ether(**LINK, type=0x88B5)) + noise(60),
}

MALFORMED = {
    "total-beyond-frame": changed(tcp(size=600), 16, (587).to_bytes(2, "big")),
    "total-65535": changed(tcp(size=600), 16, b"\xff\xff"),
    "udp-total-beyond-frame": changed(udp(size=600), 16, (587).to_bytes(2, "big")),
    "total-0": changed(tcp(size=600), 16, b"\0\0"),
    "total-without-tcp": changed(tcp(size=600), 16, (39).to_bytes(2, "big")),
    "total-without-udp": changed(udp(size=600), 16, (27).to_bytes(2, "big")),
    "payload-underflow": changed(tcp(size=600, dataofs=15), 16, (79).to_bytes(2, "big")),
    "data-offset-0": tcp(size=600, dataofs=0),
    "data-offset-4": tcp(size=600, dataofs=4),
}


def check(run: Run, target: Target, reason: str, frames: list[bytes]) -> None:
    """One flow fills its queue; then these frames come and must not be held up."""
    frames = [frame for frame in frames if target.capabilities.can_put_in(frame)]
    ours = [tcp(size=1000, seq=i) for i in range(5)]
    packets = [*burst(ours), *(Packet(1000 + i, frame) for i, frame in enumerate(frames))]
    outcome = run(packets, [tcp_key()], Bottleneck(limit=4000))
    assert outcome.frames == frames + ours[:4]
    assert len(outcome.postcards) == 5
    expected = dict.fromkeys(["reverse", "unknown", "malformed"], Count())
    expected[reason] = Count(len(frames), sum(map(len, frames)))
    assert outcome.unshaped == expected


def test_what_is_unshaped_takes_no_time(run: Run, target: Target) -> None:
    needs(target, target.capabilities.exact_times, "times are not exact")
    others = [*UNKNOWN.values(), *MALFORMED.values()]
    others = [frame for frame in others if target.capabilities.can_put_in(frame)]
    packets = burst([tcp(size=1000)] * 5) + [Packet(1000 + i, f) for i, f in enumerate(others)]
    outcome = run(packets, [tcp_key()], Bottleneck(limit=4000))
    assert outcome.out[: len(others)] == packets[5:]


@pytest.mark.parametrize("kind", UNKNOWN)
def test_the_model_takes_it_for_unknown(kind: str) -> None:
    assert classify(UNKNOWN[kind]) == "unknown"


@pytest.mark.parametrize("kind", MALFORMED)
def test_the_model_takes_it_for_malformed(kind: str) -> None:
    assert classify(MALFORMED[kind]) == "malformed"


def test_unknown_traffic(run: Run, target: Target) -> None:
    check(run, target, "unknown", list(UNKNOWN.values()))


def test_malformed_traffic(run: Run, target: Target) -> None:
    check(run, target, "malformed", list(MALFORMED.values()))


@pytest.mark.parametrize("whole", [tcp(size=TCP_HEADERS), udp(size=UDP_HEADERS)], ids=len)
def test_frames_shorter_than_their_headers(run: Run, target: Target, whole: bytes) -> None:
    # A whole frame was in the buffers before: what is left of it there must not count.
    cuts = [whole[:n] for n in range(target.capabilities.shortest_frame, len(whole))]
    if not cuts:
        pytest.skip(f"{target.name}: its wire pads short frames")
    check(run, target, "malformed", cuts)


def test_short_frames_of_other_types_are_unknown(run: Run, target: Target) -> None:
    shortest = max(14, target.capabilities.shortest_frame)
    check(run, target, "unknown", [UNKNOWN["arp"][:n] for n in range(shortest, 42)])


def test_the_way_back_is_not_shaped(run: Run) -> None:
    forward = [tcp(size=1000, seq=i) for i in range(3)]
    back = [
        tcp(size=60, key=tcp_key().reversed(), flags="A"),
        tcp(size=1514, key=tcp_key().reversed()),
        tcp(size=60, key=tcp_key().reversed(), dataofs=2),
    ]
    packets = [Packet(0, forward[0]), *burst(back, 10), *burst(forward[1:], 20)]
    outcome = run(packets, [tcp_key()], Bottleneck(limit=3000))
    assert outcome.frames == forward
    assert len(outcome.postcards) == 3
    assert outcome.unshaped["reverse"] == Count(3, 60 + 1514 + 60)
    assert outcome.flows[0]["arrived_packets"] == 3


def mutated(rng: random.Random, frame: bytes, shortest: int) -> bytes:
    """The frame with some of its header bytes changed, cut or grown."""
    for _ in range(rng.randint(0, 3)):
        at = rng.randrange(min(len(frame), 60))
        frame = changed(frame, at, bytes([rng.choice([0, 0xFF, rng.randrange(256)])]))
    if rng.random() < 0.5:
        frame = frame[: rng.randrange(shortest, len(frame) + 1)]
    return frame


def expected_counts(frames: list[bytes]) -> tuple[list[FlowKey], dict[str, Count]]:
    """The flows in the order of their first packets, and what goes unshaped."""
    keys: list[FlowKey] = []
    reasons: dict[str, list[int]] = {"reverse": [], "unknown": [], "malformed": []}
    for frame in frames:
        verdict = classify(frame)
        if not isinstance(verdict, Sound):
            reasons[verdict].append(len(frame))
        elif verdict.key not in keys:
            keys.append(verdict.key)
    return keys, {name: Count(len(sizes), sum(sizes)) for name, sizes in reasons.items()}


@pytest.mark.parametrize("seed", range(3))
def test_mutated_frames_against_the_plain_classifier(run: Run, target: Target, seed: int) -> None:
    rng = random.Random(seed)
    shortest = target.capabilities.shortest_frame
    originals = [tcp(0, 60), tcp(1, 200), udp(0, 60), udp(1, 300), *UNKNOWN.values()]
    frames = [mutated(rng, rng.choice(originals), shortest) for _ in range(2000)]
    frames = [frame for frame in frames if target.capabilities.can_put_in(frame)]
    keys, unshaped = expected_counts(frames)
    outcome = run(spaced(frames), keys, Bottleneck())
    assert outcome.frames == frames
    assert outcome.unshaped == unshaped
    sound = [verdict for verdict in map(classify, frames) if isinstance(verdict, Sound)]
    assert list(outcome.postcards["flow"]) == [keys.index(verdict.key) for verdict in sound]
    assert list(outcome.postcards["payload_bytes"]) == [v.payload_bytes for v in sound]


def test_nothing_but_noise(run: Run, target: Target) -> None:
    rng = random.Random(9)
    shortest = target.capabilities.shortest_frame
    frames = [rng.randbytes(rng.randint(shortest, 200)) for _ in range(1000)]
    frames = [frame for frame in frames if target.capabilities.can_put_in(frame)]
    keys, unshaped = expected_counts(frames)
    assert not keys
    outcome = run(spaced(frames), [], Bottleneck())
    assert outcome.frames == frames
    assert outcome.unshaped == unshaped

"""What P4 counts, and that nothing is ever created or lost."""

import pytest
from tests.conformance.conftest import Run
from tests.conformance.packets import burst, spaced, tcp, tcp_key, udp, udp_key
from tests.conformance.target import Packet, Target, needs
from tests.support.replay import Bottleneck

HISTOGRAM_SIZE = 512
HISTOGRAM_RATE = 3_906_250
"""512 bytes at this rate take exactly 2^20 ns."""


def test_each_flow_has_its_own(run: Run) -> None:
    frames = [tcp(0, 1000), tcp(0, 500), udp(0, 300), tcp(1, 60)]
    outcome = run(spaced(frames), [tcp_key(0), udp_key(0), tcp_key(1)], Bottleneck())
    for flow, (packets, total) in enumerate([(2, 1500), (1, 300), (1, 60)]):
        registers = outcome.flows[flow]
        assert (registers["arrived_packets"], registers["arrived_bytes"]) == (packets, total)
        assert (registers["departed_packets"], registers["departed_bytes"]) == (packets, total)
        assert (registers["dropped_packets"], registers["dropped_bytes"]) == (0, 0)
        assert registers["in_queue_bytes"] == 0


def test_arrived_is_departed_plus_dropped_and_agrees_with_the_postcards(run: Run) -> None:
    frames = [tcp(i % 3, 60 + 97 * i % 1400) for i in range(200)]
    packets = [Packet(i // 10 * 500_000, frame) for i, frame in enumerate(frames)]
    outcome = run(packets, [tcp_key(i) for i in range(3)], Bottleneck(limit=5000))
    assert len(outcome.dropped) > 10
    for flow, registers in enumerate(outcome.flows):
        sizes = [len(frame) for i, frame in enumerate(frames) if i % 3 == flow]
        assert (registers["arrived_packets"], registers["arrived_bytes"]) == (
            len(sizes),
            sum(sizes),
        )
        for kind in ("departed", "dropped"):
            cards = getattr(outcome, kind)
            mine = cards[cards["flow"] == flow]["packet_bytes"]
            assert registers[f"{kind}_packets"] == len(mine)
            assert registers[f"{kind}_bytes"] == mine.sum()
        both = registers["departed_bytes"] + registers["dropped_bytes"]
        assert registers["arrived_bytes"] == both
        assert registers["in_queue_bytes"] == 0


def test_peak_of_a_flow_counts_what_is_its_own(run: Run, target: Target) -> None:
    needs(target, target.capabilities.peak_per_flow, "no peak per flow")
    frames = [tcp(0, 1000), tcp(1, 600), tcp(0, 500), tcp(1, 1514)]
    outcome = run(burst(frames), [tcp_key(0), tcp_key(1)], Bottleneck(limit=2200))
    # The last one is dropped: it never was in the queue.
    assert [flow["peak_queue_bytes"] for flow in outcome.flows] == [1500, 600]


def test_delay_histogram_at_the_edges_of_its_bins(run: Run, target: Target) -> None:
    needs(target, target.capabilities.exact_times, "times are not exact")
    needs(target, target.capabilities.histogram_bin_ns == 1 << 20, "no histogram of 2^20 ns")
    bottleneck = Bottleneck(rate_bps=HISTOGRAM_RATE, limit=10_000)
    one_less = [Packet(0, tcp(size=HISTOGRAM_SIZE - 1))]
    later = burst([tcp(size=HISTOGRAM_SIZE)] * 3, time_ns=10_000_000)
    outcome = run(one_less + later, [tcp_key()], bottleneck)
    assert outcome.histogram == [1, 1, 1, 1]


@pytest.mark.slow
def test_the_last_bin_takes_everything_beyond(run: Run, target: Target) -> None:
    needs(target, target.capabilities.exact_times, "times are not exact")
    bins = target.capabilities.histogram_bins
    needs(target, bins > 0, "no histogram")
    bottleneck = Bottleneck(rate_bps=HISTOGRAM_RATE, limit=10_000_000)
    outcome = run(burst([tcp(size=HISTOGRAM_SIZE)] * (bins + 10)), [tcp_key()], bottleneck)
    assert outcome.histogram == [0] + [1] * (bins - 2) + [12]


def test_dropped_packets_have_no_delay(run: Run, target: Target) -> None:
    needs(target, target.capabilities.histogram_bin_ns > 0, "no histogram")
    outcome = run(burst([tcp(size=1000)] * 50), [tcp_key()], Bottleneck(limit=4000))
    assert sum(outcome.histogram) == 4


def test_registers_wrap(run: Run, target: Target) -> None:
    needs(target, target.capabilities.presets, "its registers start at 0")
    presets = {"arrived_bytes": 2**64 - 1000, "departed_bytes": 2**64 - 1, "departed_packets": 7}
    outcome = run(burst([tcp(size=1514)] * 2), [tcp_key()], Bottleneck(), presets)
    registers = outcome.flows[0]
    assert registers["arrived_bytes"] == 2028
    assert registers["departed_bytes"] == 3027
    assert (registers["arrived_packets"], registers["departed_packets"]) == (2, 9)


def test_the_number_of_a_postcard_wraps(run: Run, target: Target) -> None:
    needs(target, target.capabilities.presets, "its registers start at 0")
    presets = {"lane_postcards": 2**32 - 2}
    outcome = run(burst([tcp(size=1000)] * 4), [tcp_key()], Bottleneck(), presets)
    assert list(outcome.postcards["lane_seq"]) == [2**32 - 2, 2**32 - 1, 0, 1]

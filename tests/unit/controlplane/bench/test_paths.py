"""`bench forward` and `bench cpu` against the fakes: what is started, counted and told."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from nashbed.controlplane.bench import cpu, forward
from nashbed.controlplane.bench.site import BenchSite
from nashbed.controlplane.bench.traffic import disturbance
from nashbed.controlplane.cli.main import run as cli
from nashbed.controlplane.config import parse_testbed
from nashbed.controlplane.contract.benchmark import Benchmark
from nashbed.controlplane.contract.errors import ConfigError, HostError, TargetError
from nashbed.controlplane.contract.units import Rate
from nashbed.controlplane.machine.host import preflight
from nashbed.controlplane.machine.host.counters import CpuTime, cpu_time
from nashbed.controlplane.machine.host.programs import forwarder_command, forwarder_event
from nashbed.controlplane.machine.host.session import SessionRequest
from tests.fakes.dataplane import BUSY_NS_A_LOOK, PACKETS_A_LOOK
from tests.fakes.session import FakeSession
from tests.fakes.traffic import stream_bytes
from tests.support.replay import need_dataplane
from tests.unit.controlplane.conftest import TESTBED

SWITCH = """\
name: elsewhere
target: bmv2
switch: {program: simple_switch}
ports:
  senders: {driver: af_packet}
  switch: {driver: af_packet}
  telemetry: {driver: af_packet}
capacity: {rate: 20mbit, lanes: 1}
"""
FLOWS, SECONDS, WARMUP_S = 3, 0.3, 0.1


class Sessions:
    """Makes fakes and keeps them."""

    def __init__(self) -> None:
        self.made: list[FakeSession] = []

    def __call__(self, request: SessionRequest) -> FakeSession:
        self.made.append(FakeSession())
        return self.made[-1]

    @property
    def calls(self) -> list[list[str]]:
        """What each was asked to do, in order."""
        return [session.calls for session in self.made]


@pytest.fixture
def sessions(monkeypatch: pytest.MonkeyPatch) -> Iterator[Sessions]:
    """No machine is needed; afterwards every session must have been closed."""
    for part in (forward, cpu):
        monkeypatch.setattr(part, "check_host", lambda *_: None)
    monkeypatch.setattr(preflight, "require_forwarder", lambda: None)
    monkeypatch.setattr(cpu, "check_strategies", lambda *_: None)
    monkeypatch.setattr(cpu, "WARMUP_S", WARMUP_S)
    made = Sessions()
    yield made
    assert all(calls[-1] == "close" for calls in made.calls)


def place(sessions: Sessions, folder: Path, testbed: str = TESTBED) -> BenchSite:
    bed = parse_testbed(testbed, "fake.yaml")
    return BenchSite(bed, folder, sessions, lambda _: Path("bottleneck.spec"))


def measure_forward(sessions: Sessions, folder: Path, told: list[str]) -> tuple[Benchmark, ...]:
    return forward.bench_forward(
        place(sessions, folder), FLOWS, 2, SECONDS, WARMUP_S,
        lambda title, done, of: told.append(f"{done}/{of} {title}"),
    )  # fmt: skip


@pytest.mark.slow
@pytest.mark.dataplane
def test_forwarding_is_compared_in_turns(sessions: Sessions, tmp_path: Path) -> None:
    need_dataplane()
    told: list[str] = []
    ratio, ours, testpmd = measure_forward(sessions, tmp_path, told)
    assert told == ["0/4 bottleneck", "1/4 testpmd", "2/4 bottleneck", "3/4 testpmd"]
    flows = ["start rcv of lane 0", "start snd of lane 0"]
    assert sessions.calls[0] == ["open", "start dataplane", "connect_hosts", *flows, "close"]
    forwarder = sessions.calls[1][1]
    assert forwarder.startswith("start testpmd --vdev=net_af_xdp0,iface=nbs1,")
    assert sessions.calls[1] == ["open", forwarder, "connect_hosts", *flows, "close"]
    # The fakes' sinks read half of each stream in the window, the other half after it.
    gbps = FLOWS * stream_bytes() // 2 * 8 / SECONDS / 1e9
    assert (ratio.name, ratio.wanted, ratio.values) == ("forward_ratio", 0.85, (1.0, 1.0))
    assert ours.values == testpmd.values == pytest.approx((gbps, gbps))
    first = ratio.data["turns"][0]
    assert first["bottleneck"]["retransmitted_share"] == 6000 / (stream_bytes() + 6000)
    assert first["testpmd"]["loop_busy_share"] is None
    assert list(tmp_path.glob("turn*")) == []


@pytest.mark.slow
def test_a_testpmd_that_dies_is_named(
    sessions: Sessions, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(forward, "_devices", lambda *_: ["--vdev=x"])
    monkeypatch.setattr("tests.fakes.session.FORWARDER", "raise SystemExit('no such device')")
    with pytest.raises(TargetError, match=r"testpmd ended .*no such device"):
        measure_forward(sessions, tmp_path, [])
    assert list(tmp_path.glob("turn*")) == []


@pytest.mark.slow
def test_lost_postcards_are_no_result(
    sessions: Sessions, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("FAKE_DATAPLANE", "full_ring")
    with pytest.raises(TargetError, match="lane 0: 1 postcards lost"):
        measure_forward(sessions, tmp_path, [])


@pytest.mark.slow
def test_cost_for_each_packet(sessions: Sessions, tmp_path: Path) -> None:
    traffic = cpu.cpu_traffic(2, Rate.parse("50mbit"), 5, SECONDS)
    assert traffic.counts == {"cubic": 3, "bbr": 2}
    ours, flows = cpu.bench_cpu(place(sessions, tmp_path), traffic, 2, lambda *_: None)
    # Both ports take in and give out so many between the two looks of a repetition.
    cost = BUSY_NS_A_LOOK / (2 * PACKETS_A_LOOK)
    assert (ours.name, ours.values) == ("cpu_per_packet_ns_dataplane", (cost, cost))
    assert flows.name == "cpu_per_packet_ns_flows"
    assert flows.low >= 0
    for each in ours.data["repetitions"]:
        assert each["frames_at_hosts"] == 2 * each["frames_through_dataplane"]
        told = sum(v for k, v in each.items() if k.startswith(("senders_", "sinks_")))
        assert told == pytest.approx(flows.values[0]) or told == pytest.approx(flows.values[1])
    assert sessions.calls[0].count("start snd of lane 1") == 2


def test_a_switch_elsewhere_is_refused(sessions: Sessions, tmp_path: Path) -> None:
    where = place(sessions, tmp_path, SWITCH)
    with pytest.raises(ConfigError, match="choose a testbed without `switch`"):
        forward.bench_forward(where, 1, 1, 1.0, 0.0, lambda *_: None)
    traffic = cpu.cpu_traffic(1, Rate.parse("1mbit"), 2, 1.0)
    with pytest.raises(ConfigError, match="choose a testbed without `switch`"):
        cpu.bench_cpu(where, traffic, 1, lambda *_: None)


def test_forwarding_is_compared_on_one_core(sessions: Sessions, tmp_path: Path) -> None:
    spread = place(sessions, tmp_path, TESTBED + "dataplane: {cores: [1, 2], memory: 2GiB}\n")
    with pytest.raises(
        ConfigError, match=r"dataplane\.cores has 2 cores; one lane on one packet l"
    ):
        forward.bench_forward(spread, 1, 1, 1.0, 0.0, lambda *_: None)


def test_more_lanes_than_there_are(sessions: Sessions, tmp_path: Path) -> None:
    small = TESTBED + "dataplane: {lanes: 4}\n"
    traffic = cpu.cpu_traffic(5, Rate.parse("1mbit"), 2, 1.0)
    with pytest.raises(ConfigError, match=r"--lanes 5: testbed 'fake' has only 4"):
        cpu.bench_cpu(place(sessions, tmp_path, small), traffic, 1, lambda *_: None)


def test_without_testpmd_it_says_how_to_get_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("shutil.which", lambda name: None)
    with pytest.raises(HostError, match=r"dpdk-testpmd: not installed.*dpdk-dev"):
        preflight.require_forwarder()


@pytest.mark.parametrize("part", ["forward", "cpu"])
def test_without_root_it_is_exit_code_4(
    part: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr("os.geteuid", lambda: 1000)
    assert cli(["bench", part]) == 4
    assert "not root" in capsys.readouterr().err


def test_testpmd_stands_where_the_data_plane_does() -> None:
    bed = parse_testbed(TESTBED, "fake.yaml").model
    words = forwarder_command(bed.dataplane, ["--vdev=a", "--vdev=b"])
    assert "--lcores=0@0,1@1" in words
    assert words[words.index("-m") + 1] == "1024"
    assert words.index("--vdev=a") < words.index("--vdev=b") < words.index("--forward-mode=io")
    assert "--no-pci" in words
    assert "--no-pci" not in forwarder_command(bed.dataplane, ["--allow=0000:03:00.0"])
    assert forwarder_event("Press enter to exit") == {"event": "ready"}
    assert forwarder_event("Done") is None


def test_processor_time_is_read() -> None:
    own = cpu_time(1)
    assert own.total_ns == own.user_ns + own.system_ns
    assert cpu_time(2**22 + 1) == CpuTime()
    assert CpuTime(5, 7) - CpuTime(1, 2) + CpuTime(1, 1) == CpuTime(5, 6)


def test_somebody_elses_work_is_told() -> None:
    assert disturbance([0.0, 0.05]) == ""
    assert "others used up to 40% of a core" in disturbance([0.02, 0.4])


def test_what_is_measured_in_real_time_needs_a_testbed_in_real_time(
    sessions: Sessions, tmp_path: Path
) -> None:
    virtual = place(sessions, tmp_path, "name: v\ntarget: virtual\n")
    with pytest.raises(ConfigError, match="target virtual; this is measured in real time; choose"):
        virtual.require_own_bottleneck("this is measured")

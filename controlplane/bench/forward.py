"""Kernel TCP through the whole bottleneck, and through testpmd in its site, in turns."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace

from ..contract.benchmark import Benchmark
from ..contract.certificate import CoreShares
from ..contract.errors import ConfigError
from ..contract.model import ContractModel, JsonObject
from ..contract.target import GroupDelay, LaneProgram
from ..contract.units import PACKET_BYTES, Buffer, Duration, Rate
from ..lane.lab import quietly
from ..lane.programmed import difference
from ..machine.host import preflight
from ..machine.host.programs import run_dataplane
from ..machine.host.session import Session
from ..machine.log import ShowStep
from ..machine.paths import DATAPLANE, built
from ..machine.sessions import check_host
from ..plan.attempt import Attempt
from ..plan.estimates import RAW_BYTES_PER_PACKET
from ..targets import capabilities_of
from ..targets.dataplane import dataplane_config
from .site import BenchSite
from .traffic import Traffic, TrafficResult, cross, cross_lab, disturbance, make_attempts

WANTED_RATIO = 0.85
WINDOW_BYTES = 32 * 10**6
"""Room for every flow: more than all rings between the hosts hold, so that no window binds."""
SCENARIO_RTT = Duration(10**5)
"""The smallest that a scenario may name; what is programmed is no delay at all."""
NO_DELAY = GroupDelay(forward_ns=0, reverse_ns=0, loss_ppb=0, seed=1)
READY_TIMEOUT_S = 60.0
FASTEST_BPS = 10**10
"""For the disk space of postcards: more than kernel TCP reaches through one core."""


class TurnFigures(ContractModel):
    """What a turn says in JSON.

    Attributes:
        gbps: Goodput in Gbit/s.
        retransmitted_share: Bytes sent again by all bytes sent.
        losses: Packets lost by the hosts' interfaces and the kernel, by site.
        loop_busy_share: Share of its time that the data plane's loop had work; null: not known.
        others_share: What everybody else used of the other cores, in cores.
        cores: What each core did.
    """

    gbps: float
    retransmitted_share: float
    losses: dict[str, int]
    loop_busy_share: float | None
    others_share: float
    cores: tuple[CoreShares, ...]


@dataclass(frozen=True)
class Turn:
    """One turn of one of the two.

    Attributes:
        crossed: What came of the flows.
        losses: Packets lost by the hosts' interfaces and the kernel, by site.
        others_share: What everybody else used of the other cores, in cores.
        busy_share: Share of its time that the data plane's loop had work; None: not known.
    """

    crossed: TrafficResult
    losses: dict[str, int]
    others_share: float
    busy_share: float | None = None

    @property
    def gbps(self) -> float:
        """Goodput in Gbit/s."""
        return self.crossed.goodput_bps / 1e9

    def figures(self) -> JsonObject:
        """What is worth keeping beside the goodput: `TurnFigures` as plain data."""
        crossed = self.crossed
        return TurnFigures(
            gbps=self.gbps,
            retransmitted_share=crossed.retransmitted_bytes / max(1, crossed.sent_bytes),
            losses={name: count for name, count in self.losses.items() if count},
            loop_busy_share=self.busy_share,
            others_share=round(self.others_share, 4),
            cores=tuple(crossed.cores),
        ).model_dump(mode="json")


def bench_forward(
    site: BenchSite,
    flows: int,
    repetitions: int,
    seconds: float,
    warmup_s: float,
    show_step: ShowStep,
) -> tuple[Benchmark, ...]:
    """Goodput through the bottleneck by goodput through dpdk-testpmd, in turns, flows alike.

    The bottleneck's rate and buffer are the largest that it takes, its delay is 0; postcards are
    written to disk as in a run. testpmd opens the same ports with the same options, on the same
    core, and forwards frames untouched (`--forward-mode=io`).

    Args:
        site: Testbed and folder.
        flows: CUBIC flows.
        repetitions: Turns of each.
        seconds: Measured window of a turn.
        warmup_s: Time before it.
        show_step: Called before each of them.

    Raises:
        ConfigError: The testbed's data plane is not the bottleneck, or has several packet loops.
        HostError: Not root, no huge pages, no dpdk-testpmd.
        TargetError: The data plane or testpmd failed, or postcards were lost.
    """
    _check(site, seconds + warmup_s)
    traffic = _traffic(site, flows, seconds, warmup_s)
    turns: list[Callable[[BenchSite, Traffic], Turn]] = [_bottleneck, _testpmd]
    done: list[list[Turn]] = [[], []]
    with site.logged():
        for number in range(2 * repetitions):
            show_step(("bottleneck", "testpmd")[number % 2], number, 2 * repetitions)
            done[number % 2].append(turns[number % 2](site, traffic))
    return _benchmarks(traffic, *done)


def _check(site: BenchSite, seconds: float) -> None:
    site.require_own_bottleneck("forwarding is compared")
    if site.bed.dataplane.loops > 1:
        raise ConfigError(
            f"testbed {site.bed.name!r}: dataplane.cores has {site.bed.dataplane.loops} cores; one "
            "lane on one packet loop is compared with testpmd on one core; name one core"
        )
    check_host(site.bed, site.folder, _postcard_bytes(seconds))
    preflight.require_forwarder()


def _postcard_bytes(seconds: float) -> int:
    return int(FASTEST_BPS / (8 * PACKET_BYTES) * seconds) * RAW_BYTES_PER_PACKET


def _traffic(site: BenchSite, flows: int, seconds: float, warmup_s: float) -> Traffic:
    can = capabilities_of(site.bed)
    return Traffic(
        rate=Rate(can.max_rate_bps),
        buffer=Buffer.parse(f"{can.max_buffer_bytes}B"),
        base_rtt=SCENARIO_RTT,
        counts={"cubic": flows},
        seconds=seconds,
        warmup_s=warmup_s,
    )


def _bottleneck(site: BenchSite, traffic: Traffic) -> Turn:
    with _attempt(site, traffic) as attempt, site.lab(1, WINDOW_BYTES) as lab:
        before = lab.session.host_losses()
        crossed = cross_lab(lab, traffic, [(attempt, _undelayed(attempt))])
        return _turn(site, crossed, lab.session, before, crossed.busy_share(loops=1))


def _turn(
    site: BenchSite,
    crossed: TrafficResult,
    session: Session,
    before: dict[str, int],
    busy_share: float | None = None,
) -> Turn:
    others = crossed.others_share(site.bed.dataplane.cores)
    return Turn(crossed, difference(session.host_losses(), before), others, busy_share)


def _undelayed(attempt: Attempt) -> LaneProgram:
    return replace(attempt.program(), delays=(NO_DELAY,))


def _testpmd(site: BenchSite, traffic: Traffic) -> Turn:
    with _attempt(site, traffic) as attempt, _forwarder(site) as session:
        before = session.host_losses()
        crossed = cross(session, traffic, [attempt])
        return _turn(site, crossed, session, before)


@contextmanager
def _attempt(site: BenchSite, traffic: Traffic) -> Iterator[Attempt]:
    """The only lane's attempt; what it leaves on disk is removed."""
    folder = site.turn_folder()
    try:
        (attempt,) = make_attempts(traffic, folder)
        yield attempt
    finally:
        shutil.rmtree(folder, ignore_errors=True)


@contextmanager
def _forwarder(site: BenchSite) -> Iterator[Session]:
    """A testpmd between the hosts; the machine is given back whatever happens."""
    session = site.session(1, WINDOW_BYTES)
    try:
        session.open()
        process = session.start_forwarder(_devices(site, session))
        process.wait_event("ready", READY_TIMEOUT_S, watch=session.require_targets)
        session.connect_hosts()
        yield session
    except BaseException:
        quietly("session", session.close)
        raise
    session.close()


def _devices(site: BenchSite, session: Session) -> list[str]:
    """How the data plane would open these ports: the EAL's arguments."""
    config = session.scratch / "ports.json"
    content = dataplane_config(site.bed.dataplane) | {
        "spec": str(site.find_artefact(site.bed)),
        "control_socket": str(session.scratch / "unused.sock"),
        "ports": session.ports(),
    }
    config.write_text(json.dumps(content) + "\n")
    done = run_dataplane([str(built(DATAPLANE)), "--config", str(config), "--devices"])
    return done.out.splitlines()


def _benchmarks(
    traffic: Traffic, bottleneck: list[Turn], testpmd: list[Turn]
) -> tuple[Benchmark, ...]:
    data = {
        "flows": dict(traffic.counts),
        "seconds": traffic.seconds,
        "warmup_s": traffic.warmup_s,
        "base_rtt_ns": 0,
        "turns": [
            {"bottleneck": ours.figures(), "testpmd": other.figures()}
            for ours, other in zip(bottleneck, testpmd, strict=True)
        ],
    }
    through = f"{traffic.flows} CUBIC flows, {traffic.seconds:g} s each, no delay"
    ratios = tuple(a.gbps / b.gbps for a, b in zip(bottleneck, testpmd, strict=True))
    return (
        Benchmark(
            name="forward_ratio",
            unit="goodput through the bottleneck by that through testpmd",
            values=ratios,
            wanted=WANTED_RATIO,
            detail=f"kernel TCP, {through}; turn by turn on the same ports and core"
            + disturbance([turn.others_share for turn in (*bottleneck, *testpmd)]),
            data=data,
        ),
        Benchmark(
            name="forward_bottleneck_gbps",
            unit="Gbit/s",
            values=tuple(turn.gbps for turn in bottleneck),
            detail=f"goodput through P4, queue and postcards to disk: {through}",
        ),
        Benchmark(
            name="forward_testpmd_gbps",
            unit="Gbit/s",
            values=tuple(turn.gbps for turn in testpmd),
            detail=f"goodput through dpdk-testpmd --forward-mode=io, this machine's own ceiling: "
            f"{through}",
        ),
    )

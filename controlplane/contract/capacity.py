"""How many lanes a testbed can carry at once: every attempt and its outcome."""

from __future__ import annotations

from pydantic import Field

from .model import ContractModel


class CoreShares(ContractModel):
    """How one core spent its time while all lanes were running, in shares (0 to 1).

    Attributes:
        core: Its number.
        user: Programs, including niced ones.
        system: The kernel, on behalf of programs.
        softirq: Interrupts and deferred work: receiving and sending packets.
        idle: Idle, or waiting for a disk.
        steal: Taken by the hypervisor.
    """

    core: int
    user: float
    system: float
    softirq: float
    idle: float
    steal: float


class Lateness(ContractModel):
    """Departure lateness over all lanes of one attempt, in ns.

    Attributes:
        p50_ns: Median over the lanes of their medians.
        p999_ns: The largest of the lanes' 99.9th percentiles; that of all departures is at most
            this.
        max_ns: The latest departure of any lane.
        max_gap_ns: The longest pause of the packet loop.
    """

    p50_ns: float
    p999_ns: float
    max_ns: float
    max_gap_ns: float


class RoundTripError(ContractModel):
    """By how much round trips were too long, over all lanes of one attempt, in ns.

    Attributes:
        mean_ns: The largest of the lanes' means.
        max_ns: The largest of any lane.
    """

    mean_ns: float
    max_ns: int


class LevelAttempt(ContractModel):
    """One attempt at a number of lanes side by side.

    Attributes:
        lanes: Number of lanes.
        rate_bps: Sum of their rates.
        passed: Whether every gate of every lane passed.
        valid_lanes: Lanes whose gates all passed.
        failed: Gate -> lanes that failed it.
        reason: The first failure, or what ended the attempt early; empty when it passed.
        lateness: Of all lanes; null where no lane finished.
        round_trip_error: Of all lanes; null where no lane finished, or of an earlier version.
        together_s: Seconds during which all lanes were sending.
        cores: How each core spent that time.
    """

    lanes: int
    rate_bps: int
    passed: bool
    valid_lanes: int = 0
    failed: dict[str, int] = Field(default_factory=dict)
    reason: str = ""
    lateness: Lateness | None = None
    round_trip_error: RoundTripError | None = None
    together_s: float = 0.0
    cores: tuple[CoreShares, ...] = ()


class Stalls(ContractModel):
    """Pauses that the machine itself causes on a core that does nothing but read the clock.

    Attributes:
        core: The core.
        seconds: How long it was watched.
        bound_ns: Shorter pauses do not count.
        pauses: How many were longer.
        longest_ns: The longest pause; 0 without one.
        late_share: Share of the time (0 to 1) from which the core ran again only after more than
            the bound; no program can have fewer late departures.
    """

    core: int
    seconds: float
    bound_ns: int
    pauses: int
    longest_ns: int
    late_share: float

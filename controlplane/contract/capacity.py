"""How many lanes side by side a testbed carries: what was tried, and how it went."""

from __future__ import annotations

from pydantic import Field

from .model import ContractModel


class CoreShares(ContractModel):
    """What one core did while all lanes were running, as shares of its time (0 to 1).

    Attributes:
        core: Its number.
        user: Programs, niced ones included.
        system: The kernel on behalf of programs.
        softirq: Interrupts and what they put off: receiving and sending of packets.
        idle: Nothing, or waiting for a disk.
        steal: Kept by the hypervisor.
    """

    core: int
    user: float
    system: float
    softirq: float
    idle: float
    steal: float


class Lateness(ContractModel):
    """Departure lateness over the lanes of one attempt, in ns.

    Attributes:
        p50_ns: Median over the lanes of their medians.
        p999_ns: The largest lane's 99.9th percentile: that of all departures is at most this.
        max_ns: The latest departure of any lane.
        max_gap_ns: The longest pause of the packet loop.
    """

    p50_ns: float
    p999_ns: float
    max_ns: float
    max_gap_ns: float


class LevelAttempt(ContractModel):
    """So many lanes side by side, once.

    Attributes:
        lanes: How many.
        rate_bps: Sum of their rates.
        passed: Whether every gate of every lane held.
        valid_lanes: Lanes of which every gate held.
        failed: Gate -> lanes that failed it.
        reason: The first failure, or what ended the attempt early; empty when it passed.
        lateness: Of all lanes; null where no lane got to its end.
        together_s: Seconds for which all lanes were sending at once.
        cores: What each core did in that time.
    """

    lanes: int
    rate_bps: int
    passed: bool
    valid_lanes: int = 0
    failed: dict[str, int] = Field(default_factory=dict)
    reason: str = ""
    lateness: Lateness | None = None
    together_s: float = 0.0
    cores: tuple[CoreShares, ...] = ()


class Stalls(ContractModel):
    """What the machine itself takes from a core that does nothing but look at the clock.

    Attributes:
        core: The core.
        seconds: How long it was watched.
        bound_ns: Shorter pauses do not count.
        pauses: How many were longer.
        longest_ns: The longest pause; 0 without one.
        late_share: Share of moments (0 to 1) from which it took longer than the bound until the
            core ran again: no program's departures are late less often.
    """

    core: int
    seconds: float
    bound_ns: int
    pauses: int
    longest_ns: int
    late_share: float

"""The certificate of a calibrated testbed: what was measured, and how many lanes it can carry."""

from typing import Final, Literal

from pydantic import Field

from .model import ContractModel, JsonObject
from .testbed import Capacity
from .trial import BELIEVED, CertificateState, Gate

CERTIFICATE_FORMAT: Final = 1


class CoreShares(ContractModel):
    """How one core spent its time while all lanes were running, in shares (0 to 1).

    Attributes:
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


class LoneShare(ContractModel):
    """What the lone CUBIC flow among BBR flows gets of a lane's throughput: the sensitive probe.

    Attributes:
        mean: Its share, 0 to 1, mean of all lanes.
        ci95: Half the width of its 95 % interval; null with one lane.
    """

    mean: float
    ci95: float | None
    lanes: int

    def in_percent(self) -> str:
        """With its interval."""
        more = "" if self.ci95 is None else f" +- {100 * self.ci95:.1f}"
        return f"{100 * self.mean:.1f}{more} %"


class ProbedShares(ContractModel):
    """What load does to shares on a testbed.

    Attributes:
        margin: The largest difference from `few` with which a number of lanes passes.
        few: With two lanes side by side.
        most: With the largest number of lanes that passed; null: none did.
        virtual: In virtual time, which has no load; null: no guest's kernel is built here.
    """

    margin: float
    few: LoneShare
    most: LoneShare | None = None
    virtual: LoneShare | None = None


class LevelAttempt(ContractModel):
    """One attempt at a number of lanes side by side.

    Attributes:
        rate_bps: Sum of their rates.
        passed: Whether every gate of every lane passed, and the lone flow's share is that of a
            few lanes.
        valid_lanes: Lanes whose gates all passed.
        failed: Gate -> lanes that failed it.
        reason: The first failure, or what ended the attempt early; empty when it passed.
        lateness: Of all lanes; null where no lane finished.
        round_trip_error: Of all lanes; null where no lane finished.
        lone_shares: What the lone CUBIC flow got in each lane, 0 to 1.
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
    lone_shares: tuple[float, ...] = ()
    together_s: float = 0.0
    cores: tuple[CoreShares, ...] = ()


class Stalls(ContractModel):
    """Pauses that the machine itself causes on a core that does nothing but read the clock.

    Attributes:
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


class CalibrationCheck(Gate):
    """One check of a calibration.

    Attributes:
        setting: What it was measured at, such as `100mbit` or `100kB`.
    """

    setting: str


class Certificate(ContractModel):
    """What `nashbed calibrate` measured of a testbed.

    Attributes:
        format: Version of this layout.
        testbed: Name of the testbed.
        testbed_digest: SHA-256 of the testbed file; when it changes, the certificate expires.
        target: Name of the target.
        artefact_digest: Digest of the calibrated P4 artefact; likewise.
        dataplane_version: Version of the calibrated data plane; likewise.
        created_utc: Wall-clock time (ISO 8601).
        load: The load generator, with its version.
        passed: Whether all checks passed.
        checks: The checks.
        software: Component -> version.
        git: Commit and whether the tree was clean; empty outside a git checkout.
        kernel: Kernel release and version.
        cpu: CPU model and number of cores.
        host: More facts about the machine.
        capacity: What the testbed can carry with all gates passing and shares unchanged; null: not
            measured.
        shares: What load did to shares meanwhile; null likewise.
    """

    format: Literal[1] = CERTIFICATE_FORMAT
    testbed: str
    testbed_digest: str
    target: str
    artefact_digest: str
    dataplane_version: str
    created_utc: str
    load: dict[str, str]
    passed: bool
    checks: tuple[CalibrationCheck, ...]
    software: dict[str, str]
    git: dict[str, str]
    kernel: str
    cpu: str
    host: JsonObject
    capacity: Capacity | None = None
    shares: ProbedShares | None = None


class Standing(ContractModel):
    """What a testbed's certificate is worth for a run.

    Attributes:
        state: `certified`; `exact`: in virtual time, which needs no calibration; `failed`: a check
            did not pass; `expired`: something has changed since; `none`: never calibrated.
        detail: One line for a person.
        digest: SHA-256 of the certificate; empty without one.
        age_s: Age of the certificate in s; null without one.
        dataplane_version: Version of the calibrated data plane.
        artefact_digest: Digest of the calibrated P4 artefact, as the target reported it.
        capacity: What the testbed can carry; null: not measured.
    """

    state: CertificateState
    detail: str
    digest: str = ""
    age_s: float | None = None
    dataplane_version: str = ""
    artefact_digest: str = ""
    capacity: Capacity | None = None

    @property
    def doubt(self) -> str:
        """Why the testbed is not to be believed, in one line; empty: it is."""
        return "" if self.state in BELIEVED else self.detail

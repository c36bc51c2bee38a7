"""Settings whose equilibrium was measured, and where on a map they belong."""

from collections.abc import Sequence
from pathlib import Path

from nashbed.controlplane.contract.course import starts_label
from nashbed.controlplane.contract.model import ContractModel, Number
from nashbed.controlplane.contract.trial import scenario_at
from nashbed.controlplane.contract.units import NS_PER_S, PACKET_BYTES
from nashbed.controlplane.store.finished_run import open_run

from ..models.equilibrium_files import PublishedEquilibrium, read_published
from ..nash.of_run import SettingEquilibria, equilibria_of_run
from .plane import IPERF3, MapAxis, MapPlane

PUBLISHED = "Srivastava et al. 2023"
PUBLISHED_S = 120.0
SAME = 0.05
"""Relative difference up to which two values of a quantity count as the same."""


class KnownSetting(ContractModel):
    """A setting whose equilibrium was measured, in base units.

    Attributes:
        source: Paper, or the run's name.
        published: Whether it is a paper's rather than our own.
        duration_s: How long they competed, in seconds.
        start: How they started, as `starts_label` has it.
        share: Part of the flows that runs BBR at the equilibrium; of several the middle.
    """

    source: str
    published: bool
    rate_bps: Number
    base_rtt_s: float
    buffer_bdp: Number
    flows: int
    duration_s: Number
    start: str
    share: float

    @property
    def bdp_per_flow(self) -> float:
        """BDP per flow in full packets."""
        return self.rate_bps * self.base_rtt_s / 8 / self.flows / PACKET_BYTES

    def value(self, name: str) -> float:
        """A quantity by the name of its axis, in its base unit."""
        values = {
            "buffer": self.buffer_bdp,
            "bdp-per-flow": self.bdp_per_flow,
            "rate": self.rate_bps,
            "base_rtt": self.base_rtt_s,
            "flows": float(self.flows),
        }
        return values[name]


class PlacedSetting(KnownSetting):
    """A measured setting on a map.

    Attributes:
        bdp_per_flow_packets: Its BDP per flow in full packets.
        x: Its place, in the axis' base unit.
        differs: Quantities of the map at this place from which the setting differs, by name.
    """

    bdp_per_flow_packets: float
    x: Number
    y: Number
    differs: tuple[str, ...]


def published_settings(path: Path) -> list[KnownSetting]:
    """The published equilibria.

    Args:
        path: A CSV file with the columns of fabric_equilibria.csv.

    Raises:
        RunError: The file is missing, has other columns, or a cell is no number.
    """
    return [_published(each) for each in read_published(path)]


def _published(found: PublishedEquilibrium) -> KnownSetting:
    middle = (found.cubic[0] + found.cubic[-1]) / 2
    return KnownSetting(
        source=PUBLISHED,
        published=True,
        rate_bps=found.key.rate_mbps * 1e6,
        base_rtt_s=found.key.base_rtt_ms / 1e3,
        buffer_bdp=found.key.buffer_bdp,
        flows=found.key.flows,
        duration_s=PUBLISHED_S,
        start=IPERF3,
        share=1 - middle / found.key.flows,
    )


def run_settings(run_dir: Path) -> list[KnownSetting]:
    """The equilibria of a run of ours: settings of CUBIC and BBR, one base RTT, drop-tail, no loss.

    Raises:
        RunError: It is not a readable run.
    """
    run = open_run(run_dir)
    settings = []
    for each in equilibria_of_run(run_dir):
        share = _share_of_bbr(each)
        if share is None:
            continue
        setting, scenario = each.setting, scenario_at(run.scenario, each.setting)
        settings.append(
            KnownSetting(
                source=scenario.name,
                published=False,
                rate_bps=setting.rate_bps,
                base_rtt_s=setting.base_rtt_ns[0] / NS_PER_S,
                buffer_bdp=setting.buffer_bdp,
                flows=each.flows,
                duration_s=scenario.longest.seconds,
                start=starts_label(scenario.starts()),
                share=share,
            )
        )
    return settings


def _share_of_bbr(found: SettingEquilibria) -> float | None:
    """Part of the flows that runs BBR where the lead surely ends, or at the means' equilibria."""
    setting = found.setting
    if set(found.strategies) != {"cubic", "bbr"} or len(set(setting.base_rtt_ns)) > 1:
        return None
    if (
        found.table.pairs
        or setting.random_loss_ppb
        or not setting.is_droptail
        or not setting.is_plain
    ):
        return None
    if setting.rtt_range_ns or setting.back:
        return None
    ends = () if found.ends is None else found.ends.intervals
    second = [interval.at for interval in ends if interval.sure and interval.at is not None]
    if not second:
        index = 1
        second = [sum(group[index] for group in v.state) for v in found.equilibria]
    if not second:
        return None
    share = (min(second) + max(second)) / 2 / found.flows
    return share if found.strategies[1] == "bbr" else 1 - share


def place_settings(plane: MapPlane, settings: Sequence[KnownSetting]) -> list[PlacedSetting]:
    """The settings that belong on a map.

    What an equilibrium follows first are the buffer in BDP and the BDP per flow. A setting
    belongs where it has both as the map has them there; where base RTT, flows, the length of the
    trials or their start are others, the place says so.
    """
    placed = (_place(plane, setting) for setting in settings)
    return [each for each in placed if each is not None]


def _place(plane: MapPlane, setting: KnownSetting) -> PlacedSetting | None:
    x, y = setting.value(plane.x.kind.name), setting.value(plane.y.kind.name)
    if not (_within(x, plane.x) and _within(y, plane.y)):
        return None
    there = plane.question(x, y)
    per_flow = there.bdp_bytes / there.flows / PACKET_BYTES
    if not (_same(there.buffer_bdp, setting.buffer_bdp) and _same(per_flow, setting.bdp_per_flow)):
        return None
    pairs = {
        "base RTT": (there.base_rtt_s, setting.base_rtt_s),
        "flows": (there.flows, setting.flows),
        "duration": (there.duration_s, setting.duration_s),
    }
    differs = tuple(name for name, (here, theirs) in pairs.items() if not _same(here, theirs))
    if setting.start != plane.start:
        differs += ("start",)
    return PlacedSetting(
        **vars(setting), bdp_per_flow_packets=setting.bdp_per_flow, x=x, y=y, differs=differs
    )


def _within(value: float, axis: MapAxis) -> bool:
    """Whether a value is on an axis; its ends are taken as exact to rounding."""
    return axis.low * (1 - 1e-9) <= value <= axis.high * (1 + 1e-9)


def _same(first: float, second: float) -> bool:
    return abs(first - second) <= SAME * max(abs(first), abs(second))

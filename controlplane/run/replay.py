"""A capture through the bottleneck in virtual time, with the same tables as a trial."""

import json
from pathlib import Path

from ..config import Loaded
from ..contract.errors import ConfigError, HostError, TargetError
from ..contract.messages.message import read_message
from ..contract.messages.replay import ReplaySummary
from ..contract.model import JsonObject
from ..contract.scenario import Scenario
from ..contract.shared import CONSTANTS
from ..machine.c_files.finding import find_disciplines
from ..machine.c_files.loadable import loadable_bottleneck
from ..machine.host.programs import run_dataplane
from ..machine.paths import REPLAY, built, spec
from ..plan.sweep import scenario_settings
from ..store.errors import disk_errors
from ..store.postcards import read_postcards, say_queues, write_postcards
from ..store.raw_files import LaneClock
from ..store.staging import whole_folder
from ..store.tables import write_counters
from ..targets.dpdk import replay_config

RAW = CONSTANTS.postcards_file
SUMMARY = CONSTANTS.summary_file


def replay(capture: Path, scenario: Loaded[Scenario], out: Path) -> ReplaySummary:
    """Replay a capture; returns the data plane's summary.

    Args:
        scenario: Says rate, buffer and overhead; it must have one setting.
        out: Made, or replaced when it holds an earlier replay.

    Raises:
        ConfigError: The capture or the scenario cannot be replayed.
    """
    if not capture.is_file():
        raise ConfigError(f"{capture}: no such capture file")
    settings = scenario_settings(scenario.model)
    if len(settings) != 1:
        raise ConfigError(
            f"{scenario.name}: sweep: makes {len(settings)} settings; a replay needs exactly one"
        )
    if settings[0].queues is not None:
        raise ConfigError(
            f"{scenario.name}: bottleneck.queues: a replay has one queue; use a scenario without"
        )
    if not settings[0].is_plain:
        raise ConfigError(
            f"{scenario.name}: bottleneck: a capture has no common start, from which changes, a "
            "trace or a token bucket would count; use a scenario without"
        )
    program = loadable_bottleneck(settings[0], find_disciplines(scenario))
    _refuse_foreign(out)
    with disk_errors(out), whole_folder(out) as made:
        return _into(capture, replay_config(spec(), program), made)


def _refuse_foreign(out: Path) -> None:
    if not out.parent.is_dir():
        raise HostError(f"{out.parent}: no such folder; make it or use another --out")
    if out.exists() and not (out / SUMMARY).is_file() and (not out.is_dir() or any(out.iterdir())):
        raise HostError(f"{out}: exists and is not an earlier replay; use another --out")


def _into(capture: Path, config: JsonObject, folder: Path) -> ReplaySummary:
    config_file = folder / "dataplane.json"
    config_file.write_text(json.dumps(config, indent=1) + "\n")
    program = [str(built(REPLAY)), "--config", str(config_file)]
    run_dataplane([*program, "--capture", str(capture), "--out", str(folder)])
    summary = _summary(folder / SUMMARY)
    if 0 < summary.packets == summary.not_looked_at.total:
        raise ConfigError(
            f"{capture}: none of its {summary.packets} packets was looked at, because "
            f"{summary.not_looked_at.why}; a replay needs TCP or UDP over IPv4 or IPv6, captured "
            "with all headers"
        )
    clock = LaneClock(lane=0, first_flow=0, flows=len(summary.flows), t0_switch_ns=0)
    marks = any(batch.marks.any() for batch in read_postcards(folder / RAW, clock))
    write_postcards(
        folder,
        read_postcards(folder / RAW, clock),
        marks=marks,
        queues=say_queues(folder / RAW),
    )
    write_counters(folder, summary.registers, marks=marks)
    (folder / RAW).unlink()
    return summary


def _summary(path: Path) -> ReplaySummary:
    try:
        content = path.read_bytes()
    except OSError as error:
        raise TargetError(f"{path}: the data plane wrote no summary ({error})") from error
    return read_message(ReplaySummary, content, f"{path}: the data plane's summary")

"""What the page says, as plain data for the template."""

import base64
import math
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Any

from nashbed.controlplane.contract.model import JsonObject
from nashbed.controlplane.contract.scenario_keys import BinnedPostcards
from nashbed.controlplane.contract.trial import Gate, Setting
from nashbed.controlplane.store.sealed_trial import SealedTrial

from ..clock.of_run import RunTaps
from ..correlation import RunCorrelation
from ..figures.catalogue import DrawnFigure
from ..figures.style import colour_of
from ..measures import RunMeasures
from ..metrics import metric_named
from ..models.accuracy import ModelErrors
from ..nash.of_run import SettingEquilibria
from ..nash.utility import utility_text
from ..results.frames import BOUNDS, MIXES, ON_PAGE
from ..results.summary import RunSummary
from ..sharing.of_run import RunSharing
from ..state import mix_state, state_text
from ..text import (
    NONE,
    duration_text,
    number,
    rate_text,
    shown,
    size_text,
)
from .correlation import correlation_context
from .first_screen import first_screen, picture_of, setting_name
from .hosts import hosts_context
from .limits import limits
from .models import models_context
from .sharing import sharing_context
from .taps import taps_context
from .testbeds import testbeds_context

NS_PER_MS = 1e6
WIDE_FIGURES = frozenset(
    (
        "throughput_by_mix",
        "model_assumptions",
        "panel_by_mix",
        "equilibria_by_buffer",
        "equilibria_by_flows",
        "equilibria_by_duration",
        "by_discipline",
        "bursts_by_memory",
        "around_change",
        "harm",
    )
)
"""Kinds of figures that take a row of the page: small beside another one, they cannot be read."""
DIGEST_DIGITS = 16
"""Length of a digest in a sentence; the full digest is under provenance."""


@dataclass(frozen=True)
class Findings:
    """Everything a report is made of.

    Attributes:
        taps: What captures before and behind the bottleneck say.
    """

    summary: RunSummary
    correlation: RunCorrelation
    taps: RunTaps
    models: ModelErrors
    sharing: RunSharing


def page_context(findings: Findings, figures: Sequence[DrawnFigure]) -> JsonObject:
    """Everything the template shows.

    Args:
        figures: The drawn figures, with an svg file each; it is put into the page.
    """
    measures = findings.summary.measures
    run = measures.run
    picture = picture_of(findings.summary, figures)
    others = [figure for figure in figures if figure is not picture]
    mixes = MIXES.section(findings.summary)
    return {
        "title": run.scenario.title,
        "scenario": run.scenario.name,
        "description": run.scenario.description,
        "first": first_screen(findings.summary),
        "picture": None if picture is None else figure_context(picture, picture.caption),
        "run": run.manifest.run,
        "explore": f"nashbed explore {run.path}",
        "started": _moment(run.manifest.started_utc),
        "status": run.manifest.status,
        "sought": findings.summary.seeks_equilibria,
        "each_alone": all(measures.each_runs_alone(setting) for setting in run.settings),
        "figures": _figures([f for f in others if not f.setting]),
        "facts": _facts(measures),
        "applied": [_applied(measures, setting) for setting in run.settings],
        "mixes": mixes | {"heads": MIXES.heads(findings.summary)},
        "colours": {name: colour_of(name, measures.strategies) for name in measures.strategies},
        "settings": [
            _setting(findings, each, mixes["rows"], others) for each in findings.summary.equilibria
        ],
        "models": models_context(findings.models),
        "correlation": correlation_context(findings.correlation),
        "traffic": [s for s in (f.section(findings.summary) for f in ON_PAGE) if s["rows"]],
        "sharing": sharing_context(measures, findings.sharing),
        "taps": taps_context(findings.taps),
        "testbeds": testbeds_context(findings.summary),
        "acceptance": BOUNDS.section(findings.summary),
        "met": sum(result.passed for result in findings.summary.acceptance),
        "gates": _gate_names(run.trials),
        "trials": [_trial(measures, trial, _gate_names(run.trials)) for trial in run.trials],
        "disturbed": [_disturbed(trial) for trial in run.trials],
        "hosts": hosts_context([trial.record for trial in run.trials]),
        "valid_count": sum(trial.record.valid for trial in run.trials),
        "failures": [failure.model_dump() for failure in run.failures],
        "failures_sentence": run.failures_sentence,
        "damaged": [{"id": d.id, "problem": d.problem} for d in measures.damaged],
        "limits": limits(measures, findings.summary.equilibria),
        "definitions": [
            {"title": m.title, "unit": m.unit, "definition": m.definition, "source": m.source}
            for m in map(metric_named, measures.metrics)
        ],
        "provenance": _provenance(measures),
    }


def _facts(measures: RunMeasures) -> list[tuple[str, str]]:
    scenario = measures.run.scenario
    groups = ", ".join(
        f"{_counts(measures, i) or 'transfers of'} {g.name} ({', '.join(_base_rtts(measures, i))})"
        for i, g in enumerate(scenario.flows)
    )
    own = [measures.scenario_at(setting) for setting in measures.run.settings]
    lengths = ", ".join(dict.fromkeys(str(each.duration) for each in own or [scenario]))
    count = f"{len(measures.trials)} valid of {len(measures.run.trials)} that ran"
    if (planned := measures.run.planned_trials) is not None:
        count += f", {planned} planned"
    repetitions = f"{scenario.trials} of each setting and mix"
    if scenario.equilibrium.search == "adaptive":
        repetitions = f"up to {scenario.trials} of each mix that the search chose"
    return [
        ("Flows", groups),
        ("Congestion controls", ", ".join(_named(measures, s) for s in scenario.strategies)),
        ("Duration", _spaced(f"{lengths}, of which {scenario.warmup} warm-up")),
        ("Repetitions", repetitions),
        ("Utility of a flow", utility_text(scenario.equilibrium.utility)),
        ("Trials", count),
        ("Postcards recorded", _telemetry(measures)),
        *_repeatable(measures),
    ]


def _moment(utc: str) -> str:
    """A time of a manifest to the minute; as it is if it is none."""
    try:
        return f"{datetime.fromisoformat(utc):%Y-%m-%d %H:%M} UTC"
    except ValueError:
        return utc


def _spaced(text: str) -> str:
    """Durations of a scenario with a space before the unit."""
    return re.sub(r"\b([\d.]+)(us|ms|s|min)\b", r"\1 \2", text)


def _counts(measures: RunMeasures, group: int) -> str:
    """The numbers of flows of a flow group in all settings; empty: transfers come instead."""
    known = {measures.scenario_at(s).flows[group].count for s in measures.run.settings}
    return ", ".join(str(count) for count in sorted(known) if count)


def _base_rtts(measures: RunMeasures, group: int) -> list[str]:
    """The base RTTs of a flow group, in all settings."""
    known = {setting.base_rtt_ns[group] for setting in measures.run.settings}
    return [duration_text(ns) for ns in sorted(known)]


def _named(measures: RunMeasures, strategy: str) -> str:
    """A CCA, with the file that it was made of where that is not the kernel's."""
    facts = measures.run.manifest.controls.get(strategy)
    if facts is None:
        return strategy
    return f"{strategy} ({facts.source}, digest {facts.digest[:DIGEST_DIGITS]})"


def _repeatable(measures: RunMeasures) -> list[tuple[str, str]]:
    """What a run in virtual time is a function of, and how to see that it is."""
    run, manifest = measures.run, measures.run.manifest
    if not manifest.repeatable:
        return []
    kernels = [
        f"kernel {kernel.release} (digest {kernel.digest[:DIGEST_DIGITS]})"
        for kernel in manifest.guest_kernels.values()
    ]
    parts = ", ".join([f"seed {manifest.seed}", *kernels])
    return [("Repeatable", f"{parts}; `nashbed verify {run.path}` runs trials again")]


def _telemetry(measures: RunMeasures) -> str:
    postcards = measures.run.scenario.telemetry.postcards
    return (
        f"sums over {postcards.bins}" if isinstance(postcards, BinnedPostcards) else "every packet"
    )


def _applied(measures: RunMeasures, setting: Setting) -> JsonObject:
    done = measures.run.manifest.applied.get(setting.label)
    rate, size = measures.applied_rate(setting), measures.applied_buffer(setting)
    return {
        "setting": setting.label,
        "rate": rate_text(setting.rate_bps),
        "applied_rate": rate_text(rate) if done is not None else NONE,
        "buffer": setting.buffer_label.replace("bdp", " BDP")
        + f" = {size_text(setting.buffer_bytes)}"
        + (", by trains" if setting.arrive_as == "trains" else ""),
        "applied_buffer": size_text(size) if done is not None else NONE,
        "overhead": f"{setting.overhead_bytes} B",
        "rtt": ", ".join(duration_text(ns) for ns in setting.base_rtt_ns),
        "differs": rate != setting.rate_bps or size != setting.buffer_bytes,
    }


def _setting(
    findings: Findings,
    equilibria: SettingEquilibria,
    mixes: Sequence[JsonObject],
    figures: Sequence[DrawnFigure],
) -> JsonObject:
    measures, label = findings.summary.measures, equilibria.setting.label
    return {
        "label": label,
        "name": setting_name(measures, equilibria.setting),
        "headline": _lead(equilibria),
        "fair_share": number(shown(equilibria.fair_share, "bit/s")),
        "rows": [row for row in mixes if row["setting"] == label],
        "epsilon": f"{equilibria.epsilon:.0%}",
        "figures": _figures([f for f in figures if f.setting == label]),
        "measured": any(cell.trials for cell in measures.cells(equilibria.setting)),
    }


def _lead(equilibria: SettingEquilibria) -> str:
    """The equilibrium in a line; of pairs nothing, for they are in the headline."""
    headline = equilibria.headline()
    return "" if equilibria.table.pairs else replace(headline, notes=()).line()


def _figures(figures: Sequence[DrawnFigure]) -> list[JsonObject]:
    """The figures of a setting; a caption that was given before is not repeated."""
    given: set[str] = set()
    shown_figures = []
    for figure in figures:
        shown_figures.append(
            figure_context(figure, "" if figure.caption in given else figure.caption)
        )
        given.add(figure.caption)
    return shown_figures


def figure_context(figure: DrawnFigure, caption: str) -> JsonObject:
    """A figure with its picture in it."""
    svg = figure.paths["svg"].read_bytes()
    return {
        "name": figure.name,
        "setting": figure.setting,
        "kind": f"{figure.kind} wide" if figure.kind in WIDE_FIGURES else figure.kind,
        "title": figure.title,
        "caption": caption,
        "data": "data:image/svg+xml;base64," + base64.b64encode(svg).decode("ascii"),
    }


def _gate_names(trials: Sequence[SealedTrial]) -> list[str]:
    return list(dict.fromkeys(gate.name for trial in trials for gate in trial.record.gates))


def _trial(measures: RunMeasures, trial: SealedTrial, names: Sequence[str]) -> JsonObject:
    record = trial.record
    settled = {t.trial.id: t.settled for t in measures.trials}
    gates = {gate.name: gate for gate in record.gates}
    state = mix_state(record.mix, measures.strategies)
    return {
        "id": trial.id,
        "mix": state_text(state, measures.strategies, measures.group_names),
        "valid": record.valid,
        "settled": settled.get(trial.id),
        "gates": [_gate(gates.get(name)) for name in names],
        "reasons": record.invalid_reasons,
        "marks": record.marks,
    }


def _disturbed(trial: SealedTrial) -> JsonObject:
    """What the machine did to a trial's frames; durations in ms."""
    found = trial.record.disturbance
    share = found.error_mean_ns / found.round_trip_ns
    return {
        "id": trial.id,
        "valid": trial.record.valid,
        "round_trip": number(found.round_trip_ns / NS_PER_MS),
        "error": f"{number(found.error_mean_ns / NS_PER_MS)} ({number(100 * share, 2)} %)",
        "error_max": number(found.error_max_ns / NS_PER_MS),
        "response": number(found.response_mean_ns / NS_PER_MS) if found.responses else NONE,
        "response_max": number(found.response_max_ns / NS_PER_MS) if found.responses else NONE,
        "pauses": str(found.pauses),
        "paused": number(found.paused_ns / NS_PER_MS),
        "longest": number(found.longest_pause_ns / NS_PER_MS),
    }


def _gate(gate: Gate | None) -> JsonObject:
    if gate is None:
        return {"passed": None, "value": NONE, "detail": "not checked"}
    limit = NONE if gate.limit is None else f"{number(gate.limit)} {gate.unit}"
    return {
        "passed": gate.passed,
        "value": NONE if gate.value is None else f"{number(gate.value)} {gate.unit}".strip(),
        "detail": f"{gate.detail} (bound: {limit})",
    }


def _provenance(measures: RunMeasures) -> list[tuple[str, list[tuple[str, str]]]]:
    manifest = measures.run.manifest
    digests = {
        "scenario": manifest.scenario_digest,
        "testbed": manifest.testbed_digest,
        "P4 artefact": manifest.artefact_digest,
    }
    kernels = {name or "default": k.model_dump() for name, k in manifest.guest_kernels.items()}
    machine = {
        "kernel": manifest.kernel,
        "CPU": manifest.cpu,
        "clock source": manifest.clocksource,
        **_flat(manifest.host),
    }
    return [
        ("Machine", list(_flat(machine).items())),
        ("Software", list(_flat(manifest.software).items())),
        ("Kernels of the hosts", list(_flat(kernels).items())),
        ("Source", list(_flat({**manifest.git, "seed": manifest.seed}).items())),
        ("SHA-256 digests", list(digests.items())),
        ("Ports", list(_flat(manifest.ports).items())),
        ("Sysctls", list(_flat(manifest.sysctls).items())),
    ]


def _flat(values: Mapping[str, Any], prefix: str = "") -> dict[str, str]:
    """Nested mappings as dotted keys, everything else as text."""
    flat: dict[str, str] = {}
    for key, value in values.items():
        name = f"{prefix}{key}"
        if isinstance(value, Mapping):
            flat |= _flat(value, f"{name}.")
        elif isinstance(value, float) and math.isfinite(value):
            flat[name] = number(value, 6)
        else:
            flat[name] = str(value)
    return flat

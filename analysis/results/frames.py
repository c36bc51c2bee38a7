"""The results of a run as frames."""

from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import Any, NoReturn

import polars as pl
from nashbed.controlplane.contract.metrics import DISPLAY, Scope
from nashbed.controlplane.contract.model import JsonObject
from nashbed.controlplane.contract.trial import Gate
from nashbed.controlplane.contract.units import NS_PER_S
from nashbed.controlplane.store.errors import RunError

from ..correlation import correlate_run, correlation_answer
from ..correlation.answer import LedgerAnswer, LedgerRow
from ..frame import MILLISECONDS, PERCENT, PLAIN, SECONDS, Column, Columns, Frame, columns_of
from ..measures import RunMeasures
from ..metrics import METRICS, metric_named
from ..metrics.statistics import Estimate
from ..models.starts import BBR, CUBIC
from ..nash.answer import HeadlineAnswer, VerdictAnswer, equilibria_answer
from ..state import mix_state, state_text, strategy_totals
from ..text import with_interval
from .acceptance import AcceptanceResult
from .changes import responses_of_run
from .harm import YARDSTICKS, harm_of_run, yardsticks
from .published import PUBLISHED
from .summary import RunSummary, SummaryRow
from .transfers import READINGS, transfers_of_run

INTERVALS = (
    "Means over trials, ± half the width of the 95 % interval where n > 2; of two both values."
)
SETTING = Column("setting", "label of the setting", "Setting")
MIX = Column("mix", "the mix, in words", "Mix")
GROUP = Column("group", "the flow group", "Group")
TRIAL = Column("trial", "the trial", "Trial")
STRATEGY = Column("strategy", "the congestion control", "Strategy")
METRIC = Column("metric", "the metric", "Metric", form=lambda name: metric_named(name).title)


def _metrics(scope: Scope) -> Columns[RunSummary]:
    """A column for each metric of a scope."""
    return Columns(
        "each metric of the " + scope,
        "in its base unit; null: not measured",
        lambda summary: [
            _mean_of(name, "") for name in summary.measures.metrics if METRICS[name].scope == scope
        ],
    )


def _mean_of(
    metric: str, title: str, shown: tuple[float, str] | None = None, name: str = "", **how: Any
) -> Column:
    """The mean of a metric over trials; of shares in per cent.

    Args:
        name: The row's key; empty: the metric's name.
    """
    known = METRICS[metric]
    usual = PERCENT if known.unit == "1" else DISPLAY[known.unit]
    return Column(name or metric, known.definition, title, shown or usual, **how)


def _trials(summary: RunSummary) -> Iterator[JsonObject]:
    measures = summary.measures
    counted = {each.trial.id: each for each in measures.trials}
    for trial in measures.run.trials:
        record, setting, measured = trial.record, trial.setting, counted.get(trial.id)
        state = mix_state(record.mix, measures.strategies)
        totals = zip(measures.strategies, strategy_totals(state), strict=True)
        yield {
            **vars(setting), **vars(record.applied), **vars(record),
            "trial": trial.id,
            "setting": setting.label,
            "base_rtt_ns": min(setting.base_rtt_ns),
            "discipline": setting.queue_label,
            "testbed": record.ran_on and record.ran_on.testbed,
            "host": record.ran_on and record.ran_on.host,
            "mix": _mix(measures, state),
            **{f"flows_{name}": count for name, count in totals},
            "counted": measured is not None,
            "settled": measured and measured.settled,
            **dict.fromkeys(measures.metrics),
            **(measured.total if measured else {}),
        }  # fmt: skip


TRIALS = Frame(
    "trials",
    "Trials",
    "sealed trial",
    (
        TRIAL,
        SETTING,
        Column("rate_bps", SummaryRow, kind=pl.Int64),
        Column("buffer_bytes", SummaryRow, kind=pl.Int64),
        Column("buffer_bdp", "the buffer in bandwidth-delay products", kind=pl.Float64),
        Column("base_rtt_ns", "the smallest base RTT", kind=pl.Int64),
        Column("discipline", SummaryRow),
        Column("kernel", SummaryRow),
        Column("testbed", "the testbed that it ran on; null: the run's own"),
        Column("host", "the host that it ran on; null: the run's own"),
        MIX,
        Column("duration_ns", "how long the trial took, from t0", kind=pl.Int64),
        Columns("`flows_<strategy>`", "how many flows run the strategy", lambda summary: [
            Column(f"flows_{name}", "", kind=pl.Int64) for name in summary.measures.strategies
        ]),
        Column("repetition", "number of the repetition, from 0", kind=pl.Int64),
        Column("attempt", "number of its attempt, from 0", kind=pl.Int64),
        Column("valid", "whether it passes every gate", kind=pl.Boolean),
        Column("counted", "whether it is in the means", kind=pl.Boolean),
        Column("settled", "whether its shares had settled; null: not known", kind=pl.Boolean),
        _metrics("trial"),
    ),
    _trials,
)  # fmt: skip


def _flows(summary: RunSummary) -> Iterator[JsonObject]:
    measures = summary.measures
    groups = measures.run.scenario.flows
    for measured in measures.trials:
        setting = measured.trial.setting
        for flow, strategy in enumerate(measured.strategy):
            yield {
                "trial": measured.trial.id,
                "setting": setting.label,
                "flow": flow,
                "group": groups[measured.group[flow]].name,
                "strategy": strategy,
                "base_rtt_ns": setting.base_rtt_ns[measured.group[flow]],
                **dict.fromkeys(measures.metrics),
                **{name: values[flow] for name, values in measured.per_flow.items()},
            }


FLOWS = Frame(
    "flows",
    "Flows",
    "flow of a counted trial",
    (
        TRIAL,
        SETTING,
        Column("flow", "number of the flow", kind=pl.Int64),
        GROUP,
        STRATEGY,
        Column("base_rtt_ns", "its base RTT", kind=pl.Int64),
        _metrics("flow"),
    ),
    _flows,
)


def _estimates(summary: RunSummary) -> Iterator[JsonObject]:
    for row in summary.rows:
        for metric, found in row:
            if metric in METRICS:
                each = found if isinstance(found, dict) else {None: found}
                unit = METRICS[metric].unit
                for strategy, mean in each.items():
                    of = {"strategy": strategy, "metric": metric, "unit": unit}
                    none = {"mean": None, "n": 0, "ci95": None}
                    yield vars(row) | of | (vars(mean) if mean else none)


ESTIMATES = Frame(
    "mixes",
    "Means",
    "setting, mix, metric and, where the metric is of flows, congestion control",
    (
        *columns_of(SummaryRow, {*METRICS, "base_rtt_ns", "counts", "groups"}),
        STRATEGY,
        METRIC,
        Column("unit", "unit of the mean"),
        *columns_of(Estimate, {"points"}),
    ),
    _estimates,
)


def _ledger(summary: RunSummary) -> Iterator[JsonObject]:
    if not {CUBIC, BBR} <= set(summary.measures.strategies):
        return
    for each in correlation_answer(correlate_run(summary.measures)).settings:
        for ledger in each.ledgers:
            shares = {f"bbr_share_{name}": share for name, share in ledger.predicted}
            shares["bbr_share_all_measured"] = ledger.replaced
            for entry in ledger.entries:
                yield vars(ledger) | shares | vars(entry) | {"setting": each.setting}


LEDGER = Frame(
    "ledger",
    "Ledger of Mishra's model",
    "setting, mix and assumption, in runs of CUBIC and BBR",
    (
        SETTING,
        MIX,
        Column("bbr_share", LedgerAnswer, kind=pl.Float64),
        Column("bbr_share_all_measured", "the share by the model with every measured value in its "
               "place; null: not known", kind=pl.Float64),
        Column("bbr_share_synchronised", "the share by the model's one bound", kind=pl.Float64),
        Column("bbr_share_desynchronised", "the share by its other bound", kind=pl.Float64),
        *columns_of(LedgerRow),
    ),
    _ledger,
)  # fmt: skip


def _mixes(summary: RunSummary) -> Iterator[JsonObject]:
    measures = summary.measures
    cells = (cell for each in summary.equilibria for cell in measures.cells(each.setting))
    for row, cell in zip(summary.rows, cells, strict=True):
        yield vars(row) | {
            "equilibrium": _verdict(row),
            "trials": _trials_text(row, measures.run.scenario.trials),
            **{f"throughput {name}": mean for name, mean in row.per_flow_throughput.items()},
            **{f"marks {name}": cell.estimate("per_flow_mark_rate", name)
               for name in measures.strategies},
            **{f"groups {name}": _by_group(row, name) for name in measures.strategies},
        }  # fmt: skip


def _verdict(row: SummaryRow) -> str:
    if row.equilibrium or row.epsilon_equilibrium:
        return "yes" if row.equilibrium else "nearly"
    return "undecided" if row.equilibrium is None else "no"


def _trials_text(row: SummaryRow, planned: int) -> str:
    """Valid trials of those planned, with signs for those that a reader should know of."""
    invalid = f" ({row.trials_invalid} invalid)" if row.trials_invalid else ""
    moving = f" ~{row.trials_unsettled}" if row.trials_unsettled else ""
    marked = f" !{row.trials_marked}" if row.trials_marked else ""
    return f"{row.trials_valid}/{planned}{invalid}{moving}{marked}"


def _by_group(row: SummaryRow, strategy: str) -> str:
    """Throughput of a strategy's flows in each of several groups that has any, in Mbit/s."""
    means = {group.group: group.per_flow_throughput[strategy] for group in row.groups
             if group.counts.get(strategy)}  # fmt: skip
    each = (
        f"{name} {with_interval(mean and mean.scaled(1e-6))[0]}" for name, mean in means.items()
    )
    return f"({', '.join(each)})" if means else ""


def _sought(summary: RunSummary) -> Iterator[Column]:
    """What a run says of equilibria, if it says anything."""
    if summary.seeks_equilibria:
        over = next((each.over for each in summary.equilibria), "")
        about = "whether it is one: `yes`, `nearly` (of epsilon), `no` or `undecided`"
        yield Column("equilibrium", about, f"Equilibrium{over}", brief=True)
        if any(row.probability is not None for row in summary.rows):
            yield Column("probability", SummaryRow, "Probability", PERCENT)
        yield Column("gain_of_fair_share", SummaryRow, "Gain", PERCENT)


def _marked(summary: RunSummary) -> Iterator[Column]:
    if any(row.mark_rate for row in summary.rows):
        for name in summary.measures.strategies:
            yield _mean_of("per_flow_mark_rate", name, name=f"marks {name}", over="Marked")


MIXES = Frame(
    "mixes",
    "Mixes",
    "setting and mix",
    (
        replace(SETTING, brief=True),
        replace(MIX, brief=True),
        Columns("equilibrium", "whether the mix is one, and what a switch gains", _sought),
        Column("trials", "valid trials of those planned", "Valid", PLAIN, brief=True),
        Columns("throughput", "of each congestion control", lambda summary: [
            _mean_of("per_flow_throughput", name, name=f"throughput {name}",
                     over="Throughput per flow", brief=True, more=f"groups {name}")
            for name in summary.measures.strategies
        ]),
        _mean_of("mean_queueing_delay", "mean", over="Queueing delay", brief=True),
        _mean_of("p95_queueing_delay", "p95", over="Queueing delay"),
        _mean_of("utilisation", "Utilisation", brief=True),
        _mean_of("jain_index", "Jain", PLAIN),
        _mean_of("loss_rate", "Loss"),
        Columns("marks", "of each congestion control, where there are any", _marked),
        _mean_of("retransmit_share", "Retransmits"),
    ),
    _mixes,
    "Means over valid trials, ± half the width of the 95 % interval (Student t) where n > 2; of "
    "two trials both values, for they make no interval. Valid: valid trials of those planned; ~: "
    "of these had not settled; !: of these have a mark. Gain: the largest gain of a single flow "
    "that switches, as a percentage of the fair share. Probability: the probability that the mix "
    "is the equilibrium, from the place where the fitted lead ends (crosses zero). p95: 95th "
    "percentile. Marked: packets in which the queue set CE (congestion experienced), of those "
    "that left; a mark is no loss.",
)  # fmt: skip


def _harm(summary: RunSummary) -> Iterator[JsonObject]:
    found = harm_of_run(summary.measures)
    for each in found:
        held = yardsticks(each, found)
        others = {"own": held.get(each.victim)} | {name: held.get(name) for name in YARDSTICKS}
        yield vars(each) | {
            "setting": each.setting.label,
            "unit": metric_named(each.metric).unit,
            **{
                f"against_{name}": None if other in (None, each) else each.against(other)
                for name, other in others.items()
            },
        }


HARM = Frame(
    "harm",
    "Harm",
    "setting, metric of the victim, and strategy beside it",
    (
        SETTING,
        Column("victim", "the victim: a strategy, or a flow group"),
        Column("by", "the strategy of the flows beside it", "Beside"),
        METRIC,
        Column("unit", "unit of the next two", "Unit", form=lambda unit: DISPLAY[unit][1]),
        Column("alone", "the victim's metric alone", "Alone", "unit"),
        Column("beside", "the same beside them", "Beside them", "unit"),
        Column("harm", "the harm: its mean over the trials", "Harm", PLAIN,
               parts={"n": "n", "ci95": "ci95"}),
        Column("against_own", "whether it is `less`, `as much` or `more` than what the victim's "
               "own kind does; null: not known", "Than by its own kind", PLAIN, kind=pl.String),
        Column("against_cubic", "likewise, than what CUBIC does", "Than by CUBIC", PLAIN,
               kind=pl.String),
        Column("against_reno", "likewise, than what Reno does", "Than by Reno", PLAIN,
               kind=pl.String),
    ),
    _harm,
    "Harm by Ware et al. (HotNets 2019): (alone - beside) / alone where more is better, (beside - "
    "alone) / beside where less is better. 0: none; 1: all of it; below 0: a benefit. Each "
    "repetition is held against the same repetition alone. More, less than by others: the 95 % "
    f"intervals do not touch; else as much. {INTERVALS}",
    "harm takes a victim alone and beside others; write `sweep: {mixes: {harm_to: cubic}}` into "
    "the scenario",
)  # fmt: skip


def _changes(summary: RunSummary) -> Iterator[JsonObject]:
    for each in responses_of_run(summary.measures):
        yield vars(each) | {
            "setting": each.setting.label,
            "mix": _mix(summary.measures, each.state),
            "change": each.number,
            "at_s": each.change.at_ns / NS_PER_S,
            "what": each.change.text,
            "until_next_s": each.length_ns / NS_PER_S,
        }


CHANGES = Frame(
    "changes",
    "After changes of the path",
    "setting, mix, change within the measured window, and flows that converge",
    (
        SETTING,
        MIX,
        Column("change", "number of the change, from 0", kind=pl.Int64),
        Column("at_s", "when it comes", "At", SECONDS),
        Column("what", "what changes", "Change"),
        Column("until_next_s", "time to the next change", "Until the next", SECONDS),
        GROUP,
        Column("strategy", "whose flows converge; null: new capacity is used", "Strategy"),
        METRIC,
        Column("time_s", "mean over the trials in which it came", "Time", SECONDS,
               parts={"ci95": "ci95"}),
        Column("trials", "trials", "Trials", PLAIN, kind=pl.Int64),
        Column("known", "trials in which it came", "In which it came", PLAIN, kind=pl.Int64),
    ),
    _changes,
    "Converged: from then on throughput, in windows of a tenth of the time to the next change, "
    "stays within 10 % of its mean in the second half of that time. Capacity used: the first "
    "window of ten base RTTs in which 90 % of what the link can carry left the queue. Means over "
    "the trials in which it came, ± half the width of the 95 % interval.",
    "no path changes within the measured window; write `bottleneck: {changes: [{at: 30s, rate: "
    "10mbit}]}`",
)  # fmt: skip


def _transfers(summary: RunSummary) -> Iterator[JsonObject]:
    for each in transfers_of_run(summary.measures):
        mix = _mix(summary.measures, each.state)
        yield vars(each) | {"setting": each.setting.label, "mix": mix, **each.readings}


_ON_PAGE = {"mean_s": "Time, mean", "median_s": "median", "p99_s": "99th percentile",
            "median_slowdown": "Slowdown, median", "p95_slowdown": "95th percentile",
            "p99_slowdown": "99th percentile"}  # fmt: skip
TRANSFERS = Frame(
    "completions",
    "Transfers",
    "setting, mix, flow group, strategy and size class of transfers",
    (
        SETTING,
        MIX,
        GROUP,
        STRATEGY,
        Column("sizes", "the size class", "Size"),
        Column("transfers", "how many arrived", "Transfers", PLAIN, kind=pl.Int64),
        Column("unfinished", "how many were not completed", "Not completed", PLAIN, kind=pl.Int64),
        *(
            Column(name, f"{name.rsplit('_', 1)[0]} of the "
                   + ("completion time" if name.endswith("_s") else "slowdown")
                   + "; null: not known",
                   _ON_PAGE.get(name, ""), MILLISECONDS if name.endswith("_s") else PLAIN,
                   parts={"ci95": f"{name}_ci95"})
            for name in READINGS
        ),
    ),
    _transfers,
    "Of transfers that arrived in the measured windows, their last tenth excepted, from the "
    "planned arrival to the last byte at the sink. Slowdown: by the time that the transfer would "
    "have alone on its path. A percentile among transfers that were not completed is not known; "
    f"means are of those that were. {INTERVALS}",
    "no flow group has finite transfers; write `arrivals` and `size`",
)  # fmt: skip
_MEDIA = {"one_way_delay": "One-way delay, mean", "median_one_way_delay": "median",
          "p95_one_way_delay": "95th percentile", "p99_one_way_delay": "99th percentile",
          "datagram_loss_rate": "Lost"}  # fmt: skip


def _media(summary: RunSummary) -> Iterator[JsonObject]:
    measures = summary.measures
    for cell in measures.all_cells:
        mix = _mix(measures, cell.state)
        for index, group in enumerate(measures.run.scenario.flows):
            found = {name: cell.estimate(name, group=index) for name in _MEDIA}
            if any(found.values()):
                yield {"setting": cell.setting.label, "mix": mix, "group": group.name, **found}


MEDIA = Frame(
    "media",
    "Media",
    "setting, mix and flow group that sends datagrams",
    (
        SETTING,
        MIX,
        GROUP,
        *(_mean_of(name, title, parts={"ci95": f"{name}_ci95"}) for name, title in _MEDIA.items()),
    ),
    _media,
    "Of datagrams that were sent in the measured windows: delays of those that arrived, and the "
    f"share that did not. Mean over the flows of a group. {INTERVALS}",
    "no flow group sends datagrams; write `udp`",
)  # fmt: skip


def _equilibria(summary: RunSummary) -> Iterator[JsonObject]:
    for found in summary.equilibria:
        game = equilibria_answer(found)
        settled = {"setting": found.setting.label, "settled": not found.not_settled}
        nearly = (each for each in game.epsilon_equilibria if each not in game.equilibria)
        for answer, those in (("yes", game.equilibria), ("nearly", nearly)):
            for each in those:
                yield vars(each) | settled | {"mix": each.text, "equilibrium": answer}


EQUILIBRIA = Frame(
    "equilibria",
    "Nash equilibria",
    "setting and equilibrium",
    (
        SETTING,
        MIX,
        Column("equilibrium", "`yes`, or `nearly`: of epsilon alone", "Equilibrium"),
        Column("gain_bps", VerdictAnswer, kind=pl.Float64),
        Column("gain_of_fair_share", VerdictAnswer, "Gain", PERCENT),
        Column("probability", VerdictAnswer, "Probability", PERCENT),
        Column("settled", HeadlineAnswer, "Settled", kind=pl.Boolean,
               form=lambda settled: "yes" if settled else "NO"),
    ),
    _equilibria,
    lacking="it has no equilibrium yet, or its scenario seeks none",
)  # fmt: skip


def _gates(summary: RunSummary) -> Iterator[JsonObject]:
    measures = summary.measures
    for trial in measures.run.trials:
        mix = _mix(measures, mix_state(trial.record.mix, measures.strategies))
        for gate in trial.record.gates:
            yield vars(gate) | {"setting": trial.setting.label, "mix": mix, "trial": trial.id}


GATES = Frame(
    "gates",
    "Validity gates",
    "sealed trial and gate",
    (
        SETTING,
        MIX,
        TRIAL,
        Column("name", Gate, "Gate"),
        Column("passed", Gate, "Passed", kind=pl.Boolean, form=lambda x: "yes" if x else "NO"),
        Column("value", Gate, "Value", PLAIN),
        Column("limit", Gate, "Limit", PLAIN),
        Column("unit", Gate, "Unit"),
        Column("detail", Gate),
    ),
    _gates,
)  # fmt: skip


def _bounds(summary: RunSummary) -> Iterator[JsonObject]:
    return (vars(each) | {"open": each.open_to} for each in summary.acceptance)


BOUNDS = Frame(
    "bounds",
    "Acceptance",
    "acceptance bound and setting",
    (
        SETTING,
        Column("metric", AcceptanceResult),
        Column("description", AcceptanceResult, "What"),
        Column("value", AcceptanceResult, "Value", PLAIN, more="open"),
        Column("low", AcceptanceResult, "Least", PLAIN),
        Column("high", AcceptanceResult, "Most", PLAIN),
        Column("unit", AcceptanceResult, "Unit"),
        Column("verdict", AcceptanceResult, "Verdict"),
        Column("detail", AcceptanceResult, "From"),
    ),
    _bounds,
    lacking="the scenario has no `acceptance`",
)

ON_PAGE = (HARM, CHANGES, TRANSFERS, MEDIA)
"""Those with a section of the report where a run has any, in its order."""
FRAMES = {frame.name: frame for frame in (*ON_PAGE, EQUILIBRIA, GATES, BOUNDS, PUBLISHED)}
"""Those that are exported when they are asked for."""
FLAT = (TRIALS, FLOWS, ESTIMATES, LEDGER)
"""Those that are always exported."""


def made_table(summary: RunSummary, name: str) -> pl.DataFrame:
    """One of FRAMES of a run, in base units.

    Raises:
        RunError: There is no such frame, or the run has none of it.
    """
    frame = _frame(name, FRAMES)
    table = frame.table(summary)
    return table if table.height else _refuse(summary, frame)


def made_section(summary: RunSummary, name: str, brief: bool = False) -> JsonObject:
    """One of FRAMES, or the mixes, as a page shows it."""
    frame = _frame(name, {MIXES.name: MIXES} | FRAMES)
    section = frame.section(summary, brief)
    return section if section["rows"] or frame is MIXES else _refuse(summary, frame)


def _frame(name: str, known: Mapping[str, Frame[RunSummary]]) -> Frame[RunSummary]:
    if name not in known:
        raise RunError(f"there is no table {name!r}; there are {', '.join(known)}")
    return known[name]


def _refuse(summary: RunSummary, frame: Frame[RunSummary]) -> NoReturn:
    raise RunError(f"{summary.measures.run.path}: {frame.lacking}")


def _mix(measures: RunMeasures, state: tuple[tuple[int, ...], ...]) -> str:
    return state_text(state, measures.strategies, measures.group_names)

"""Measured mixes that models are held against: published ones, and those of a run."""

from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from nashbed.controlplane.contract.trial import Setting
from nashbed.controlplane.contract.units import PACKET_BYTES
from nashbed.controlplane.store.errors import RunError

from ..measures import Cell, RunMeasures, measure_run
from ..nash.equilibria import judge_all
from ..nash.game import PayoffTable, two_strategy_table
from ..nash.of_run import payoff_table
from ..nash.utility import throughput
from ..state import State, strategy_totals
from .accuracy import MeasuredGame, MeasuredMix
from .asked import problem_of, question_of, started_by_iperf3
from .competition import Competition, cubic_against
from .mix_files import MixRow, read_rows
from .starts import BBR, CUBIC, Starts

METRIC = "per_flow_throughput"
Questions = Callable[[int], Competition]
"""BBR flows -> the question of that mix."""

DRAWN_MIXES = 25
"""Most mixes of a setting for which models are evaluated: simulations take time."""

PUBLISHED_WINDOW_BYTES = 1800 * PACKET_BYTES
"""Most that a flow of the published trials had in flight, about. Their hosts had Ubuntu's socket
buffers: of tcp_rmem's 6 MiB half is offered as window, 2,172 packets, and of tcp_wmem's 4 MiB the
kernel's overhead goes off. With both, our hosts had 1,613 packets in flight, and up to 1,925 sent
and not acknowledged while losses were mended (panel-500mbit-short)."""


@dataclass(frozen=True)
class MeasuredMixes:
    """Measured mixes and what had to be left out.

    Attributes:
        mixes: The mixes with both CCAs in them.
        left_out: Why mixes were left out -> how many.
        games: The settings whose equilibria are known.
    """

    source: str
    mixes: tuple[MeasuredMix, ...]
    left_out: dict[str, int]
    games: tuple[MeasuredGame, ...] = ()


def measured_mixes(path: Path) -> MeasuredMixes:
    """Read measured mixes.

    Args:
        path: A run directory, or a CSV file with the columns of fabric_mixes.csv.

    Raises:
        RunError: It cannot be read, or holds no mix that a model could be held against.
    """
    measured = mixes_of_measures(measure_run(path)) if path.is_dir() else mixes_of_file(path)
    if not measured.mixes:
        why = "; ".join(
            f"{count} left out: {reason}" for reason, count in measured.left_out.items()
        )
        raise RunError(f"{path}: no mix of cubic and bbr to compare with ({why or 'it is empty'})")
    return measured


def mixes_of_file(path: Path, cca: str = BBR) -> MeasuredMixes:
    """The measured mixes of a file, without the invalid ones.

    Args:
        path: A CSV file with the columns of fabric_mixes.csv; see `published_mixes.read_rows`.
        cca: The CCA beside CUBIC.

    Raises:
        RunError: The file cannot be read.
    """
    rows = read_rows(path)
    problems = Counter(problem for row in rows if (problem := _problem_of_row(row, cca)))
    mixes = tuple(_mix_of_row(row) for row in rows if _compared(row, cca))
    games = tuple(_games_of_rows(rows)) if cca == BBR else ()
    return MeasuredMixes(str(path), mixes, dict(problems), games)


def _problem_of_row(row: MixRow, cca: str) -> str | None:
    """Why no model can be held against a row that has flows of two CCAs."""
    if row.cca != cca:
        return f"it has {row.cca} flows"
    return "invalid: the total is above 1.05 of the rate" if row.invalid else None


def _compared(row: MixRow, cca: str) -> bool:
    both = 0 < row.second < row.key.flows and row.cubic_mbps + row.second_mbps > 0
    return both and _problem_of_row(row, cca) is None


def _mix_of_row(row: MixRow) -> MeasuredMix:
    share = row.second_mbps / (row.cubic_mbps + row.second_mbps)
    return MeasuredMix(_question_of_row(row, row.second), share, row.key.buffer_bdp)


def _question_of_row(row: MixRow, second: int) -> Competition:
    """What models are asked about a mix that ran as a row did."""
    key = row.key
    rate_bps, rtt_s = key.rate_mbps * 1e6, key.base_rtt_ms / 1e3
    size = key.buffer_bdp * rate_bps * rtt_s / 8
    game = cubic_against(rate_bps, rtt_s, size, key.flows - second, second, row.cca, row.duration_s)
    course = row.course
    if course is None:  # as the published mixes ran
        return started_by_iperf3(game.limited(PUBLISHED_WINDOW_BYTES))
    starts = Starts(
        course.cubic_start_s, course.second_start_s, course.start_spread_s, course.connecting_s
    )
    return game.started(starts, course.measured_from_s).limited(course.window_bytes)


def _games_of_rows(rows: Iterable[MixRow]) -> list[MeasuredGame]:
    """A game for each setting and source; every row counts, as in fabric_equilibria.csv."""
    settings = defaultdict(list)
    for row in rows:
        if row.cca == BBR:
            # Trials that end when they are settled last each their own time.
            course = row.setting or row.duration_s
            settings[row.key, row.source, course].append(row)
    games = (_game_of_rows(each) for each in settings.values())
    return [game for game in games if game is not None]


def _game_of_rows(rows: Sequence[MixRow]) -> MeasuredGame | None:
    key = rows[0].key
    per_flow = {
        row.second: (
            row.cubic_mbps / (key.flows - row.second) if row.second < key.flows else float("nan"),
            row.second_mbps / row.second if row.second else float("nan"),
        )
        for row in rows
    }
    fair = key.rate_mbps / key.flows
    cubic = _cubic_at_equilibrium(two_strategy_table(per_flow, key.flows, (CUBIC, BBR), fair))
    if not cubic:
        return None
    of_mix = {row.second: row for row in rows}

    def question(bbr: int) -> Competition:
        nearest = min(of_mix, key=lambda known: abs(known - bbr))
        return _question_of_row(of_mix[nearest], bbr)

    name = f"{key.rate_mbps:g} Mbit/s, {key.base_rtt_ms:g} ms, {key.buffer_bdp:g} BDP"
    return MeasuredGame(name, key.buffer_bdp, key.flows, cubic, question)


def _cubic_at_equilibrium(table: PayoffTable) -> tuple[int, ...]:
    """CUBIC flows of every mix of a line in which no flow gains by switching."""
    verdicts = judge_all(table)
    return tuple(sorted(v.state[0][0] for v in verdicts if v.equilibrium == "yes"))


def mixes_of_measures(measures: RunMeasures) -> MeasuredMixes:
    """The measured mixes of a run: means over valid repetitions, with what was applied."""
    mixes: list[MeasuredMix] = []
    left_out: Counter[str] = Counter()
    for setting in measures.run.settings:
        for cell in measures.cells(setting):
            problem = problem_of(measures.run.scenario, setting, cell.state)
            if problem is None and cell.estimate(METRIC) is None:
                problem = "it has no valid trial with goodput"
            if problem:
                left_out[problem] += 1
            else:
                mixes.append(_of_cell(measures, setting, cell))
    games = tuple(_games_of_measures(measures)) if mixes else ()
    return MeasuredMixes(str(measures.run.path), tuple(mixes), dict(left_out), games)


def question_of_mix(measures: RunMeasures, setting: Setting, state: State) -> Competition | None:
    """A mix of a run as the models are asked about it; None if they do not speak of it.

    Args:
        state: The mix, measured or not.
    """
    if problem_of(measures.run.scenario, setting, state):
        return None
    return _question_of(measures, setting, state)


def _question_of(measures: RunMeasures, setting: Setting, state: State) -> Competition:
    cell = next((c for c in measures.cells(setting) if c.state == state), None)
    records = [t.trial.record for t in cell.trials] if cell else []
    applied = measures.applied_rate(setting), measures.applied_buffer(setting)
    return question_of(measures.run.scenario, setting, state, applied, records)


def _of_cell(measures: RunMeasures, setting: Setting, cell: Cell) -> MeasuredMix:
    flows = dict(zip(measures.strategies, strategy_totals(cell.state), strict=True))
    total = {name: flows[name] * _mean(cell, name) for name in (CUBIC, BBR)}
    question = _question_of(measures, setting, cell.state)
    return MeasuredMix(question, total[BBR] / sum(total.values()), setting.buffer_bdp)


def _mean(cell: Cell, strategy: str) -> float:
    estimate = cell.estimate(METRIC, strategy)
    return 0.0 if estimate is None else estimate.mean


def questions_of_setting(measures: RunMeasures, setting: Setting) -> Questions | None:
    """BBR flows -> what models are asked about that mix, measured or not.

    Returns:
        None if the run is not one of CUBIC and BBR flows of one group, in this order, or if models
        do not speak of the setting.
    """
    flows = measures.flows(setting)
    if measures.strategies != (CUBIC, BBR) or len(measures.group_names) > 1 or flows < 2:
        return None
    if problem_of(measures.run.scenario, setting, ((flows - 1, 1),)):
        return None
    return lambda bbr: _question_of(measures, setting, ((flows - bbr, bbr),))


def questions_of_mixes(measures: RunMeasures, setting: Setting) -> list[tuple[int, Competition]]:
    """Mixes of CUBIC and BBR with their questions, from one BBR flow to one CUBIC flow.

    Returns:
        Every mix, or `DRAWN_MIXES` spread evenly; none where models do not speak of them.
    """
    questions = questions_of_setting(measures, setting)
    if questions is None:
        return []
    last = measures.flows(setting) - 1
    mixes = np.unique(np.linspace(1, last, min(last, DRAWN_MIXES)).round().astype(int))
    return [(k, questions(k)) for k in mixes.tolist()]


def _games_of_measures(measures: RunMeasures) -> list[MeasuredGame]:
    """The settings that have an equilibrium in throughput."""
    games = (_game_of_setting(measures, setting) for setting in measures.run.settings)
    return [game for game in games if game is not None]


def _game_of_setting(measures: RunMeasures, setting: Setting) -> MeasuredGame | None:
    questions = questions_of_setting(measures, setting)
    if questions is None:
        return None
    cubic = _cubic_at_equilibrium(payoff_table(measures, setting, throughput))
    if not cubic:
        return None
    flows = measures.flows(setting)
    return MeasuredGame(setting.label, setting.buffer_bdp, flows, cubic, questions)

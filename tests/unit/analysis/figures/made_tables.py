"""A trial whose tables are made up: one short trial of one CUBIC and one BBR flow."""

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from tempfile import TemporaryDirectory
from types import SimpleNamespace
from typing import Any

import numpy as np
from nashbed.analysis.measures import RunMeasures, TrialMeasures
from nashbed.controlplane.contract.target import Applied
from tests.support.synthetic_run import write_table
from tests.unit.analysis.made_measures import made

SHORT: dict[str, Any] = {
    "bottleneck": {"rate": "8mbit", "buffer": "40kB"},
    "duration": "100ms", "warmup": "40ms", "start_jitter": "0s",
    "telemetry": {"tcp_info": "50ms"},
}  # fmt: skip


class MadeTrial:
    """What figures ask of a sealed trial; what a pyramid is made of is in a run's folder."""

    def __init__(self, like: Any, tables: dict[str, dict[str, Any]]) -> None:
        self._folder = TemporaryDirectory(prefix="nashbed-test-")
        self.path = Path(self._folder.name) / "trials" / like.id
        self.path.mkdir(parents=True)
        if "postcards" in tables:
            write_table(self.path, "postcards", tables["postcards"])
        tables = {**tables, "flows": {"flow": [0, 1]}}
        if "bins" in tables:
            missing = {"marked_packets", "departed_packets", "departed_bytes", "dropped_packets",
                       "dropped_bytes", "qdelay_mean_ns"} - set(tables["bins"])  # fmt: skip
            nothing = [0.0] * len(tables["bins"]["flow"])
            tables["bins"] = {**tables["bins"], **dict.fromkeys(missing, nothing)}
        self.id, self.setting = like.id, like.setting
        self.record = SimpleNamespace(
            duration_ns=100_000_000,
            window_ns=(40_000_000, 100_000_000),
            applied=Applied.model_construct(rate_bps=8_000_000, overhead_bytes=0),
        )
        self._tables = {
            name: {key: np.array(values) for key, values in columns.items()}
            for name, columns in tables.items()
        }

    def has(self, table: str) -> bool:
        return table in self._tables

    def file(self, name: str) -> Path:
        return self.path / name

    def arrays(self, table: str, columns: Sequence[str] | None = None) -> dict[str, Any]:
        return {name: self._tables[table][name] for name in columns or self._tables[table]}


def trial_with(
    tables: dict[str, dict[str, Any]], raw: dict[str, Any] | None = None
) -> tuple[RunMeasures, TrialMeasures]:
    """One flow of CUBIC (flow 0) and one of BBR (flow 1) at 8 Mbit/s, 40 kB, 40 ms.

    Args:
        tables: Table -> column -> values.
        raw: Further keys of the scenario.
    """
    measures = made({**SHORT, "sweep": {"mixes": [1]}, **(raw or {})}, lambda *_: 4e6)
    (one,) = measures.trials
    trial: Any = MadeTrial(one.trial, tables)
    one = replace(one, trial=trial)
    return replace(measures, trials=(one,)), one

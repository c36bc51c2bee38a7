"""Games made up directly: payoffs of each state."""

import numpy as np
from nashbed.analysis.nash.equilibria import judge_all
from nashbed.analysis.nash.game import PayoffTable, all_states
from nashbed.analysis.nash.of_run import SettingEquilibria
from nashbed.controlplane.contract.limit import Limit
from nashbed.controlplane.contract.trial import Setting

NAN = float("nan")
GAME = {0: (5, NAN), 1: (4, 7), 2: (6, 6), 3: (NAN, 5)}
SETTING = Setting(
    label="b2bdp", rate_bps=10**7, buffer_bytes=10**5, buffer_label="2bdp", buffer_bdp=2,
    base_rtt_ns=(40_000_000,), limit=Limit(unit="bytes", value=10**5),
)  # fmt: skip


def table_of(sizes, strategies, payoff, names="abc"):
    samples = {s: np.array([payoff(s)], dtype=float) for s in all_states(sizes, strategies)}
    groups = ("near", "far")[: len(sizes)]
    return PayoffTable(tuple(names[:strategies]), groups, sizes, samples, 1.0)


def found(table: PayoffTable) -> SettingEquilibria:
    return SettingEquilibria(
        setting=SETTING, strategies=table.strategies, groups=table.groups, utility="throughput",
        epsilon=0.1, fair_share=1.0, table=table, verdicts=tuple(judge_all(table, 0.1)),
        crossings=(), state_count=table.state_count, missing_count=0,
    )  # fmt: skip

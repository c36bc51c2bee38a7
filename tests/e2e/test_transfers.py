"""Transfers in virtual time: as fast as physics lets them, and the same again."""

import numpy as np
import pyarrow.parquet as pq
import pytest
from tests.e2e.conftest import Nashbed, digests, only_valid

pytestmark = [pytest.mark.virtual, pytest.mark.slow, pytest.mark.usefixtures("guests_place")]

MS = 10**6
FLOWS = """\
  - {name: main, count: 2, base_rtt: 40ms, start_offset: 1s}
  - {name: new, base_rtt: 40ms, arrivals: {every: 200ms}, size: 10kB, strategy: reno}
  - {name: kept, base_rtt: 40ms, arrivals: {every: 200ms}, size: 10kB, start_offset: 100ms,
     strategy: reno, connections: kept}
"""


def test_transfers_take_what_their_path_takes(nashbed: Nashbed) -> None:
    scenario = nashbed.scenario("", rate="20mbit", duration="3s", warmup="2s", mixes="[1]")
    lines = scenario.read_text().splitlines(keepends=True)
    scenario.write_text("".join(FLOWS if "name: main" in line else line for line in lines))
    run_dir = nashbed.run(scenario, "virtual")
    record = only_valid(run_dir)
    path = run_dir / "trials" / record["id"] / "transfers.parquet"
    table = pq.read_table(path)
    rows = {name: table[name].to_numpy() for name in table.column_names}
    times = (rows["completed_ns"] - rows["arrival_ns"]) / MS
    alone = rows["arrival_ns"] < 900 * MS
    # 10 kB in seven packets: SYN and SYN-ACK take a round trip, the data half of one, and their
    # bytes 4.2 ms at 20 Mbit/s. Half a millisecond: readings of the clock, SYN and headers.
    new, kept = rows["group"] == 1, rows["group"] == 2
    assert np.all((times[new & alone] > 64.1) & (times[new & alone] < 64.8))
    later = kept & alone & (rows["arrival_ns"] > 100 * MS)
    assert np.all((times[later] > 24.1) & (times[later] < 24.7))
    assert np.all(times[new & ~alone] > 64.1)
    assert len(set(rows["flow"][kept & alone].tolist())) == 1
    assert np.all(rows["acked_ns"][alone] - rows["completed_ns"][alone] >= 20 * MS)
    assert digests(nashbed.run(scenario, "virtual")) == digests(run_dir)

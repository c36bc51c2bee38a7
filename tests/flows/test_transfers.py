"""Transfers that end, between two namespaces: each brings its bytes, and closes or is kept."""

from typing import Any

import numpy as np
import pytest
from nashbed.controlplane.contract.records import GOODPUT, TRANSFER
from tests.flows.conftest import flow

pytestmark = [pytest.mark.live, pytest.mark.root]

MS = 1_000_000


def transfer(number: int, start_ms: int, size: int, **more: Any) -> dict[str, Any]:
    return flow(number, start_ns=start_ms * MS) | {"bytes": size, "kept": False} | more


def test_transfers_bring_their_bytes_and_close(network: Any, config: dict[str, Any]) -> None:
    sizes = {1: 1, 2: 1448, 3: 20_000, 4: 3_000_000}
    config["flows"] = [flow(0), *(transfer(n, 50 * n, size) for n, size in sizes.items())]
    outcome = network.trial(config)
    assert [entry["flow"] for entry in outcome.ready["flows"]] == [0]
    rows = np.fromfile(network.directory / "transfers.bin", TRANSFER)
    assert {int(row["transfer"]): int(row["flow"]) for row in rows} == {n: n for n in sizes}
    for row in rows:
        number = int(row["transfer"])
        seen, sent = outcome.sink_flow(number), outcome.sender_flow(number)
        assert (seen["bytes"], seen["closed"]) == (sizes[number], "fin")
        assert (sent["bytes_acked"], sent["cc_applied"]) == (sizes[number], "cubic")
        assert row["start_ns"] - outcome.t0_ns >= 50 * number * MS
        assert row["acked_ns"] - outcome.t0_ns >= seen["last_byte_ns"]
        assert outcome.goodput_of(number)["bytes"].sum() == sizes[number]


def test_a_kept_connection_is_used_again(network: Any, config: dict[str, Any]) -> None:
    kept = {"kept": True}
    config["flows"] = [
        transfer(0, 20, 5000, **kept),
        transfer(1, 220, 7000, **kept),  # long after the first: the same connection
        transfer(2, 220, 9000, **kept),  # at once: another one
        transfer(3, 420, 4000, **kept) | {"cc": "reno"},  # never one of another CCA
    ]
    outcome = network.trial(config)
    rows = np.fromfile(network.directory / "transfers.bin", TRANSFER)
    carried = {int(row["transfer"]): int(row["flow"]) for row in rows}
    assert carried == {0: 0, 1: 0, 2: 2, 3: 3}
    assert np.all(rows["acked_ns"] > rows["start_ns"])
    reads = np.fromfile(network.directory / "reads.bin", GOODPUT)
    of_first = reads[reads["flow"] == 0]
    assert of_first["bytes"].sum() == outcome.sink_flow(0)["bytes"] == 12_000
    # the second transfer was written when the first had been acknowledged
    between = np.cumsum(of_first["bytes"].astype(int))
    assert 5000 in between
    assert outcome.sink_flow(1)["closed"] == "never connected"

"""What the real driver says to our changes, and that nothing of them stays; no frame is sent."""

import pytest
from nashbed.controlplane.contract.model import JsonObject
from nashbed.controlplane.contract.target import FlowEntry, Lane, LaneProgram, Limit
from nashbed.controlplane.targets.tofino import TofinoSwitch, examine_switch
from nashbed.controlplane.targets.tofino.capabilities import CHIPS, pipe_of
from nashbed.controlplane.targets.tofino.client import BfRtClient
from nashbed.controlplane.targets.tofino.info import Query
from tests.support.tofino import artefact
from tests.tofino_model.model import CHIP, PORTS, as_found, described, entry

pytestmark = [pytest.mark.live, pytest.mark.usefixtures("server")]
CHANGING = ("batch_counter", "pkt_counter", "trigger_counter", "pkt_len")
"""What goes on counting; and a length that the driver does not let be 0 again."""


def state(client: BfRtClient) -> dict[str, JsonObject | None]:
    """Entries that a run changes."""
    chip, port = CHIPS[described().chip], PORTS["senders"]["port"]
    pipe = pipe_of(int(str(PORTS["receivers"]["port"])))
    queries = [
        Query("$mirror.cfg", {"$sid": 1}),
        Query("BottleneckIngress.wires", {"port": port}),
        Query("BottleneckEgress.limits", {"lane": 0}),
        Query(chip.table("tm.pool.cfg"), {"pool": "IG_APP_POOL_0"}),
        Query(chip.table("tm.pipe.cfg"), pipe=pipe),
        Query(chip.table("pktgen.app_cfg"), {"app_id": 0}, from_hardware=False),
    ]
    found = {query.table: entry(client, query) for query in queries}
    application = found[chip.table("pktgen.app_cfg")]
    for name in CHANGING:
        (application or {}).pop(name, None)
    return found


def test_the_doctor_finds_nothing_wrong() -> None:
    found = examine_switch(described(), artefact(CHIP))
    assert [f"{each.name}: {each.detail}" for each in found if not each.ok] == []


def test_a_lane_is_programmed_and_taken_back() -> None:
    before = as_found(state)
    switch = TofinoSwitch(described())
    try:
        hello = switch.load(artefact(CHIP))
        assert hello.chip == CHIP
        limit = Limit(unit="packets", value=100)
        bottleneck = Lane(rate_bps=10**8, limit=limit)
        flow = FlowEntry(0, "10.64.0.1", "10.65.0.1", 10000, 5001)
        applied = switch.program(LaneProgram(0, bottleneck, (), (flow,)))
        assert applied.limit.value == 100 * CHIPS[described().chip].cells_of(1514)
        switch.reset(0, 0, 1)
        assert switch.read_registers(0, 0, 1).flows.arrived_packets == (0,)
    finally:
        switch.close()
    assert as_found(state) == before

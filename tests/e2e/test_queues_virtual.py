"""Queue disciplines in whole trials, in virtual time: every gate holds, and a repeat is equal."""

import json
import shutil

import pytest
from nashbed.controlplane.contract.disciplines import DISCIPLINES
from nashbed.controlplane.machine.paths import AQM_TEMPLATE, CONFIGS
from tests.e2e.conftest import Nashbed, records, table

pytestmark = [pytest.mark.virtual, pytest.mark.slow, pytest.mark.usefixtures("guests_place")]

KIND_DROPPED = 1


@pytest.mark.long
def test_codel_holds_the_delay_near_its_target(nashbed: Nashbed) -> None:
    """The shipped scenario meets its bounds; a missed one would be exit code 20."""
    run_dir = nashbed.run(CONFIGS / "scenarios" / "queues" / "delay.yaml", "virtual")
    found = list(records(run_dir).values())
    assert len(found) == 4
    assert all(record["valid"] for record in found)
    codel = next(r for r in found if r["setting"]["label"].startswith("codel"))
    assert codel["applied"]["discipline"] == {
        "name": "codel", "target_ns": 5_000_000, "interval_ns": 100_000_000, "ecn": False
    }  # fmt: skip
    cards = table(run_dir, codel["id"], "postcards")
    late = (cards["kind"] == KIND_DROPPED) & (cards["dequeue_ns"] > cards["enqueue_ns"])
    assert late.sum() > 0  # dropped when their turn came, not at their arrival


def test_every_discipline_and_one_of_ones_own(nashbed: Nashbed) -> None:
    path = nashbed.scenario("", duration="6s", warmup="2s", count=4, mixes="[2]", buffer="4bdp")
    shutil.copyfile(AQM_TEMPLATE, path.parent / "mine.c")
    own = "{file: ./mine.c, params: {patience: 5ms}}"
    queues = ", ".join([*DISCIPLINES, own])
    path.write_text(path.read_text().replace("mixes:", f"discipline: [{queues}], mixes:"))
    run_dir = nashbed.run(path, "virtual")
    found = {record["setting"]["label"]: record for record in records(run_dir).values()}
    assert all(record["valid"] for record in found.values()), found.keys()
    applied = {name.split("-")[0]: r["applied"]["discipline"] for name, r in found.items()}
    assert applied["droptail"] is None
    assert {name: each["name"] for name, each in applied.items() if each} == {
        name: name for name in (*DISCIPLINES, "mine") if name != "droptail"
    }
    assert applied["mine"] == {"name": "mine", "patience_ns": 5_000_000, "chance": 0.05}

    facts = json.loads((run_dir / "manifest.json").read_text())["disciplines"]["mine"]
    assert (run_dir / facts["source"]).read_text() == AQM_TEMPLATE.read_text()
    trials = [found[name]["id"] for name in found if name.startswith(("mine", "dualpi2"))]
    nashbed.call("verify", str(run_dir), *(word for t in trials for word in ("--trial", t)))

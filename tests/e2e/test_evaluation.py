"""Controls with a planted flaw, by parts of the shipped battery: the right row says so."""

import csv
import json
from pathlib import Path
from typing import Any

import pytest
from ruamel.yaml import YAML
from tests.e2e.conftest import Nashbed

pytestmark = [pytest.mark.virtual, pytest.mark.slow, pytest.mark.usefixtures("guests_place")]

ROOT = Path(__file__).resolve().parents[2]
BATTERY = ROOT / "configs" / "evaluations" / "rfc9743"
COMMITTED_KERNEL = "6a6efad29894"
"""The recipe of the guests' kernel that the table was measured with: later ones draw other numbers
for BBRv2, BBRv3 and Vivace."""
MINE = (ROOT / "hosts" / "cc" / "mine.c").read_text()
GROWS = "cc_set_cwnd(sk, next_cwnd(mine, tp, rs));"
NEVER_BACKS_OFF = MINE.replace(GROWS, "cc_set_cwnd(sk, max(next_cwnd(mine, tp, rs), 20u));")
STARVES_OTHERS = MINE.replace(GROWS, "cc_set_cwnd(sk, 400);")
COLLAPSES = MINE.replace(
    GROWS, "cc_set_cwnd(sk, tp->sacked_out > 2 ? 10u : next_cwnd(mine, tp, rs));"
)
CRASHES = MINE.replace(GROWS, "if (tp->delivered > 100)\n\t\t*(volatile int *)8 = 1;")
NEVER_ENDS = MINE.replace(GROWS, "while (tp->delivered > 100)\n\t\tbarrier();")
SENDS_NOTHING = MINE.replace(GROWS, "cc_set_cwnd(sk, 0);")
KEEPS_ITS_WINDOW = MINE.replace(GROWS, "cc_set_cwnd(sk, 100);")


def evaluated(
    nashbed: Nashbed, source: str, scenario: str, trials: int = 3, **times: Any
) -> list[dict[str, Any]]:
    """The rows of one scenario's criteria, for a control of this source."""
    folder = nashbed.folder / "battery"
    folder.mkdir()
    manifest = YAML(typ="safe").load((BATTERY / "battery.yaml").read_text())
    criteria = [each for each in manifest["criteria"] if each.get("scenario") == scenario]
    assert criteria
    manifest |= {"criteria": criteria, "harm": scenario, "games": [],
                 "sizes": {"tiny": {"trials": trials, "changes": {scenario: times}}}}  # fmt: skip
    with (folder / "battery.yaml").open("w") as file:
        YAML(typ="safe").dump(manifest, file)
    (folder / f"{scenario}.yaml").write_text((BATTERY / f"{scenario}.yaml").read_text())
    (nashbed.folder / "flawed.c").write_text(source)
    command = (
        *("cc", "evaluate", str(nashbed.folder / "flawed.c"), "--size", "tiny", "--json"),
        *("--battery", str(folder), "--out", str(nashbed.folder / "evaluated")),
    )
    said = nashbed.call(*command)
    assert nashbed.call(*command) == said, "it has ended, and nothing is run again"
    (nashbed.folder / "flawed.c").write_text(MINE)
    assert "other bytes" in nashbed.call(*command, code=2)
    rows: list[dict[str, Any]] = json.loads(said)["criteria"]
    return rows


def worse(rows: list[dict[str, Any]]) -> set[str]:
    """Metrics' words: in what the control is worse than CUBIC and Reno."""
    assert all(row["n"] == 3 for row in rows), rows
    return {row["what"].partition(",")[0] for row in rows if row["twice"]}


def test_one_that_never_backs_off_is_seen_where_loss_persists(nashbed: Nashbed) -> None:
    rows = evaluated(nashbed, NEVER_BACKS_OFF, "collapse", duration="50s", warmup="10s")
    assert worse(rows) == {"loss rate", "retransmit share"}


@pytest.mark.long
def test_one_that_starves_others_is_seen_beside_cubic(nashbed: Nashbed) -> None:
    rows = evaluated(nashbed, STARVES_OTHERS, "harm-cubic", duration="20s", warmup="8s",
                      **{"sweep.buffer": ["1bdp"]})  # fmt: skip
    assert "per flow throughput of cubic" in worse(rows)


@pytest.mark.long
def test_one_that_collapses_is_seen_where_packets_are_reordered(nashbed: Nashbed) -> None:
    rows = evaluated(nashbed, COLLAPSES, "reordering", duration="20s", warmup="8s")
    assert worse(rows) == {"per flow throughput"}


@pytest.mark.long
def test_one_that_ignores_a_lower_rtt_is_seen_where_it_falls(nashbed: Nashbed) -> None:
    rows = evaluated(nashbed, KEEPS_ITS_WINDOW, "rtt-falls", duration="30s", warmup="16s")
    assert "loss rate" in worse(rows)


@pytest.mark.parametrize(
    ("source", "says"),
    [
        (CRASHES, "in mine_main (flawed.c:"),
        pytest.param(NEVER_ENDS, "virtual time has stood still", marks=pytest.mark.long),
    ],
)
def test_one_that_ends_its_guest_is_reported_while_the_others_go_on(
    nashbed: Nashbed, source: str, says: str
) -> None:
    rows = evaluated(nashbed, source, "wired", 1, duration="10s", warmup="4s",
                     **{"sweep.base_rtt": ["40ms"]})  # fmt: skip
    assert rows
    for row in rows:
        assert row["value"] is None
        assert row["note"].startswith("not measured: no valid trial has it: guest failed")
        assert says in row["note"]
        assert row["cubic"] > 0
        assert row["reno"] > 0


def test_one_that_sends_next_to_nothing_is_a_measured_row(nashbed: Nashbed) -> None:
    rows = evaluated(nashbed, SENDS_NOTHING, "wired", duration="10s", warmup="4s",
                     **{"sweep.base_rtt": ["40ms"]})  # fmt: skip
    assert "per flow throughput" in worse(rows)
    assert rows[0]["value"] < rows[0]["cubic"] / 10


@pytest.mark.long
def test_another_machine_repeats_the_committed_table(nashbed: Nashbed) -> None:
    """Controls in docs/results/evaluations.md are measured again, equal in every digit."""
    out = nashbed.folder / "again"
    evaluating = nashbed.start("cc", "evaluate", "bbr3", "--size", "quick", "--out", str(out))
    assert (evaluating.communicate(), evaluating.returncode)[1] == 0
    manifests = (json.loads(file.read_text()) for file in out.glob("*/manifest.json"))
    (measured,) = {manifest["guest_kernels"][""]["digest"] for manifest in manifests}
    if not measured.startswith(COMMITTED_KERNEL):
        pytest.skip(f"the guests' kernel is {measured}, the table is of {COMMITTED_KERNEL}")
    again = nashbed.folder / "controls.csv"
    nashbed.call("cc", "table", str(out), "--out", str(again))
    assert _of_bbr3(again) == _of_bbr3(BATTERY / "controls.csv")


def _of_bbr3(table: Path) -> list[dict[str, str]]:
    """Its readings; the references are those of the first control of the table."""
    own = {"section", "name", "setting", "reading", "bbr3", "bbr3_n", "bbr3_ci95"}
    return [{key: row[key] for key in own} for row in csv.DictReader(table.open())]

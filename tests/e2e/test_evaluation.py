"""`cc evaluate`: the right row tells a planted flaw. Committed results repeat on this machine."""

import csv
import json
import shutil
from pathlib import Path
from typing import Any

import pytest
from ruamel.yaml import YAML
from tests.e2e.conftest import Nashbed

pytestmark = [pytest.mark.virtual, pytest.mark.slow, pytest.mark.usefixtures("guests_place")]

ROOT = Path(__file__).resolve().parents[2]
BATTERY = ROOT / "configs" / "evaluations" / "rfc9743"
BLIND = ROOT / "configs" / "scenarios" / "blind"
KERNEL = "linux-source-6.1 6.1.192-3"
"""The source of the guests' kernel that committed numbers were measured with."""
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


def part_of_battery(parent: Path, *scenarios: str, **changes: Any) -> Path:
    """The shipped battery's criteria of these scenarios, as a battery of their own."""
    folder = parent / "battery"
    folder.mkdir()
    manifest = YAML(typ="safe").load((BATTERY / "battery.yaml").read_text())
    criteria = [each for each in manifest["criteria"] if each.get("scenario") in scenarios]
    manifest |= {"criteria": criteria, "harm": scenarios[0], "games": []} | changes
    for size in manifest["sizes"].values():
        size["changes"] = {k: v for k, v in size.get("changes", {}).items() if k in scenarios}
    with (folder / "battery.yaml").open("w") as file:
        YAML(typ="safe").dump(manifest, file)
    for scenario in scenarios:
        shutil.copy(BATTERY / f"{scenario}.yaml", folder)
    return folder


def evaluated(
    nashbed: Nashbed, source: str, scenario: str, trials: int = 3, **times: Any
) -> list[dict[str, Any]]:
    """The rows of one scenario's criteria, for a control of this source."""
    sizes = {"tiny": {"trials": trials, "changes": {scenario: times}}}
    folder = part_of_battery(nashbed.folder, scenario, sizes=sizes)
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


def test_this_machine_repeats_a_part_of_the_committed_table(nashbed: Nashbed) -> None:
    """Of docs/results/evaluations.md, equal in every digit: it was measured on another machine."""
    out = nashbed.folder / "again"
    part = part_of_battery(nashbed.folder, "buffers", "collapse", "rate-falls")
    words = ("--size", "quick", "--battery", str(part), "--out", str(out))
    nashbed.call("cc", "evaluate", "bbr3", *words)
    _skip_if_of_another_kernel(out)
    again = nashbed.folder / "controls.csv"
    nashbed.call("cc", "table", str(out), "--out", str(again))
    own = {"section", "name", "setting", "reading", "bbr3", "bbr3_n", "bbr3_ci95"}
    rows = _rows(again, own)
    assert len(rows) == 15
    committed = _rows(BATTERY / "controls.csv", own)
    assert [row for row in rows if row not in committed] == []


def test_this_machine_repeats_blind_predictions(nashbed: Nashbed) -> None:
    """Three of docs/results/blind.md, their trials' digests with them."""
    words = nashbed.run_words(BLIND / "dualpi2.yaml", "virtual")
    nashbed.call(*words, "--set", "sweep.mixes.pairs=[[prague, bbr]]")
    _skip_if_of_another_kernel(nashbed.results)
    again = nashbed.folder / "again.csv"
    nashbed.call("published", *map(str, nashbed.results.iterdir()), "--out", str(again))
    own = {"source", "setting", "mix", "measured", "digest"}
    rows = _rows(again, own)
    assert len(rows) == 3
    committed = _rows(BLIND / "measured.csv", own)
    assert [row for row in rows if row not in committed] == []


def _skip_if_of_another_kernel(runs: Path) -> None:
    manifests = (json.loads(file.read_text()) for file in runs.glob("*/manifest.json"))
    (found,) = {k["package"] for each in manifests for k in each["guest_kernels"].values()}
    if found != KERNEL:
        pytest.skip(f"the guests' kernel is of {found}, committed numbers are of {KERNEL}")


def _rows(table: Path, columns: set[str]) -> list[dict[str, str]]:
    with table.open() as file:
        return [{key: row[key] for key in columns} for row in csv.DictReader(file)]

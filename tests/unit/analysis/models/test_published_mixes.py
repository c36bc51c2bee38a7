"""The published FABRIC mixes must give the published equilibria."""

from __future__ import annotations

from pathlib import Path

import pytest
from nashbed.analysis.fits.published_panels import (
    MIXES,
    first_crossing,
    payoff_table,
    published_equilibria,
)
from nashbed.analysis.models.published_mixes import PanelKey, PublishedMixes, read_mixes
from nashbed.analysis.nash.equilibria import judge_all
from nashbed.controlplane.store.errors import RunError


@pytest.fixture(scope="module")
def panels() -> dict[PanelKey, PublishedMixes]:
    return read_mixes(MIXES)


def cubic_at_equilibrium(panel: PublishedMixes, skip_invalid: bool = False) -> set[int]:
    verdicts = judge_all(payoff_table(panel, skip_invalid))
    return {v.state[0][0] for v in verdicts if v.equilibrium == "yes"}


def test_every_published_equilibrium(panels) -> None:
    expected = published_equilibria()
    assert len(expected) == 49
    found = {key: cubic_at_equilibrium(panel) for key, panel in panels.items()}
    assert found == {key: states for key, (states, _) in expected.items()}


def test_every_published_crossing(panels) -> None:
    expected = {key: crossing for key, (_, crossing) in published_equilibria().items()}
    assert {key: first_crossing(panel) for key, panel in panels.items()} == expected


def test_without_the_invalid_cells_their_neighbours_are_undecided(panels) -> None:
    cells = sum(len(panel.invalid) for panel in panels.values())
    assert cells == 7
    for key, panel in panels.items():
        strict = judge_all(payoff_table(panel, skip_invalid=True))
        decided = {v.state[0][0] for v in strict if v.equilibrium == "yes"}
        open_ = {v.state[0][0] for v in strict if v.equilibrium == "undecided"}
        assert decided <= cubic_at_equilibrium(panel), key
        assert cubic_at_equilibrium(panel) <= decided | open_, key
        assert {key.flows - k for k in panel.invalid} <= open_


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("a,b\n1,2\n", "has no column"),
        ("", "has no column"),
        (
            "bandwidth_mbps,base_rtt_ms,buffer_bdp,n_flows,n_bbr,n_cubic,bbr_agg_mbps,"
            "cubic_agg_mbps,valid\n50,20,1,2,x,1,1,1,ok\n",
            "line 2",
        ),
    ],
)
def test_bad_files_say_what_is_wrong(tmp_path: Path, text: str, said: str) -> None:
    file = tmp_path / "mixes.csv"
    file.write_text(text)
    with pytest.raises(RunError, match=said):
        read_mixes(file)
    with pytest.raises(RunError, match="cannot be read"):
        read_mixes(tmp_path / "missing.csv")

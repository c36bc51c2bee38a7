"""The adaptive search on the published mixes: always in the exhaustive set, with few of them."""

from __future__ import annotations

from itertools import groupby
from statistics import mean

import pytest
from nashbed.analysis.campaign.of_scenario import start_of
from nashbed.analysis.models.published_mixes import PanelKey, PublishedMixes, read_mixes
from nashbed.analysis.models.question import Question
from nashbed.analysis.nash.equilibria import judge_all
from nashbed.analysis.nash.search import AdaptiveSearch, SearchResult
from tests.support.published_panels import MIXES, payoff_table
from tests.support.search import run_search


@pytest.fixture(scope="module")
def panels() -> dict[PanelKey, PublishedMixes]:
    return read_mixes(MIXES)


def search_panel(panel: PublishedMixes, hints=(), guess=True, skip_invalid=False) -> SearchResult:
    means = payoff_table(panel, skip_invalid).means
    search = AdaptiveSearch((panel.key.flows,), 2, hints=hints, guess=guess)
    return run_search(search, means.get)


def exhaustive(panel: PublishedMixes, answer: str = "yes", skip_invalid=False) -> set:
    verdicts = judge_all(payoff_table(panel, skip_invalid))
    return {v.state for v in verdicts if v.equilibrium == answer}


@pytest.mark.parametrize(("guess", "most", "average"), [(False, 12, 10.4), (True, 14, 7.0)])
def test_every_setting_is_settled(panels, guess, most, average, record_property) -> None:
    taken = []
    for key, panel in panels.items():
        result = search_panel(panel, guess=guess)
        assert result.equilibria, key
        assert set(result.equilibria) <= exhaustive(panel), key
        taken.append(result.measured)
    record_property("mixes measured", f"mean {mean(taken):.2f}, most {max(taken)}")
    assert len(taken) == 49
    assert max(taken) <= most
    assert mean(taken) <= average


def test_warm_start(panels, record_property) -> None:
    """The first buffers of a panel start at the model's band, the others at their neighbour."""
    taken = []
    by_panel = groupby(sorted(panels), key=lambda key: (key.rate_mbps, key.base_rtt_ms))
    for _, keys in by_panel:
        before = None
        for key in keys:
            hints = [s for s in (before or model_start(key),) if s is not None]
            result = search_panel(panels[key], hints)
            assert set(result.equilibria) & exhaustive(panels[key]), key
            assert set(result.equilibria) <= exhaustive(panels[key]), key
            before = result.equilibria[0] if key.buffer_bdp > 1 else None
            taken.append(result.measured)
    record_property("mixes measured", f"mean {mean(taken):.2f}, most {max(taken)}")
    assert len(taken) == 49
    assert mean(taken) <= 7
    assert max(taken) <= 14


def model_start(key: PanelKey):
    rate, rtt = key.rate_mbps * 1e6, key.base_rtt_ms / 1e3
    return start_of(Question(rate, rtt, key.buffer_bdp * rate * rtt / 8, key.flows, 0))


def test_invalid_mixes_hide_and_never_mislead(panels) -> None:
    holes = 0
    for key, panel in panels.items():
        result = search_panel(panel, skip_invalid=True)
        decided = exhaustive(panel, skip_invalid=True)
        undecided = exhaustive(panel, "undecided", skip_invalid=True)
        assert set(result.equilibria) <= decided, key
        assert result.equilibria or set(result.hidden) <= undecided, key
        assert result.finished
        holes += bool(result.hidden)
    assert holes <= 7

"""The adaptive search on the published mixes: always in the exhaustive set, with few of them."""

from statistics import mean

import pytest
from nashbed.analysis.campaign.of_scenario import fluid_start
from nashbed.analysis.models.expected import quick_crossing
from nashbed.analysis.models.mix_files import PUBLISHED_MIXES as MIXES
from nashbed.analysis.models.mix_files import PanelKey
from nashbed.analysis.nash.equilibria import judge_all
from nashbed.analysis.nash.search import AdaptiveSearch, SearchResult
from tests.support.published_panels import PublishedMixes, hints_of, payoff_table, read_mixes
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


@pytest.mark.parametrize(("guess", "most", "average"), [(False, 12, 10.4), (True, 11, 6.4)])
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


@pytest.mark.parametrize(
    ("start", "every", "most", "average"),
    [
        (fluid_start, 7, 10, 4.4),
        pytest.param(fluid_start, 1, 10, 4.4, marks=pytest.mark.long),
        (quick_crossing, 1, 11, 5.7),
    ],
    ids=["fluid, every seventh", "fluid", "closed form"],
)
def test_from_a_models_crossing(panels, start, every, most, average, record_property) -> None:
    """A perfect start takes 2.78: three mixes decide an equilibrium, two at a corner.

    On 22 November 2026 the fluid model's took 3.73, at most 7; the closed form's 5.18, at most 9.
    """
    taken = []
    for key, panel in list(panels.items())[::every]:
        result = search_panel(panel, hints_of(key, start))
        assert result.equilibria, key
        assert set(result.equilibria) <= exhaustive(panel), key
        taken.append(result.measured)
    record_property("mixes measured", f"mean {mean(taken):.2f}, most {max(taken)}")
    assert len(taken) == 49 / every
    assert max(taken) <= most
    assert mean(taken) <= average


@pytest.mark.parametrize("bbr", [0, 25, 50])
def test_a_start_that_is_wrong_never_misleads(panels, bbr) -> None:
    for key, panel in panels.items():
        result = search_panel(panel, [((50 - bbr, bbr),)])
        assert result.equilibria, key
        assert set(result.equilibria) <= exhaustive(panel), key
        # Twice log2(51) on guesses, then bisection, two mixes for each of as many edges.
        assert result.measured <= 24, key


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

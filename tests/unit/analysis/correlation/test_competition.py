"""Which trials the models are asked about: CUBIC against one version of BBR."""

import pytest
from nashbed.analysis.correlation.competition import bbr_of, bbr_share, question_of
from tests.unit.analysis.made_measures import made

TWO_FLOWS = {"cubic": 4e6, "bbr": 6e6, "bbr2": 6e6, "bbr3": 6e6, "copa": 6e6}


@pytest.mark.parametrize("version", ["bbr", "bbr2", "bbr3"])
def test_every_version_of_bbr_is_the_models_bbr(version: str) -> None:
    measures = made({"strategies": ["cubic", version]}, lambda _, name, __: TWO_FLOWS[name])
    trial = next(t for t in measures.trials if set(t.strategy) == {"cubic", version})
    assert bbr_of(trial) == version
    assert bbr_share(trial) == pytest.approx(0.6)
    assert (question_of(trial).first.flows, question_of(trial).second.flows) == (1, 1)


@pytest.mark.parametrize("names", [["cubic", "copa"], ["bbr", "bbr3"]])
def test_other_competitions_are_none_of_the_models(names: list[str]) -> None:
    measures = made({"strategies": names}, lambda _, name, __: TWO_FLOWS[name])
    assert [bbr_share(trial) for trial in measures.trials] == [None] * 3

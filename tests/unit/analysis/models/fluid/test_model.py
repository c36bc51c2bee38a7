"""The fluid model of another CCA in place of BBR: what it answers, and what it refuses."""

import pytest
from nashbed.analysis.models import Competition, ModelError, cubic_against
from nashbed.analysis.models.fluid import FluidNotBuiltError, ccas, model, model_of
from nashbed.analysis.models.fluid.model import MODEL, MOST_POINTS, Validation, predict, validations

BDP_BYTES = 500_000  # 100 Mbit/s x 40 ms / 8
OFF = "copa"


def game(second: str) -> Competition:
    """Five CUBIC flows against five of another CCA."""
    return cubic_against(100e6, 0.04, 2 * BDP_BYTES, 5, 5, second, duration_s=60.0)


def built() -> bool:
    try:
        return bool(ccas())
    except FluidNotBuiltError:
        return False


pytestmark = pytest.mark.skipif(not built(), reason="no fluid model; run `make build`")


@pytest.fixture
def copa_is_off(monkeypatch: pytest.MonkeyPatch) -> None:
    """As if the model missed Copa's runs by more than answers may."""
    off = Validation(OFF, 9, 1, MOST_POINTS + 2, 0.0, 20.0)
    monkeypatch.setattr(model, "validations", lambda: {**validations(), OFF: off})


def test_bbr_in_place_of_bbr_is_the_fluid_model_itself() -> None:
    assert model_of("bbr") is MODEL


@pytest.mark.parametrize("second", ["cubic", "reno"])
def test_what_the_model_does_not_know_beside_cubic_is_named(second: str) -> None:
    with pytest.raises(ModelError, match=f"{second}: the fluid model knows bbr, .*bbr3"):
        model_of(second)


def test_each_cca_has_its_own_answer() -> None:
    shares = {
        second: model_of(second, unvalidated=True).predict(game(second)).share
        for second in ("bbr", "bbr3", "copa", "copa_default")
    }
    assert len(set(shares.values())) == len(shares)
    assert shares["copa_default"] is not None
    assert shares["copa_default"] < 0.15


def test_every_cca_of_the_model_was_held_against_runs() -> None:
    assert set(validations()) == set(ccas()) - {"cubic"}
    assert all(found.mixes >= 20 for found in validations().values())


@pytest.mark.usefixtures("copa_is_off")
def test_a_cca_that_runs_do_not_bear_out_is_refused_with_the_reason() -> None:
    answer = model_of(OFF).predict(game(OFF))
    assert answer.status == "refused"
    assert (
        "misses the share in our runs by 12 points in the median of 9 mixes" in answer.refusals[0]
    )


@pytest.mark.usefixtures("copa_is_off")
def test_asked_for_as_it_is_it_answers_with_the_reservation() -> None:
    answer = model_of(OFF, unvalidated=True).predict(game(OFF))
    assert answer.status == "flagged"
    assert answer.share == predict(game(OFF), unvalidated=True).share


def test_a_cca_without_runs_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(model, "validations", dict)
    assert "never held against a run" in model_of(OFF).predict(game(OFF)).refusals[0]

"""What the models are asked, and how their shares are drawn."""

from __future__ import annotations

from typing import Any

import pytest
from nashbed.analysis.figures.model_lines import DRAWN, LOOKS, ask, goodput_of_share
from nashbed.analysis.models import MODELS
from tests.unit.analysis.made_measures import made


def test_every_drawn_model_exists_and_has_a_look() -> None:
    assert set(DRAWN) == set(LOOKS) <= set(MODELS)


def test_the_question_is_the_applied_setting() -> None:
    measures = made({"sweep": {"mixes": [1]}}, lambda *_: 1e7)
    question = ask(measures, measures.run.settings[0], ((3, 2),))
    assert question is not None
    assert (question.rate_bps, question.base_rtt_s, question.buffer_bytes) == (10**8, 0.04, 10**6)
    assert (question.cubic, question.bbr, question.duration_s) == (3, 2, 60)


@pytest.mark.parametrize(
    ("raw", "state"),
    [
        ({}, ((2, 0),)),
        ({}, ((0, 2),)),
        ({"strategies": ["reno", "bbr"]}, ((1, 1),)),
        ({"flows": [{"name": "a", "count": 1, "base_rtt": "10ms"},
                    {"name": "b", "count": 1, "base_rtt": "50ms"}]}, ((1, 0), (0, 1))),
        ({"sweep": {"random_loss": ["1%"], "mixes": [1]}}, ((1, 1),)),
    ],
    ids=["no bbr", "no cubic", "no cubic strategy", "two base RTTs", "random loss"],
)  # fmt: skip
def test_what_models_do_not_speak_of(raw: dict[str, Any], state: Any) -> None:
    measures = made(raw, lambda *_: 1e7)
    assert ask(measures, measures.run.settings[0], state) is None


def test_a_share_of_the_link_as_goodput() -> None:
    assert goodput_of_share(0.5, 1514 * 10**6) == pytest.approx(724 * 10**6)

"""The page's section on models: errors by buffer, equilibria, and which model is nearest."""

import json
from typing import Any

import pytest
from nashbed.analysis.models import MODELS
from nashbed.analysis.models.accuracy import ModelErrors
from nashbed.analysis.models.measured import mixes_of_measures
from nashbed.analysis.report.models import models_context, models_of
from nashbed.controlplane.contract.trial import Setting
from tests.unit.analysis.made_measures import made

BUFFERS: dict[str, Any] = {
    "flows": [{"name": "main", "count": 4, "base_rtt": "40ms"}],
    "sweep": {"buffer": ["3bdp", "10bdp"]},
    "duration": "20s",
}


def as_the_bound_says(setting: Setting, strategy: str, second: int) -> float:
    """Throughputs such that the synchronised bound is right at 3 BDP, where it is one half."""
    flows = second if strategy == "bbr" else 4 - second
    return 50e6 / flows if flows else 0.0


@pytest.fixture(scope="module")
def found() -> ModelErrors:
    return models_of(made(BUFFERS, as_the_bound_says))


def shown(found: ModelErrors) -> dict[str, Any]:
    context = models_context(found)
    assert context is not None
    return context


def test_errors_by_buffer(found: ModelErrors) -> None:
    context = shown(found)
    assert [(row["buffer"], row["mixes"]) for row in context["rows"]] == [
        ("3 BDP", 3), ("10 BDP", 3), ("all", 6),
    ]  # fmt: skip
    # Every model but those for two flows and for a given k answers.
    unasked = {"mishra-two-flow", "mishra-given-k"}
    assert context["models"] == [m.title for n, m in MODELS.items() if n not in unasked]
    at = context["models"].index("Mishra, synchronised")
    assert context["rows"][0]["errors"][at] == {"median": "0.0", "rest": "(+0.0; 0.0)"}
    assert context["spread"].startswith("Fluid: ")


def test_the_nearest_model_is_named(found: ModelErrors) -> None:
    first, band, second = shown(found)["sentences"]
    errors = {e.model: e.median_abs for e in found.buffers[-1].models if e.median_abs is not None}
    nearest = min(errors, key=lambda name: errors[name])
    assert f'Closest to the 6 measured mixes is "{MODELS[nearest].title}": its error' in first
    for name in set(errors) - {nearest}:
        assert f"{MODELS[name].title} {100 * errors[name]:.1f}" in first
    assert "Closest to the measured equilibria is" in second
    # The three mixes at 3 BDP are on the lower bound.
    assert "Mishra's two bounds are a band of" in band
    assert "% of 6 mixes are inside" in band


def test_equilibria_beside_the_measured_ones(found: ModelErrors) -> None:
    context = shown(found)
    # Two of four flows of each: nobody gains, and the bound at 3 BDP says the same.
    first = context["equilibria"][0]
    assert (first["setting"], first["measured"], first["flows"]) == ("b3bdp", "2", 4)
    assert first["predicted"][context["models"].index("Mishra, synchronised")] == "2.0"
    assert len(context["equilibrium_errors"]) == len(context["models"])


def test_it_is_plain_data(found: ModelErrors) -> None:
    plain = found.model_dump(mode="json")
    assert json.loads(json.dumps(plain, allow_nan=False)) == plain
    assert [each["model"] for each in plain["equilibria"]] == list(MODELS)


@pytest.mark.parametrize(
    "raw",
    [
        {"strategies": ["cubic", "reno"]},
        {"sweep": {"mixes": [0, 4]}},
        {"sweep": {"random_loss": ["1%"]}},
        {"flows": [{"name": "a", "count": 2, "base_rtt": "10ms"},
                   {"name": "b", "count": 2, "base_rtt": "20ms"}]},
    ],
)  # fmt: skip
def test_nothing_where_models_do_not_speak(raw: dict[str, Any]) -> None:
    measures = made({**BUFFERS, "sweep": {}, **raw}, lambda *_: 1e7)
    assert not mixes_of_measures(measures).mixes
    assert models_context(models_of(measures)) is None


def test_one_mix_has_no_equilibrium() -> None:
    measures = made({**BUFFERS, "sweep": {"mixes": [2]}}, as_the_bound_says)
    context = shown(models_of(measures))
    assert context["equilibria"] == []
    assert len(context["sentences"]) == 2  # no equilibrium: shares, and the band

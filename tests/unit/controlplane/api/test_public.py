"""What is public: `dir(nashbed)`, its documentation, and how little importing it takes."""

import inspect
import re
import subprocess
import sys
from pathlib import Path

import nashbed as nb
import pytest


def test_every_public_name_is_there_and_documented() -> None:
    assert dir(nb) == sorted(nb.__all__)
    for name in nb.__all__:
        value = getattr(nb, name)
        assert name == "METRICS" or inspect.getdoc(value), name


MODULES = sorted(name for name in nb.__all__ if inspect.ismodule(getattr(nb, name)))


@pytest.mark.parametrize("name", MODULES)
def test_every_name_of_a_public_module_is_documented(name: str) -> None:
    module = getattr(nb, name)
    assert inspect.getdoc(module)
    for each in module.__all__:
        value = getattr(module, each)
        if inspect.isroutine(value) or inspect.isclass(value):
            assert inspect.getdoc(value), f"{name}.{each}"


def test_nothing_else_is_public() -> None:
    with pytest.raises(AttributeError, match="no attribute 'nothing'"):
        nb.nothing  # noqa: B018


def test_importing_it_imports_nothing_else() -> None:
    script = "import sys, nashbed; print([m for m in sys.modules if m.startswith('nashbed.')])"
    told = subprocess.run(
        [sys.executable, "-c", script], capture_output=True, text=True, check=True, timeout=60
    )
    assert told.stdout.strip() == "[]"


def test_what_a_notebook_shows(whole_run: Path) -> None:
    """One line, and a table: no text of a file, no list of trials."""
    plan, run = nb.plan("quickstart", "virtual"), nb.open_run(whole_run)
    mixes, equilibria = nb.tables.mixes([run]), nb.tables.equilibria([run])
    assert re.fullmatch(r"<Plan of quickstart: \d+ trials, about \d+ s>", repr(plan))
    assert re.fullmatch(r"<Scenario of .*quickstart\.yaml>", repr(nb.read_scenario("quickstart")))
    assert repr(run) == f"<Run {whole_run.name}: 5 trials>"
    assert (repr(mixes), repr(equilibria)) == ("<MixTable: 5 mixes>", "<Equilibria: 1 row>")
    assert "<td>b5bdp</td><td>20mbit</td><td>5bdp (250kB)</td><td>20ms</td>" in plan._repr_html_()
    for each in (run, mixes, equilibria):
        assert "<table" in each._repr_html_()
    assert next(iter(run.headlines)) in run._repr_html_()


def test_models_are_asked_in_the_quantities_of_a_scenario() -> None:
    question = {"rate": "50mbit", "base_rtt": "40ms", "buffer": "5bdp", "flows": 10}
    game = nb.models.competition(**question, second_flows=3)
    assert (game.rate_bps, game.buffer_bytes, game.second.flows) == (50e6, 5 * 250_000, 3)
    for model in nb.models.models():
        predicted = model.predict(game)
        assert predicted.model == model.name
        assert model.share(**question, second_flows=3) == predicted.share
        assert model.about.source
    settled = nb.models.ware.equilibrium(**question)
    assert settled.flows == 10
    for wrong, says in (
        ({"rate": "50"}, "rate: '50' has no unit"),
        ({"second_flows": 11}, "second_flows: 11 of 10 flows; write 0 to 10"),
        ({"second": "reno"}, "reno"),
    ):
        with pytest.raises(nb.ConfigError, match=re.escape(says)):
            nb.models.fluid.predict(**{"second_flows": 3} | question | wrong)
    for ask in (nb.models.fluid.share, nb.models.predictions):
        with pytest.raises(nb.ConfigError, match="second_flows: is missing"):
            ask(**question)

"""What a caller names: files, shipped scenarios and testbeds, objects, mappings."""

import copy
import pickle
import re
from pathlib import Path
from typing import Any

import nashbed as nb
import pytest
from nashbed.controlplane.config import parse_scenario
from nashbed.controlplane.machine.paths import CONFIGS

SCENARIOS = sorted((CONFIGS / "scenarios").rglob("*.yaml"))
SHIPPED = [path for path in SCENARIOS if not path.stem.endswith("-short")]
"""Short forms have the same keys."""
MINE = {
    "name": "mine",
    "title": "Six flows",
    "bottleneck": {"rate": "50mbit", "buffer": "2bdp"},
    "flows": [{"name": "main", "count": 6, "base_rtt": "30ms"}],
    "strategies": ["cubic", "bbr"],
    "duration": "20s",
    "warmup": "5s",
}


@pytest.mark.parametrize("path", SHIPPED, ids=lambda path: str(path.relative_to(CONFIGS)))
def test_an_object_is_written_as_a_file_that_says_the_same(path: Path) -> None:
    model = nb.read_scenario(path).model
    text = nb.scenario_text(model)
    assert parse_scenario(text, str(path)).model == model
    assert nb.read_scenario(model).text == text


def test_an_object_and_a_mapping_are_alike() -> None:
    scenario = nb.Scenario(
        name="mine",
        title="Six flows",
        bottleneck=nb.Bottleneck(rate="50mbit", buffer=nb.Buffer.parse("2bdp")),
        flows=[nb.FlowGroup(name="main", count=6, base_rtt="30ms")],
        strategies=["cubic", "bbr"],
        duration="20s",
        warmup="5s",
    )
    assert nb.read_scenario(MINE).model == scenario
    assert nb.plan(MINE, "virtual").trials == nb.plan(scenario, "virtual").trials


def test_a_mistake_names_its_key() -> None:
    with pytest.raises(nb.ConfigError, match=r"^scenario mine: bottleneck\.rate: '50 apples'"):
        nb.read_scenario(MINE | {"bottleneck": {"rate": "50 apples", "buffer": "2bdp"}})
    with pytest.raises(nb.ConfigError, match="no such scenario file"):
        nb.read_scenario("nosuch")
    with pytest.raises(nb.ConfigError, match="no such scenario file; did you mean 'quickstart'"):
        nb.read_scenario("quickstrat")


def test_keys_have_other_values() -> None:
    scenario = nb.read_scenario(MINE).model
    changed = scenario.replace({"bottleneck.rate": "1gbit", "flows.0.count": 2}, trials=7)
    keys = MINE | {
        "bottleneck": {"rate": "1gbit", "buffer": "2bdp"},
        "flows": [{"name": "main", "count": 2, "base_rtt": "30ms"}],
        "trials": 7,
    }
    assert changed == nb.read_scenario(keys).model
    assert parse_scenario(nb.scenario_text(changed), "mine.yaml").model == changed
    assert nb.read_scenario(MINE, {"flows.count": 3}).model == scenario.replace({"flows.count": 3})


@pytest.mark.parametrize(
    ("changes", "says"),
    [
        (
            {"bottleneck.rat": "1gbit"},
            "mine.bottleneck.rat: there is no such key; did you mean 'rate'?",
        ),
        ({"bottleneck.rate": "50 apples"}, "mine.bottleneck.rate: '50 apples' has"),
        ({"warmup": "1min"}, "mine.warmup: 60s leaves nothing to measure"),
        ({"sweep.bottleneck.discipline": ["codel"]}, "write it as `sweep.discipline`"),
    ],
)
def test_keys_with_values_that_do_not_fit(changes: dict[str, Any], says: str) -> None:
    with pytest.raises(nb.ConfigError, match=re.escape(says)):
        nb.read_scenario(MINE, changes)


def test_a_cca_in_a_file_keeps_its_path(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    scenario = nb.read_scenario(MINE | {"strategies": ["cubic", "./own.c"]}).model
    assert scenario.strategies == ("cubic", "own")
    for each in (scenario, copy.deepcopy(scenario), pickle.loads(pickle.dumps(scenario))):
        assert "- ./own.c\n" in nb.scenario_text(each)
    changed = nb.Scenario(**dict(scenario) | {"name": "other"})
    assert "- ./own.c\n" in nb.scenario_text(changed)
    with pytest.raises(nb.ConfigError, match=r"own\.c"):
        nb.plan(scenario, "virtual")


def test_testbeds(monkeypatch: pytest.MonkeyPatch) -> None:
    bed = nb.Testbed(name="mine", target="virtual")
    for what in (bed, {"name": "mine", "target": "virtual"}):
        loaded = nb.read_testbed(what)
        assert loaded.model == bed
        assert nb.read_testbed(loaded) is loaded
    for user in (0, 1000):
        monkeypatch.setattr("os.geteuid", lambda user=user: user)
        assert nb.read_testbed(None).name == str(CONFIGS / "testbeds" / "virtual.yaml")
    with pytest.raises(nb.ConfigError, match="no such file in configs/testbeds"):
        nb.read_testbed("nosuch")

"""Disciplines as they are written, named, and told to a data plane."""

from typing import Any

import pytest
from nashbed.controlplane.config import parse_scenario
from nashbed.controlplane.contract.disciplines import (
    DISCIPLINES,
    DROPTAIL,
    Discipline,
)
from nashbed.controlplane.contract.errors import ConfigError
from nashbed.controlplane.contract.scenario_keys import Bottleneck
from tests.unit.controlplane.conftest import SCENARIO


def written(text: str) -> Discipline:
    yaml = SCENARIO.replace("2bdp", f"2bdp, discipline: {text}")
    return parse_scenario(yaml, "s.yaml").model.bottleneck.discipline


def test_drop_tail_is_usual_and_told_to_nobody() -> None:
    usual = Bottleneck(rate="10mbit", buffer="2bdp").discipline
    assert usual == written("droptail") == written("{droptail: {}}") == DROPTAIL
    assert usual.is_droptail


@pytest.mark.parametrize("name", [name for name in DISCIPLINES if name != "droptail"])
def test_a_name_stands_for_its_defaults(name: str) -> None:
    short = written(name)
    assert short == written(f"{{{name}: {{}}}}") == written(f"{{{name}: }}")
    assert (short.name, short.label, short.written) == (name, name, name)
    assert short.text == DISCIPLINES[name].TITLE


def told(text: str) -> dict[str, Any]:
    return written(text).model_dump()


def test_parameters_have_the_defaults_of_tc() -> None:
    ms = 10**6
    assert told("codel") == {
        "name": "codel", "target_ns": 5 * ms, "interval_ns": 100 * ms, "ecn": False
    }  # fmt: skip
    assert told("fq_codel") == {
        "name": "fq_codel", "flows": 1024, "quantum_bytes": 1514, "target_ns": 5 * ms,
        "interval_ns": 100 * ms, "ecn": True, "drop_batch": 64,
    }  # fmt: skip
    assert told("pie") == {
        "name": "pie", "target_ns": 15 * ms, "tupdate_ns": 15 * ms, "alpha": 2, "beta": 20,
        "ecn": False, "bytemode": False,
    }  # fmt: skip
    assert told("red")["probability"] == 0.02
    assert "min_bytes" not in told("red")  # the data plane derives it from the buffer, as tc does
    assert told("dualpi2")["step_thresh_ns"] == ms


@pytest.mark.parametrize(
    ("text", "label", "words"),
    [
        ("{codel: {target: 5ms}}", "codel", "CoDel"),
        ("{codel: {target: 1ms, ecn: true}}", "codel-target1ms-ecn", "CoDel (target 1ms, ecn)"),
        ("{fq_codel: {ecn: false}}", "fq_codel-noecn", "FQ-CoDel (no ecn)"),
        ("{red: {probability: 0.1%}}", "red-probability0.1pct", "RED (probability 0.1%)"),
        (
            "{file: ../own/mine.c, params: {depth: 3, wait: 5ms}}",
            "mine-depth3-wait5ms",
            "mine (depth 3, wait 5ms)",
        ),
    ],
)
def test_what_differs_from_the_defaults_is_in_the_names(text: str, label: str, words: str) -> None:
    discipline = written(text)
    assert (discipline.label, discipline.text) == (label, words)


def test_a_file_of_ones_own() -> None:
    assert written("./mine.c") == written("{file: ./mine.c}")
    mine = Discipline(name="mine", file="./mine.c", parameters=(("x", 3),))
    assert written("{file: ./mine.c, params: {x: 3}}") == mine


@pytest.mark.parametrize(
    "text",
    [
        "droptail",
        "{codel: {target: 1ms, ecn: true}}",
        "red",
        "{red: {probability: 1%}}",
        "./mine.c",
    ],
)
def test_it_survives_json(text: str) -> None:
    bottleneck = Bottleneck(rate="10mbit", buffer="2bdp", discipline=written(text))
    again = Bottleneck.model_validate_json(bottleneck.model_dump_json())
    assert again == bottleneck
    told = bottleneck.discipline.model_dump_json()
    assert Discipline.model_validate_json(told) == bottleneck.discipline


@pytest.mark.parametrize(
    ("text", "said"),
    [
        (
            "coddel",
            "discipline: 'coddel' is unknown; did you mean 'codel'? write one of droptail, step, "
            "red, codel, pie, fq_codel, dualpi2, or {file: ./mine.c}",
        ),
        (
            "{coddel: {}}",
            "discipline.coddel: unknown key; did you mean 'codel'? allowed here: droptail, step, "
            "red, codel, pie, fq_codel, dualpi2, file, params",
        ),
        (
            "{codel: {targt: 1ms, ecn: true}}",
            "discipline.codel.targt: unknown key; did you mean 'target'? allowed here: target, "
            "interval, ce_threshold, ecn",
        ),
        ("{codel: 3}", "discipline.codel: 3 is not allowed here; write keys and values"),
        (
            "{codel: {target: 5}}",
            "discipline.codel.target: '5' has no unit; write a duration such as 40ms "
            "(units: ns, us, ms, s, min, h)",
        ),
        (
            "{codel: {target: 0ms}}",
            "discipline.codel.target: 0ns is out of range; write 1us to 10s",
        ),
        (
            "{fq_codel: {target: 0.2s}}",
            "discipline.fq_codel.target: 200ms is not below interval (100ms); make it smaller",
        ),
        (
            "{red: {min: 30kB, max: 20kB}}",
            "discipline.red.min: 30kB is not below max (20kB); make it smaller",
        ),
        (
            "{red: {probability: 0%}}",
            "discipline.red.probability: 0% is out of range; write more than 0% to 100%",
        ),
        ("{step: {threshold: 0B}}", "discipline.step.threshold: 0B is out of range; write 1B to"),
        (
            "{fq_codel: {quantum: 255B}}",
            "discipline.fq_codel.quantum: 255B is out of range; write 256B to 1.048576MB",
        ),
        (
            "{pie: {alpha: 40}}",
            "discipline.pie.alpha: 40: input should be less than or equal to 32",
        ),
        (
            "{codel: {}, red: {}}",
            "discipline: has red and codel; write one discipline, such as codel, or "
            "{file: ./mine.c}",
        ),
        ("{}", "discipline: names none; write one discipline"),
        (
            "pie, arrive_as: trains",
            "discipline: pie decides packet by packet; with `arrive_as: trains` write droptail",
        ),
        (
            "{codel: {}, params: {x: 1}}",
            "discipline.params: are those of a file; write them under `codel` itself",
        ),
        ("{file: mine.txt}", "discipline.file: mine.txt: is no C file; write a path such as"),
        (
            "./Mine.c",
            "discipline.file: ./Mine.c: a discipline has the name of its file, at most 15 of a-z",
        ),
        (
            "./codel.c",
            "discipline.file: ./codel.c: nashbed has a codel of its own; rename the file",
        ),
    ],
)
def test_mistakes_are_one_line(text: str, said: str) -> None:
    with pytest.raises(ConfigError) as caught:
        written(text)
    assert caught.value.message.startswith(f"s.yaml:3: bottleneck.{said}")
    assert "\n" not in caught.value.message

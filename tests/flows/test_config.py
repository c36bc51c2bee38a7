"""Bad input is one clear line and exit status 2; `--check` shows what would be run."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

Config = dict[str, Any]


def run(binary: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [str(binary), *arguments], capture_output=True, text=True, timeout=10, check=False
    )


def refused(result: subprocess.CompletedProcess[str], status: int) -> str:
    """The one line of a refusal, the same on stderr and in the error event."""
    assert result.returncode == status, result
    [line] = result.stderr.splitlines()
    event = json.loads(result.stdout)
    assert event == {"event": "error", "exit": status, "error": event["error"]}
    assert line == f"nashbed-flows: {event['error']}"
    return event["error"]


@pytest.fixture
def check(flows_binary: Path, tmp_path: Path) -> Callable[[str], Any]:
    def check_text(text: str) -> subprocess.CompletedProcess[str]:
        path = tmp_path / "flows.json"
        path.write_text(text)
        return run(flows_binary, "--config", str(path), "--check")

    return check_text


def test_check_prints_the_configuration_it_was_given(
    check: Callable[[str], Any], config: Config
) -> None:
    result = check(json.dumps(config))
    assert (result.returncode, result.stderr) == (0, "")
    assert json.loads(result.stdout) == config


def test_check_fills_in_defaults(check: Callable[[str], Any], config: Config) -> None:
    for key in [
        "t0_ns",
        "sample_ns",
        "interval_ns",
        "drain_ns",
        "read_bytes",
        "read_interval_ns",
        "connect_timeout_ns",
        "span_ns",
        "progress_ns",
        "controls",
        "control_states",
        "applications",
    ]:
        del config[key]
    del config["flows"][0]["process"]
    del config["flows"][0]["ecn"], config["flows"][0]["dscp"]
    effective = json.loads(check(json.dumps(config)).stdout)
    assert effective["t0_ns"] is None
    assert effective["sample_ns"] == 50_000_000
    assert effective["interval_ns"] == 100_000_000
    assert effective["drain_ns"] == 1_000_000_000
    assert effective["read_bytes"] == 16384
    assert effective["read_interval_ns"] == 0
    assert effective["connect_timeout_ns"] == 10_000_000_000
    assert effective["span_ns"] == config["duration_ns"]
    assert effective["progress_ns"] == 0
    assert effective["controls"] == []
    assert effective["control_states"] == []
    assert effective["applications"] == []
    assert effective["flows"][0]["process"] == 0
    assert effective["flows"][0]["ecn"] is False
    assert effective["flows"][0]["dscp"] == 0


TOP_LEVEL = [
    ({"rolle": "sink"}, "unknown key 'rolle'"),
    ({"role": "receiver"}, 'role: bad value "receiver"'),
    ({"role": 1}, "role: bad value 1"),
    ({"lane": -1}, "lane: bad value -1"),
    ({"lane": "0"}, 'lane: bad value "0"'),
    ({"duration_ns": 0}, "duration_ns: bad value 0"),
    ({"duration_ns": 1.5}, "duration_ns: bad value 1.5"),
    ({"duration_ns": True}, "duration_ns: bad value true"),
    ({"interval_ns": None}, "interval_ns: bad value null"),
    ({"read_bytes": 65537}, "read_bytes: bad value 65537"),
    ({"t0_ns": -1}, "t0_ns: bad value -1"),
    ({"out": ""}, 'out: bad value ""'),
    ({"out": 3}, "out: bad value 3"),
    ({"controls": {}}, "controls: bad value {}"),
    ({"controls": [{}]}, "controls[0].src: is missing"),
    ({"control_states": [{"cc": "x", "map_id": -1}]}, "control_states[0].map_id: bad value -1"),
    ({"flows": []}, "flows: bad value []"),
    ({"flows": [7]}, "flows[0]: bad value 7"),
]

FLOW_LEVEL = [
    ({"sprot": 1}, "flows[1]: unknown key 'sprot'"),
    ({"flow": 2**32}, "flows[1].flow: bad value 4294967296"),
    ({"sport": 0}, "flows[1].sport: bad value 0"),
    ({"dport": 65536}, "flows[1].dport: bad value 65536"),
    ({"src": "10.64.0"}, 'flows[1].src: bad value "10.64.0"'),
    ({"dst": "::1"}, 'flows[1].dst: bad value "::1"'),
    ({"dst": "0.0.0.0"}, 'flows[1].dst: bad value "0.0.0.0"'),
    ({"cc": ""}, 'flows[1].cc: bad value ""'),
    ({"cc": "a" * 16}, "flows[1].cc: bad value"),
    ({"process": 64}, "flows[1].process: bad value 64"),
]


def test_every_flow_has_a_process_and_every_process_a_flow(
    check: Callable[[str], Any], config: Config, helpers: Any
) -> None:
    config["controls"] = [helpers.control(0), helpers.control(1)]
    message = "flows: 0 of process 1, where there are 2"
    assert message in refused(check(json.dumps(config)), 2)
    config["flows"].append({**helpers.flow(1), "process": 2})
    config["flows"].append({**helpers.flow(2), "process": 1})
    message = "flows: 1 of process 2, where there are 2"
    assert message in refused(check(json.dumps(config)), 2)
    config["flows"][1]["process"] = 0
    assert check(json.dumps(config)).returncode == 0


@pytest.mark.parametrize(("change", "message"), TOP_LEVEL)
def test_bad_key_of_the_configuration(
    check: Callable[[str], Any], config: Config, change: Config, message: str
) -> None:
    assert message in refused(check(json.dumps({**config, **change})), 2)


@pytest.mark.parametrize(("change", "message"), FLOW_LEVEL)
def test_bad_key_of_a_flow(
    check: Callable[[str], Any], config: Config, helpers: Any, change: Config, message: str
) -> None:
    config["flows"].append({**helpers.flow(1), **change})
    assert message in refused(check(json.dumps(config)), 2)


@pytest.mark.parametrize("key", ["role", "lane", "duration_ns", "out", "flows"])
def test_missing_key(check: Callable[[str], Any], config: Config, key: str) -> None:
    del config[key]
    assert f"{key}: is missing" in refused(check(json.dumps(config)), 2)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "not JSON"),
        ("[]", "bad value []"),
        ('{"lane": 1, "lane": 2}', "duplicate object key"),
        ('{"lane": 99999999999999999999}', "not JSON: too big integer"),
        ('{"lane": "\\u0000"}', "not JSON"),
        ("[" * 5000, "not JSON"),
    ],
)
def test_bad_text(check: Callable[[str], Any], text: str, message: str) -> None:
    assert message in refused(check(text), 2)


def test_line_of_a_syntax_error(check: Callable[[str], Any]) -> None:
    assert "flows.json:2:" in refused(check('{"lane": 1,\n nonsense}'), 2)


def test_no_such_file(flows_binary: Path) -> None:
    assert "/nowhere.json" in refused(run(flows_binary, "--config", "/nowhere.json"), 2)


@pytest.mark.parametrize("arguments", [[], ["--check"], ["--config"], ["--fast"], ["file.json"]])
def test_bad_command_line(flows_binary: Path, arguments: list[str]) -> None:
    result = run(flows_binary, *arguments)
    assert result.returncode == 2
    assert "nashbed-flows: " in result.stderr
    assert "--help" in result.stderr


def test_out_must_be_a_directory(flows_binary: Path, config: Config, tmp_path: Path) -> None:
    path = tmp_path / "flows.json"
    config.update(role="sink", t0_ns=0, out=str(tmp_path / "missing"))
    path.write_text(json.dumps(config))
    message = refused(run(flows_binary, "--config", str(path)), 4)
    assert "missing/goodput.bin: cannot create" in message

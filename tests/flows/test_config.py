"""Bad input is one clear line and exit status 2."""

import json
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

Config = dict[str, Any]


def run(binary: Path, *arguments: str, said: str = "") -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [str(binary), *arguments],
        input=said,
        capture_output=True,
        text=True,
        timeout=10,
        check=False,
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
        return run(flows_binary, "--config", str(path))

    return check_text


TOP_LEVEL = [
    ({"rolle": "sink"}, "unknown key 'rolle'"),
    ({"role": "receiver"}, 'role: bad value "receiver"'),
    ({"role": 1}, "role: bad value 1"),
    ({"span_ns": -1}, "span_ns: bad value -1"),
    ({"span_ns": "0"}, 'span_ns: bad value "0"'),
    ({"duration_ns": 0}, "duration_ns: bad value 0"),
    ({"duration_ns": 1.5}, "duration_ns: bad value 1.5"),
    ({"duration_ns": True}, "duration_ns: bad value true"),
    ({"interval_ns": None}, "interval_ns: bad value null"),
    ({"read_bytes": 65537}, "read_bytes: bad value 65537"),
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


@pytest.mark.parametrize("key", ["role", "duration_ns", "read_bytes", "out", "flows"])
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


@pytest.mark.parametrize("arguments", [[], ["--config"], ["--fast"], ["file.json"]])
def test_bad_command_line(flows_binary: Path, arguments: list[str]) -> None:
    result = run(flows_binary, *arguments)
    assert result.returncode == 2
    assert "nashbed-flows: " in result.stderr
    assert "--help" in result.stderr


def test_out_must_be_a_directory(flows_binary: Path, config: Config, tmp_path: Path) -> None:
    path = tmp_path / "flows.json"
    config.update(role="sink", out=str(tmp_path / "missing"))
    path.write_text(json.dumps(config))
    message = refused(run(flows_binary, "--config", str(path), said='{"t0_ns": 0}\n'), 4)
    assert "missing/goodput.bin: cannot create" in message

# SPDX-License-Identifier: Apache-2.0
"""The data plane's configuration: what is wrong is said in one line that names file and key."""

import json
import subprocess
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from nashbed.controlplane.contract.shared import CONSTANTS
from tests.support.replay import BINARY, REPLAY, SPEC

pytestmark = pytest.mark.dataplane

Config = dict[str, Any]
Run = subprocess.CompletedProcess[str]

GOOD: Config = {
    "role": "bottleneck",
    "spec": str(SPEC),
    "pipeline": "interpreted",
    "control_socket": "/run/nbt.sock",
    "cores": [0],
    "service_core": 1,
    "loop": "sleep",
    "huge_pages": False,
    "memory_mb": 128,
    "lanes": 8,
    "flow_capacity": 1000,
    "queue_packets": 2048,
    "ports": {
        "senders": {"driver": "af_xdp", "iface": "nbs1"},
        "receivers": {"driver": "pci", "address": "0000:01:00.0"},
    },
}

OF_P4 = ("spec", "pipeline")

HOSTS: Config = {name: value for name, value in GOOD.items() if name not in OF_P4} | {
    "role": "hosts",
    "ports": {
        "senders": {"driver": "af_packet", "iface": "nbs1"},
        "switch": {"driver": "af_packet", "iface": "nbi1"},
        "telemetry": {"driver": "pci", "address": "0000:01:00.0"},
    },
}


def run_with(program: Path, folder: Path, text: str | bytes, *more: str | Path) -> Run:
    path = folder / "dp.json"
    path.write_bytes(text.encode() if isinstance(text, str) else text)
    command = [program, "--config", path, *more]
    return subprocess.run(command, capture_output=True, text=True, check=False, timeout=120)


def check(folder: Path, text: str | bytes, *more: str | Path) -> Run:
    """nashbed-dataplane --check on a file of this text."""
    return run_with(BINARY, folder, text, *(more or ("--check",)))


def replay(folder: Path, config: Any) -> Run:
    """nashbed-replay on this configuration and a capture that is never reached."""
    capture = ("--capture", "in.pcap", "--out", folder / "out")
    return run_with(REPLAY, folder, json.dumps(config), *capture)


def refusal(run: Run) -> str:
    """The one line of a configuration that is refused."""
    assert run.returncode == 2, (run.returncode, run.stdout, run.stderr)
    assert run.stdout == ""
    assert run.stderr.count("\n") == 1, run.stderr
    assert "dp.json" in run.stderr
    return run.stderr


def test_check_prints_what_takes_effect(tmp_path: Path) -> None:
    run = check(tmp_path, json.dumps(GOOD))
    assert (run.returncode, run.stderr) == (0, "")
    assert json.loads(run.stdout) == GOOD


def test_each_packet_loop_has_devices_of_its_own(tmp_path: Path) -> None:
    two = GOOD | {
        "cores": [3, 1],
        "ports": {
            "senders": {"driver": "af_xdp", "iface": ["nbs1", "nbs3"]},
            "receivers": {"driver": "pci", "address": ["0000:01:00.0", "0000:02:00.0"]},
        },
    }
    run = check(tmp_path, json.dumps(two))
    assert (run.returncode, run.stderr) == (0, "")
    assert json.loads(run.stdout) == two


def test_check_prints_the_hosts_role_too(tmp_path: Path) -> None:
    run = check(tmp_path, json.dumps(HOSTS))
    assert (run.returncode, run.stderr) == (0, "")
    assert json.loads(run.stdout) == HOSTS


@pytest.mark.parametrize(
    ("change", "named"),
    [
        ({"role": "switch"}, 'role: bad value "switch"'),
        ({"role": 1}, "role"),
        ({"ports": GOOD["ports"]}, "ports.receivers"),
        ({"ports": {"senders": HOSTS["ports"]["senders"]}}, "ports.switch"),
        ({"ports": HOSTS["ports"] | {"telemetry": {"driver": "tap"}}}, "telemetry: has 0 devices"),
    ],
)
def test_a_wrong_value_of_the_hosts_role_is_named(
    tmp_path: Path, change: Config, named: str
) -> None:
    assert named in refusal(check(tmp_path, json.dumps(HOSTS | change)))


def test_the_hosts_role_cannot_replay(tmp_path: Path) -> None:
    run = replay(tmp_path, HOSTS)
    assert "role: a replay needs the bottleneck" in refusal(run)


def test_what_is_left_out_is_filled_in_and_is_stable(tmp_path: Path) -> None:
    shortest = {name: GOOD[name] for name in ("spec", "control_socket", "ports")}
    first = check(tmp_path, json.dumps(shortest))
    assert first.returncode == 0
    assert json.loads(first.stdout)["lanes"] == 64
    assert check(tmp_path, first.stdout).stdout == first.stdout


@pytest.mark.parametrize(
    ("change", "named"),
    [
        ({"cores": ["0"]}, "cores"),
        ({"cores": [-1]}, "cores"),
        ({"cores": [1.0]}, "cores[0]: bad value 1.0"),
        ({"cores": [0, 1024]}, "cores[1]: bad value 1024"),
        ({"cores": 0}, "cores: bad value 0"),
        ({"cores": []}, "cores: bad value ["),
        ({"cores": list(range(17))}, "cores: bad value ["),
        ({"cores": [0, 1]}, "ports.senders: has 1 devices, needs 2: role bottleneck, 2"),
        ({"service_core": None}, "service_core"),
        ({"memory_mb": 63}, "memory_mb: bad value 63"),
        ({"memory_mb": 2**40}, "memory_mb"),
        ({"lanes": 0}, "lanes"),
        ({"lanes": 65}, "lanes"),
        ({"flow_capacity": 65537}, "flow_capacity"),
        ({"queue_packets": 1023}, "queue_packets"),
        ({"queue_packets": CONSTANTS.queue_packets_max + 1}, "queue_packets"),
        ({"queue_packets": True}, "queue_packets"),
        ({"loop": "fast"}, "loop"),
        ({"loop": 1}, "loop"),
        ({"huge_pages": "no"}, "huge_pages"),
        ({"spec": ""}, "spec"),
        ({"pipeline": "compiled"}, 'pipeline: bad value "compiled"'),
        ({"pipeline": True}, "pipeline"),
        ({"spec": "x" * 256}, 'spec: bad value "xxx'),
        ({"control_socket": 7}, "control_socket"),
        ({"more": 1}, "more"),
        ({"more\nlines": 1}, "more?lines"),
        ({"ports": []}, "ports"),
        ({"ports": {"senders": GOOD["ports"]["senders"]}}, "ports.receivers"),
        ({"ports": GOOD["ports"] | {"third": {}}}, "third"),
        (
            {"ports": GOOD["ports"] | {"senders": {"driver": "dpdk"}}},
            'ports.senders.driver: bad value "dpdk"',
        ),
        ({"ports": GOOD["ports"] | {"senders": {"driver": "tap"}}}, "senders: has 0 devices"),
        ({"ports": GOOD["ports"] | {"senders": {"driver": "pci", "iface": "a"}}}, "iface"),
        ({"ports": GOOD["ports"] | {"senders": {"driver": "tap", "iface": "x" * 64}}}, "iface"),
        ({"ports": GOOD["ports"] | {"senders": {"driver": "tap", "iface": []}}}, "has 0 devices"),
        ({"ports": GOOD["ports"] | {"senders": {"driver": "tap", "iface": ["a", 1]}}}, "iface"),
        ({"ports": GOOD["ports"] | {"senders": {"driver": "tap", "iface": ["a"] * 17}}}, "iface"),
        (
            {"ports": GOOD["ports"] | {"senders": {"driver": "tap", "iface": ["a", "b"]}}},
            "ports.senders: has 2 devices, needs 1",
        ),
    ],
)
def test_a_wrong_value_is_named(tmp_path: Path, change: Config, named: str) -> None:
    assert named in refusal(check(tmp_path, json.dumps(GOOD | change)))


@pytest.mark.parametrize("name", ["spec", "control_socket", "ports"])
def test_a_missing_key_is_named(tmp_path: Path, name: str) -> None:
    config = {key: value for key, value in GOOD.items() if key != name}
    assert name in refusal(check(tmp_path, json.dumps(config)))


LIMIT = {"unit": "bytes", "value": 1000}
BOTTLENECK = {"rate_bps": 10**6, "limit": LIMIT}
TOO_LARGE_CELLS = {"unit": "cells", "value": 9, "cell_bytes": CONSTANTS.cell_bytes_max + 1}


@pytest.mark.parametrize(
    ("bottleneck", "named"),
    [
        (None, "bottleneck"),
        ([], "bottleneck"),
        (BOTTLENECK | {"rate_bps": 0}, "rate_bps"),
        (BOTTLENECK | {"rate_bps": CONSTANTS.rate_bps_max + 1}, "rate_bps"),
        (BOTTLENECK | {"rate_bps": 2**63}, "too big"),
        (BOTTLENECK | {"overhead_bytes": -1}, "overhead_bytes"),
        (BOTTLENECK | {"overhead_bytes": CONSTANTS.overhead_bytes_max + 1}, "overhead_bytes"),
        (BOTTLENECK | {"limit": LIMIT | {"value": 0}}, "bottleneck.limit.value: "),
        (
            BOTTLENECK | {"limit": LIMIT | {"value": CONSTANTS.limit_max + 1}},
            "bottleneck.limit.value: ",
        ),
        (BOTTLENECK | {"limit": LIMIT | {"unit": "cells"}}, "bottleneck.limit: bad value"),
        (BOTTLENECK | {"limit": TOO_LARGE_CELLS}, "cell_bytes"),
        (BOTTLENECK | {"discipline": "red"}, "discipline"),
        (
            BOTTLENECK | {"limit_counts": "waiting"},
            'bottleneck.limit_counts: bad value "waiting"',
        ),
        (BOTTLENECK | {"arrive_as": "cars"}, 'bottleneck.arrive_as: bad value "cars"'),
    ],
)
def test_a_wrong_bottleneck_of_a_replay(tmp_path: Path, bottleneck: Any, named: str) -> None:
    run = replay(tmp_path, {"spec": str(SPEC), "bottleneck": bottleneck})
    assert named in refusal(run)


@pytest.mark.parametrize(
    ("discipline", "named"),
    [
        ("codel", 'bottleneck.discipline: bad value "codel"'),
        ({}, "bottleneck.discipline: bad value {}"),
        ({"name": "choke"}, "bottleneck.discipline: choke: unknown"),
        ({"name": "codel", "limit": 3}, "bottleneck.discipline.limit: no such parameter"),
        (
            {"name": "codel", "target_ns": 999},
            "discipline.target_ns: no such parameter, or a bad value",
        ),
        ({"name": "codel", "target_ns": 5e6 + 0.5}, "target_ns: no such parameter, or a bad value"),
        ({"name": "codel", "target_ns": 10**8}, "codel: target is not below interval"),
        ({"name": "codel", "ecn": 1}, "discipline.ecn: no such parameter, or a bad"),
        ({"name": "codel", "seed": "a"}, "bottleneck.discipline: bad value"),
        ({"name": "red", "probability": 1.5}, "discipline.probability: no such parameter, or"),
        ({"name": "red", "min_bytes": 9000, "max_bytes": 8000}, "red: min is above max"),
        ({"name": "mine", "file": "/no/mine.so"}, "discipline: /no/mine.so: "),
        ({"name": "mine", "file": str(SPEC)}, f"discipline: {SPEC}: "),
    ],
)
def test_a_wrong_discipline(tmp_path: Path, discipline: Any, named: str) -> None:
    bottleneck = BOTTLENECK | {"discipline": discipline}
    run = replay(tmp_path, {"spec": str(SPEC), "bottleneck": bottleneck})
    assert named in refusal(run)


QUEUES = [{"weight": 1}, {"weight": 2, "limit_bytes": 900}]


@pytest.mark.parametrize(
    ("queues", "named"),
    [
        ([], "bottleneck.queues: bad value []"),
        ({}, "bottleneck.queues.queues: is missing"),
        ({"queues": [{}]}, "queues.queues: bad value [{}"),
        ({"queues": [{}] * 9}, "queues.queues: bad value [{}"),
        ({"queues": QUEUES, "scheduler": "wfq"}, 'queues.scheduler: bad value "wfq"'),
        ({"queues": [{}, {"weight": 0}]}, "queues.queues[1].weight: bad value 0"),
        ({"queues": [{}, {"weight": 256}]}, "queues.queues[1].weight: bad value 256"),
        ({"queues": [{"limit_bytes": -1}, {}]}, "queues[0].limit_bytes: bad value -1"),
        ({"queues": [{"name": "a"}, {}]}, "queues.queues[0]: unknown key 'name'"),
        (
            {"queues": [{}, {"discipline": "red"}]},
            'queues.queues[1].discipline: bad value "red"',
        ),
        (
            {"queues": [{}, {"discipline": {"name": "codel", "target_ns": 1}}]},
            "queues.queues[1].discipline.target_ns: no such parameter, or a bad",
        ),
        ({"queues": QUEUES, "memory": "all"}, 'queues.memory: bad value "all"'),
        ({"queues": QUEUES, "memory": {}}, "queues.memory: bad value {}"),
        (
            {"queues": QUEUES, "memory": {"name": "abm"}},
            "queues.memory: abm: unknown",
        ),
        (
            {"queues": QUEUES, "memory": {"name": "dynamic_threshold", "alpha": 65}},
            "queues.memory.alpha: no such parameter, or a bad value",
        ),
        (
            {"queues": QUEUES, "memory": {"name": "dynamic_threshold", "beta": 1}},
            "queues.memory.beta: no such parameter",
        ),
        ({"queues": QUEUES, "memory": {"name": "static"}}, "memory: limits_bytes must be a list"),
        (
            {"queues": QUEUES, "memory": {"name": "static", "limits_bytes": [1]}},
            "queues: memory: limits_bytes must be a list of one limit of each queue",
        ),
        *(
            ({"queues": QUEUES, "memory": {"name": "static", "limits_bytes": limits}}, said)
            for limits, said in (
                ([1, 0], "queues: memory: limits_bytes must be"),
                ([1, -1], "queues: memory: limits_bytes must be"),
                ([1, 2, 3], "queues: memory: limits_bytes must be"),
                ([1] * 9, "queues.memory: bad value"),
            )
        ),
        (
            {"queues": QUEUES, "memory": {"name": "mine", "file": "/no/mine.so"}},
            "queues.memory: /no/mine.so: ",
        ),
        ({"queues": QUEUES, "seed": -1}, "bottleneck.queues.seed: bad value -1"),
    ],
)
def test_wrong_queues(tmp_path: Path, queues: Any, named: str) -> None:
    run = replay(tmp_path, {"spec": str(SPEC), "bottleneck": BOTTLENECK | {"queues": queues}})
    assert named in refusal(run)


@pytest.mark.parametrize(
    "change",
    [
        {"limit": LIMIT | {"unit": "packets"}},
        {"arrive_as": "trains"},
        {"discipline": {"name": "codel"}},
    ],
)
def test_a_lane_that_cannot_have_queues(tmp_path: Path, change: Config) -> None:
    bottleneck = BOTTLENECK | change | {"queues": {"queues": QUEUES}}
    refused = refusal(replay(tmp_path, {"spec": str(SPEC), "bottleneck": bottleneck}))
    assert "queues: need a limit in bytes, frames one by one, and no discipline" in refused


@pytest.mark.parametrize(
    "text",
    [b"", b"{", b"[]", b"null", b"{}}", b"\xff\xfe", b"{\"spec\":\"\xc3\"}", b"\0" * 100,
     b'{"core":1,"core":2}', b"[" * 10_000],
)  # fmt: skip
def test_what_is_no_configuration_at_all(tmp_path: Path, text: bytes) -> None:
    refusal(check(tmp_path, text))


def test_a_file_that_is_not_there(tmp_path: Path) -> None:
    run = check(tmp_path, "{}", "--check", "--config", tmp_path / "no" / "dp.json")
    assert "line" not in refusal(run)


JSON = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**63), 2**63 - 1) | st.text(max_size=70),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=8), inner),
    max_leaves=5,
)


@pytest.mark.slow
@settings(max_examples=60, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.dictionaries(st.sampled_from(sorted(GOOD)) | st.text(max_size=5), JSON, max_size=3))
def test_mutations_are_taken_or_refused(tmp_path: Path, changes: Config) -> None:
    run = check(tmp_path, json.dumps(GOOD | changes))
    if run.returncode == 0:
        assert json.loads(run.stdout)
    else:
        refusal(run)


@settings(max_examples=30, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.integers(0, len(json.dumps(GOOD)) - 1))
def test_a_cut_file_is_refused(tmp_path: Path, length: int) -> None:
    refusal(check(tmp_path, json.dumps(GOOD)[:length]))


@pytest.mark.parametrize(
    ("program", "arguments"),
    [
        (BINARY, ()),
        (BINARY, ("--config",)),
        (BINARY, ("--nonsense",)),
        (BINARY, ("--config", "x", "z")),
        (REPLAY, ()),
        (REPLAY, ("--config", "x")),
        (REPLAY, ("--config", "x", "--capture", "y")),
        (REPLAY, ("--config", "x", "--bench", "1", "--capture", "y", "--out", "z")),
    ],
)
def test_a_wrong_command_line_names_the_help(program: Path, arguments: tuple[str, ...]) -> None:
    run = subprocess.run([program, *arguments], capture_output=True, text=True, check=False)
    assert run.returncode == 2
    assert f"{program.name} --help" in run.stderr


@pytest.mark.parametrize(
    ("spec", "why"),
    [
        (None, "No such file"),
        ("nonsense here\n", "line 1"),
        ("apply {\n\trx m.port\n", "the file ends inside a block"),
        ("action a args none {\n\tregadd counts 0x1 1\n}\n", "constant index"),
        ("\0\n" * 50 + "struct\n", "line 51"),
    ],
)
def test_a_bad_p4_program_is_exit_3(tmp_path: Path, spec: str | None, why: str) -> None:
    path = tmp_path / "bottleneck.spec"
    if spec is not None:
        path.write_text(spec)
    config = {"spec": str(path), "memory_mb": 96, "queue_packets": 1024, "bottleneck": BOTTLENECK}
    run = replay(tmp_path, config)
    assert run.returncode == 3
    assert run.stderr.count("\n") == 1
    assert why in run.stderr


def test_too_little_memory_is_exit_4_and_says_what_to_do(tmp_path: Path) -> None:
    config = {"spec": str(SPEC), "memory_mb": 64, "queue_packets": 10**6, "bottleneck": BOTTLENECK}
    run = replay(tmp_path, config)
    assert run.returncode == 4
    assert run.stderr.count("\n") == 1
    assert "memory_mb" in run.stderr

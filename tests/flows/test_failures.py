"""What ends a run early: the host's refusals, signals, a closed stdin, a full disk."""

import json
import os
import signal
import subprocess
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

pytestmark = pytest.mark.root

Config = dict[str, Any]
MS = 1_000_000


def error_of(process: Any, status: int) -> str:
    """The process ends with one error event, the same line on stderr, and this status."""
    [event], stderr, returned = process.finish()
    assert returned == status, stderr
    assert event["event"] == "error"
    assert stderr == f"nashbed-flows: {event['error']}\n"
    return event["error"]


def test_cca_that_the_kernel_lacks(network: Any, config: Config, helpers: Any) -> None:
    config["flows"] = [helpers.flow(0), helpers.flow(1, "nosuchcc")]
    message = error_of(network.start("sender", config), 4)
    assert "flow 1 (" in message
    assert "the kernel has no congestion control 'nosuchcc' (available: " in message
    assert "cubic" in message.split("available: ")[1]


def test_source_address_that_is_not_here(network: Any, config: Config) -> None:
    config["flows"][0]["src"] = "10.64.9.9"
    assert "cannot bind the source" in error_of(network.start("sender", config), 4)


def test_sink_address_that_is_not_here(network: Any, config: Config) -> None:
    config["flows"][0]["dst"] = "10.65.9.9"
    message = error_of(network.start("sink", config), 4)
    assert "cannot listen on 10.65.9.9:5001" in message


def test_nobody_listens(network: Any, config: Config) -> None:
    message = error_of(network.start("sender", config), 4)
    assert "flow 0 (cubic, 10.64.0.1:10000 -> 10.65.0.1:5001): cannot connect" in message
    assert "Connection refused" in message


def test_nobody_answers(network: Any, config: Config, helpers: Any) -> None:
    config["connect_timeout_ns"] = 200 * MS
    config["flows"] = [{**helpers.flow(i), "dst": "10.65.9.9"} for i in range(2)]
    message = error_of(network.start("sender", config), 4)
    assert "10.65.9.9:5001" in message
    assert "no answer within 0.200 s (0 of 2 flows are connected)" in message


@pytest.mark.parametrize("role", ["sender", "sink"])
def test_stdin_closes_before_t0(network: Any, config: Config, role: str) -> None:
    sink, sender, _ = network.start_both(config)
    process = sender if role == "sender" else sink
    process.close_stdin()
    assert "stdin closed before t0 arrived" in error_of(process, 4)


@pytest.mark.parametrize(
    "line", ["now", "{}", '{"t0_ns": "5"}', '{"t0_ns": -5}', '{"t0_ns": 1, "x": 2}', "x" * 500]
)
def test_bad_t0_line(network: Any, config: Config, line: str) -> None:
    sink = network.start("sink", config)
    sink.event()
    sink.say(line)
    assert 'stdin: expected one line {"t0_ns": N}' in error_of(sink, 2)


def test_t0_in_the_past(network: Any, config: Config) -> None:
    past_ns = time.monotonic_ns()
    sink = network.start("sink", config)
    sink.event()
    sender = network.start("sender", config)
    assert sender.event()["event"] == "ready"
    sender.say(json.dumps({"t0_ns": past_ns}))
    assert "before the flows were ready" in error_of(sender, 4)


@pytest.mark.live
@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_signal_in_the_middle(
    network: Any, config: Config, helpers: Any, number: signal.Signals, tmp_path: Path
) -> None:
    network.shape(20, 50_000)
    config["duration_ns"] = 60_000 * MS
    sink, sender, _ = network.start_both(config)
    t0_ns = helpers.announce(sink, sender)
    helpers.sleep_until(t0_ns + 300 * MS)

    for process in (sender, sink):
        process.popen.send_signal(number)
    for process in (sender, sink):
        [event], stderr, status = process.finish()
        assert (event["event"], event["signal"]) == ("interrupted", number.name)
        assert (stderr, status) == ("", 128 + number)
    samples, goodput = helpers.read_records(tmp_path)
    assert len(samples) >= 4
    assert goodput["bytes"].sum() == event["flows"][0]["bytes"] > 0


@pytest.mark.parametrize("role", ["sender", "sink"])
def test_signal_before_t0(network: Any, config: Config, role: str) -> None:
    sink, sender, _ = network.start_both(config)
    process = sender if role == "sender" else sink
    process.popen.terminate()
    [event], stderr, status = process.finish()
    assert (event["event"], stderr, status) == ("interrupted", "", 143)


@pytest.fixture
def tiny_disk(tmp_path: Path) -> Iterator[Path]:
    if os.geteuid() != 0:
        pytest.skip("needs root: mount")
    directory = tmp_path / "tiny"
    directory.mkdir()
    command = ["mount", "-t", "tmpfs", "-o", "size=16k", "nashbed-test", str(directory)]
    subprocess.run(command, check=True)
    yield directory
    subprocess.run(["umount", str(directory)], check=True)


@pytest.mark.live
def test_full_disk(network: Any, config: Config, helpers: Any, tiny_disk: Path) -> None:
    config.update(sample_ns=MS, interval_ns=MS, out=str(tiny_disk), drain_ns=1000 * MS)
    network.shape(20, 50_000)
    sink, sender, _ = network.start_both(config)
    helpers.announce(sink, sender)
    message = error_of(sender, 4)
    assert f"{tiny_disk}/flow_samples.bin: cannot write: No space left on device" in message


def test_stdout_that_nobody_reads(network: Any, config: Config) -> None:
    sink = network.start("sink", config)
    sink.event()
    sink.popen.stdout.close()
    sink.popen.stdout = None
    sink.popen.terminate()
    _, stderr, status = sink.finish()
    assert status == 4
    assert "stdout: cannot write: Broken pipe" in stderr

"""Programs as strategies in whole trials, in virtual time: what they get, and what may go wrong."""

import shutil
import sys
from pathlib import Path

import numpy as np
import pytest
from nashbed.controlplane.contract.errors import EXIT_HOST, NashbedError
from nashbed.controlplane.machine.guest.kernel import require_pinning
from nashbed.controlplane.machine.kernels.cache import find_kernel
from nashbed.controlplane.machine.process import command
from tests.e2e.conftest import ROOT, Nashbed, digests, only_valid, records, table
from tests.fakes.flow_program import SEGMENTS

pytestmark = [pytest.mark.virtual, pytest.mark.slow, pytest.mark.usefixtures("guests_place")]

FLOW = ROOT / "tests" / "fakes" / "flow_program.py"
PROGRAM = """\
title: Datagrams at 4 Mbit/s
transport: udp
sender: client
server: [{python}, {flow}, server, "{{address}}", "{{port}}", {server}, "{{log}}"]
client: [{program}, "{{address}}", "{{port}}", {client}, "{{log}}"]
"""
TEXT = """\
name: e2e-program
title: A program beside the kernel's CUBIC
bottleneck: {{rate: 20mbit, buffer: 1bdp}}
flows: [{{name: main, count: 2, base_rtt: 40ms}}]
strategies: [cubic, {{program: {program}}}]
duration: 3s
warmup: 1s
trials: 1
max_attempts: 1
sweep: {{mixes: [1]}}
"""


FAILURES = [
    ("never-ready", "fine", "tiny server of flow 1 has not opened udp port 10001"),
    ("elsewhere", "fine", "listens on 127.0.0.1:10001, and not on 10.65.0.1"),
    ("ipv6-alone", "fine", "listens on [::]:10001 for IPv6 alone, and not on 10.65.0.1"),
    ("fine", "ends", "tiny client of flow 1 ended early (exit code 0)"),
    ("fine", "crashes", "ended early (killed by SIGABRT): something broke"),
    ("fine", "raises", "ended early (exit code 1): ValueError: something broke"),
    ("fine", "fills", "tiny client of flow 1 wrote a file of 143MB"),
]
"""How the server and the client of the tiny program go wrong, and what is said then."""


@pytest.fixture(autouse=True)
def _processor_that_can() -> None:
    try:
        require_pinning(find_kernel("").release)
    except NashbedError as error:
        pytest.skip(error.message)


def scenario(tool: Nashbed, program: str, more: str = "") -> Path:
    path = tool.folder / "scenario.yaml"
    path.write_text(TEXT.format(program=program) + more)
    return path


def own(
    tool: Nashbed, server: str = "fine", client: str = "fine", more: str = "", program: str = ""
) -> Path:
    """A scenario with the tiny program, which does as it is told.

    Args:
        program: In place of its client.
    """
    python = Path(sys.executable).resolve()
    program = program or f"{python}, {FLOW}, client"
    names = {"python": python, "flow": FLOW, "program": program}
    described = PROGRAM.format(server=server, client=client, **names)
    (tool.folder / "tiny.yaml").write_text(described)
    return scenario(tool, "tiny.yaml", more)


def needs(program: str) -> pytest.MarkDecorator:
    path = f"{Path(sys.executable).parent}:/usr/bin:/usr/sbin"
    return pytest.mark.skipif(
        shutil.which(program, path=path) is None, reason=f"{program} is not installed"
    )


def test_a_program_gets_what_it_sends_and_leaves_nothing(nashbed: Nashbed) -> None:
    run_dir = nashbed.run(own(nashbed), "virtual")
    record = only_valid(run_dir)
    flows = table(run_dir, record["id"], "flows")
    program = int(np.flatnonzero(flows["cc"] == "tiny")[0])
    # 1,000 bytes every 2 ms, and the clock is read before each sleep; whatever is dropped is not
    # sent again.
    assert 0.95 < flows["bytes_sent"][program] / (1000 * 3 * 500) <= 1
    left = table(run_dir, record["id"], "postcards")
    mine = (left["flow"] == program) & (left["kind"] == 0)
    assert flows["sink_bytes"][program] == left["payload_bytes"][mine].sum()
    read = table(run_dir, record["id"], "goodput")
    assert read["bytes"][read["flow"] == program].sum() == flows["sink_bytes"][program]
    assert (np.diff(read["t_ns"].astype(np.int64)) >= 0).all()
    assert not (run_dir / "trials" / record["id"] / "programs").exists()
    assert digests(nashbed.run(own(nashbed), "virtual")) == digests(run_dir)


def test_a_server_of_ipv6_serves_ipv4_unless_it_was_told_not_to(nashbed: Nashbed) -> None:
    only_valid(nashbed.run(own(nashbed, "ipv6"), "virtual"))


@pytest.mark.parametrize(("server", "client", "said"), FAILURES)
def test_a_program_that_fails_costs_an_attempt_and_says_why(
    nashbed: Nashbed, server: str, client: str, said: str
) -> None:
    words = nashbed.run_words(own(nashbed, server, client), "virtual")
    error = nashbed.call(*words, code=EXIT_HOST)
    assert said in error
    assert "Traceback" not in error


def test_a_program_learns_nothing_of_the_host(nashbed: Nashbed) -> None:
    only_valid(nashbed.run(own(nashbed, client="looks"), "virtual"))


def test_threads_have_floating_point_registers_of_their_own(nashbed: Nashbed) -> None:
    program = nashbed.folder / "flow_threads"
    command.run(
        ["gcc", "-O2", "-pthread", "-o", str(program), str(FLOW.with_name("flow_threads.c"))]
    )
    only_valid(nashbed.run(own(nashbed, program=str(program)), "virtual"))


@pytest.mark.parametrize("mode", ["fast", "fast-segments"])
def test_a_program_sends_what_its_processor_can(nashbed: Nashbed, mode: str) -> None:
    price = "hosts: {cpu: {per_datagram: 0.9ms, per_kilobyte: 0.1ms}}\n"
    run_dir = nashbed.run(own(nashbed, "gro", mode, price), "virtual")
    record = only_valid(run_dir)
    program = int(np.flatnonzero(table(run_dir, record["id"], "flows")["cc"] == "tiny")[0])
    mine = table(run_dir, record["id"], "postcards")["flow"] == program
    # One in a millisecond, for 3 s; the last segments of a call may leave before it is paid for.
    assert 0.98 * 3000 < mine.sum() <= 3000 + SEGMENTS


def test_each_flow_groups_programs_have_its_address_without_asking(nashbed: Nashbed) -> None:
    path = own(nashbed)
    groups = "{name: near, count: 1, base_rtt: 20ms}, {name: far, count: 1, base_rtt: 40ms}"
    text = path.read_text().replace("{name: main, count: 2, base_rtt: 40ms}", groups)
    path.write_text(text.replace("[1]", "[[1, 1]]"))
    run_dir = nashbed.run(path, "virtual")
    sent = table(run_dir, only_valid(run_dir)["id"], "flows")["bytes_sent"]
    assert (sent > 0.95 * 1000 * 3 * 500).all()


def test_a_program_that_never_sends_makes_its_trial_invalid(nashbed: Nashbed) -> None:
    run_dir = nashbed.run(own(nashbed, client="silent"), "virtual")
    [record] = records(run_dir).values()
    assert record["invalid_reasons"] == [
        "flows_overlapped: flow 1 (tiny) sent nothing at the beginning, and had nothing to send"
    ]


OTHERS = [
    pytest.param("iperf3-cubic.yaml", marks=needs("iperf3")),
    pytest.param("ngtcp2-cubic.yaml", marks=needs("gtlsclient")),
]


@pytest.mark.parametrize("program", OTHERS)
def test_others_programs_get_their_share_and_are_repeated_to_the_bit(
    nashbed: Nashbed, program: str
) -> None:
    run_dir = nashbed.run(scenario(nashbed, program), "virtual")
    record = only_valid(run_dir)
    flows = table(run_dir, record["id"], "flows")
    # The bottleneck carries 5 MB in the 2 s that are measured, and the two are alike.
    assert (flows["sink_bytes"] > 10**6).all()
    flow = int(np.flatnonzero(flows["cc"] != "cubic")[0])
    if program.startswith("iperf3"):
        # What its control connection takes is over when its data is to begin; 20 ms to the queue.
        cards = table(run_dir, record["id"], "postcards")
        first = cards["enqueue_ns"][(cards["flow"] == flow) & (cards["payload_bytes"] > 1000)].min()
        assert abs(first - flows["start_ns"][flow] - 20_000_000) < 2_000_000
    else:
        samples = table(run_dir, record["id"], "flow_samples")
        srtt = samples["srtt_us"][samples["flow"] == flow]
        # A tick each 50 ms of 3 s but for the first few; base RTT, and at most a full queue.
        assert len(srtt) > 50
        assert ((srtt > 39_000) & (srtt < 85_000)).all()
    assert digests(nashbed.run(scenario(nashbed, program), "virtual")) == digests(run_dir)

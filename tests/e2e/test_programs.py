# SPDX-License-Identifier: Apache-2.0
"""Programs as strategies in whole trials, in real time: what they get, and what is left of them.

Nothing here depends on how busy the machine is.
"""

from __future__ import annotations

import os

import numpy as np
import pytest
from nashbed.controlplane.contract.errors import EXIT_HOST
from tests.e2e.conftest import WIDE_GATES, Nashbed, leftovers, records, table
from tests.e2e.test_interrupted_runs import wait_for
from tests.e2e.test_programs_virtual import FAILURES, OTHERS, own, scenario
from tests.support.programs import needs_program

pytestmark = [pytest.mark.root, pytest.mark.dataplane, pytest.mark.slow]

PACKET_LOOP_CORE = 1
"""Of testbed embedded."""


def tables(
    nashbed: Nashbed, client: str, testbed: str = "embedded"
) -> dict[str, dict[str, np.ndarray]]:
    """The tables of a trial with the tiny program, by name."""
    run_dir = nashbed.run(own(nashbed, client=client, more=WIDE_GATES), testbed)
    [record] = records(run_dir).values()
    assert not (run_dir / "trials" / record["id"] / "programs").exists()
    return {name: table(run_dir, record["id"], name) for name in ("flows", "postcards", "goodput")}


@pytest.mark.parametrize(
    ("client", "datagrams", "testbed"),
    [
        ("fine", 1, "embedded"),
        ("segments", 3, "embedded"),
        ("segments", 3, "tap"),
        pytest.param("fine", 1, "bmv2", marks=needs_program("simple_switch")),
    ],
)
def test_a_program_is_given_what_left_the_bottleneck(
    nashbed: Nashbed, client: str, datagrams: int, testbed: str
) -> None:
    read = tables(nashbed, client, testbed)
    flows, cards, goodput = read["flows"], read["postcards"], read["goodput"]
    program = int(np.flatnonzero(flows["cc"] == "tiny")[0])
    mine = cards["flow"] == program
    # What a program hands to the kernel at once (UDP_SEGMENT) comes in frames of their own.
    assert np.unique(cards["payload_bytes"][mine]).tolist() == [1000]
    # At most as many as the clock allows; at least one in 50 ms, however busy the machine is.
    assert 60 * datagrams <= mine.sum() <= 500 * 3.5 * datagrams
    left = mine & (cards["kind"] == 0)
    assert flows["bytes_sent"][program] == cards["payload_bytes"][mine].sum()
    assert flows["sink_bytes"][program] == cards["payload_bytes"][left].sum()
    assert goodput["bytes"][goodput["flow"] == program].sum() == flows["sink_bytes"][program]


def test_a_program_has_the_address_of_its_group(nashbed: Nashbed) -> None:
    path = own(nashbed, more=WIDE_GATES)
    groups = "count: 1, base_rtt: 40ms}, {name: far, count: 1, base_rtt: 40ms}"
    text = path.read_text().replace("count: 2, base_rtt: 40ms}", groups)
    path.write_text(text.replace("mixes: [1]", "mixes: [[0, 1]]"))
    run_dir = nashbed.run(path)
    [record] = records(run_dir).values()
    flows = table(run_dir, record["id"], "flows")
    assert [(cc, sent > 0) for cc, sent in zip(flows["cc"], flows["bytes_sent"], strict=True)] == [
        ("cubic", True), ("tiny", True),
    ]  # fmt: skip


@pytest.mark.parametrize(("server", "client", "said"), FAILURES)
def test_a_program_that_fails_costs_an_attempt_and_says_why(
    nashbed: Nashbed, server: str, client: str, said: str
) -> None:
    error = nashbed.call(*nashbed.run_words(own(nashbed, server, client)), code=EXIT_HOST)
    assert said in error
    assert "Traceback" not in error


def test_a_program_is_kept_off_the_packet_loops_core(nashbed: Nashbed) -> None:
    words = nashbed.run_words(own(nashbed, client="tells-cores"))
    others = sorted(os.sched_getaffinity(0) - {PACKET_LOOP_CORE})
    assert f"on cores {others}" in nashbed.call(*words, code=EXIT_HOST)


def test_what_a_program_starts_ends_with_its_attempt(nashbed: Nashbed) -> None:
    """Whether something is left is looked for after every test."""
    tables(nashbed, "leaves-another")


def test_what_programs_of_a_killed_run_started_is_removed(nashbed: Nashbed) -> None:
    def clients() -> list[str]:
        return [
            each
            for run_dir in nashbed.run_dirs()
            for each in leftovers(run_dir)
            if "flow_program.py client" in each
        ]

    process = nashbed.start(*nashbed.run_words(own(nashbed, client="leaves-another")))
    wait_for(lambda: len(clients()) > 1, process)
    process.kill()
    process.communicate()
    nashbed.call("doctor", "--clean")
    assert clients() == []


@pytest.mark.parametrize("program", OTHERS)
def test_others_programs_get_a_share(nashbed: Nashbed, program: str) -> None:
    run_dir = nashbed.run(scenario(nashbed, program, WIDE_GATES))
    [record] = records(run_dir).values()
    flows = table(run_dir, record["id"], "flows")
    # 7.5 MB go through in 3 s; a flow that begins late in a full buffer has a twentieth at least.
    assert (flows["sink_bytes"] > 10**5).all()

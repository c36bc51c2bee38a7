"""Processes inside a guest: waits by virtual time, ends by signal, and the death of the guest."""

import os
import signal
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from nashbed.controlplane.contract.errors import HostError, Interrupted, TargetError
from nashbed.controlplane.machine.guest import session as session_module
from nashbed.controlplane.machine.guest.connection import GuestConnection
from nashbed.controlplane.machine.guest.session import GuestSession
from nashbed.controlplane.machine.process.clock import poll
from nashbed.controlplane.machine.process.control_client import ControlClient
from nashbed.controlplane.machine.process.managed import ManagedProcess
from tests.fakes.guest import BOOT_NS, PANIC_NS, SLOW_S
from tests.support import guests
from tests.support.guests import ends, says

NS = 10**9
Start = Callable[..., ManagedProcess]
MakeSession = Callable[..., GuestSession]


@pytest.fixture
def requests(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """Up to when time was to pass, for each request."""
    asked: list[int] = []
    run = GuestConnection.run

    def note(connection: GuestConnection, until_ns: int) -> None:
        asked.append(until_ns)
        run(connection, until_ns)

    monkeypatch.setattr(GuestConnection, "run", note)
    return asked


def test_events_come_at_their_virtual_times(session: GuestSession, start: Start) -> None:
    process = start(session, {"after_ns": 5, "line": "no JSON"}, says(NS, "other"), says(7, "up"))
    assert session.clock.now_ns() == BOOT_NS
    assert process.wait_event("up", 60) == {"event": "up"}
    assert session.clock.now_ns() == BOOT_NS + 5 + NS + 7


@pytest.mark.slow
def test_minutes_take_no_time(session: GuestSession, start: Start) -> None:
    process = start(session, says(300 * NS, "done"), ends(1))
    began = time.monotonic()
    process.wait_event("done", 400)
    assert process.wait_exit(1.0) == 0
    assert time.monotonic() - began < 60


def test_time_passes_on_a_grid_of_seconds(
    session: GuestSession, start: Start, requests: list[int]
) -> None:
    process = start(session, says(2 * NS, "done"))
    process.wait_event("done", 2.5)
    # The clock is read for the deadline, and before each further step.
    assert [until for until in requests if until] == [NS, 2 * NS, BOOT_NS + 2_500_000_000]


def test_repeats_ask_alike(make_session: MakeSession, start: Start, requests: list[int]) -> None:
    for _ in range(2):
        session = make_session()
        guests.boot(session)
        process = start(session, says(NS + 3, "a"), {"await": "go"}, says(5 * NS, "b"), ends(9))
        process.wait_event("a", 30)
        process.send({"go": 1})
        process.wait_event("b", 30)
        process.wait_exit(30)
    half = len(requests) // 2
    assert requests[:half] == requests[half:]


def test_silence_has_a_deadline_in_virtual_time(session: GuestSession, start: Start) -> None:
    process = start(session, says(3 * NS, "late"))
    with pytest.raises(HostError, match=r"steps-0 of lane 0 did not report 'late' within 2\.5 s"):
        process.wait_event("late", 2.5)
    assert session.clock.now_ns() == BOOT_NS + 2_500_000_000
    process.wait_event("late", 1)


def test_a_slow_answer_is_no_silence(
    make_session: MakeSession, start: Start, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("FAKE_GUEST", "slow")
    session = make_session(standstill_s=SLOW_S / 2)
    guests.boot(session)
    start(session, says(1, "up")).wait_event("up", 1)


def test_two_processes_hear_only_their_own_events(session: GuestSession, start: Start) -> None:
    first = start(session, says(NS, "up", of=1), ends(1))
    second = start(session, says(NS, "up", of=2))
    assert second.wait_event("up", 9)["of"] == 2
    assert first.wait_event("up", 9)["of"] == 1
    assert (first.wait_exit(1), second.poll()) == (0, None)
    assert first.pid != second.pid


def test_a_stop_ends_the_wait_at_the_next_second(session: GuestSession, start: Start) -> None:
    process, stop, looks = start(session, says(90 * NS, "done")), threading.Event(), []

    def watch() -> None:
        looks.append(session.clock.now_ns())
        if len(looks) == 4:
            stop.set()

    with pytest.raises(Interrupted, match="stopped while waiting for 'done'"):
        process.wait_event("done", 100, stop, watch)
    assert looks == [BOOT_NS, NS, 2 * NS, 3 * NS]
    assert session.clock.now_ns() == 4 * NS


def test_what_watches_ends_the_wait(session: GuestSession, start: Start) -> None:
    def watch() -> None:
        raise TargetError("the switch has gone")

    with pytest.raises(TargetError, match="the switch has gone"):
        start(session, says(1, "done")).wait_event("done", 9, watch=watch)


def test_lines_are_sent(session: GuestSession, start: Start) -> None:
    process = start(session, {"await": '"t0_ns": 7'}, says(3, "x"))
    process.send({"t0_ns": 7})
    assert process.wait_event("x", 1) == {"event": "x"}


def test_an_end_without_the_event_quotes_the_last_words(
    session: GuestSession, start: Start
) -> None:
    process = start(session, ends(4, 4))
    with pytest.raises(HostError, match=r"ended unexpectedly \(exit code 4\): with 4$"):
        process.wait_event("done", 9)
    assert process.last_words == ("it is said to have ended", "with 4")
    assert process.poll() == 4


def test_exit_code_3_is_the_targets_fault(session: GuestSession, start: Start) -> None:
    with pytest.raises(TargetError, match="exit code 3"):
        start(session, ends(1, 3)).wait_event("done", 9)


def test_an_error_event_is_raised_at_once(session: GuestSession, start: Start) -> None:
    process = start(session, says(1, "error", error="bind: in use"))
    with pytest.raises(HostError, match="steps-0 of lane 0 bind: in use"):
        process.wait_event("done", 9)


def test_sending_to_the_dead_is_an_error(session: GuestSession, start: Start) -> None:
    process = start(session, ends(1, 1))
    assert process.wait_exit(1) == 1
    with pytest.raises(HostError, match=r"has closed its input \(exit code 1\)"):
        process.send({})
    process.stop()


def test_an_end_has_a_deadline(session: GuestSession, start: Start) -> None:
    process = start(session, ends(5 * NS))
    with pytest.raises(HostError, match=r"did not end within 1 s"):
        process.wait_exit(1.0)


def test_it_ends_on_sigterm(session: GuestSession, start: Start) -> None:
    process = start(session)
    process.stop()
    assert process.poll() == 128 + 15
    assert session.clock.now_ns() == BOOT_NS
    process.stop()


def test_what_ignores_sigterm_is_killed(
    make_session: MakeSession, start: Start, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("FAKE_GUEST", "deaf")
    session = make_session()
    guests.boot(session)
    process = start(session)
    process.stop()
    assert process.poll() == 128 + 9
    assert session.clock.now_ns() == BOOT_NS + 3 * NS


def test_a_crash_in_mid_wait_quotes_the_panic(
    make_session: MakeSession, start: Start, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("FAKE_GUEST", "panic")
    session = make_session()
    kernel = guests.boot(session)
    process = start(session, says(60 * NS, "done"))
    words = (
        r"guest failed: guest: run: the guest closed the connection \(killed by SIGABRT\): "
        r"Kernel panic - not syncing: Attempted to kill init! exitcode=0x00000009$"
    )
    with pytest.raises(TargetError, match=words) as caught:
        process.wait_event("done", 100)
    assert caught.value.repeatable
    assert kernel.poll() == -6
    assert process.poll() == -9
    process.stop()
    with pytest.raises(TargetError, match="ended in mid-trial"):
        session.require_targets()


def test_a_guest_that_dies_before_it_is_connected_to_says_so(
    make_session: MakeSession, monkeypatch: pytest.MonkeyPatch
) -> None:
    def kill_first(kernel: ManagedProcess, socket: Path, patience: Any) -> GuestConnection:
        os.kill(kernel.pid, signal.SIGKILL)
        kernel.wait_exit(10.0)
        return GuestConnection(kernel, socket, patience)

    session = make_session()
    monkeypatch.setattr(session_module, "GuestConnection", kill_first)
    with pytest.raises(TargetError, match=r"cannot connect to the guest.*\(killed by SIGKILL\)"):
        guests.boot(session)


def test_a_guest_that_is_ended_takes_its_processes_along(
    session: GuestSession, start: Start
) -> None:
    process = start(session)
    session.close()
    assert process.poll() == -9
    process.stop()


def test_a_guest_whose_time_stands_still_is_ended(
    make_session: MakeSession, start: Start, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("FAKE_GUEST", "silent")
    monkeypatch.setattr("nashbed.controlplane.machine.guest.connection.LAST_WORDS_S", 0.1)
    session = make_session(standstill_s=0.4)
    kernel = guests.boot(session)
    process = start(session, says(60 * NS, "done"))
    words = f"virtual time has stood still at {PANIC_NS / NS:.9f} s for 0.4 s"
    with pytest.raises(TargetError, match=words) as caught:
        process.wait_event("done", 100)
    assert caught.value.repeatable
    assert kernel.poll() is not None


@pytest.mark.parametrize(("code", "repeatable"), [(137, True), (4, True), (2, False), (5, False)])
def test_a_process_that_is_killed_may_do_better_and_one_that_refuses_will_not(
    session: GuestSession, start: Start, code: int, repeatable: bool
) -> None:
    process = start(session, ends(NS, code))
    with pytest.raises(HostError, match=rf"ended unexpectedly \(exit code {code}\)") as caught:
        process.wait_event("done", 100)
    assert caught.value.repeatable is repeatable


@pytest.mark.parametrize(
    ("fault", "words"),
    [
        ("back", f"time went back from {BOOT_NS} to {BOOT_NS - 1}"),
        ("early", "before 1000000000, and nothing has happened"),
        ("unknown", "there is no process 99"),
        ("odd", "events.0: an event has either a line or an exit code"),
    ],
)
def test_wrong_answers_are_refused(
    make_session: MakeSession,
    start: Start,
    monkeypatch: pytest.MonkeyPatch,
    fault: str,
    words: str,
) -> None:
    monkeypatch.setenv("FAKE_GUEST", fault)
    session = make_session()
    guests.boot(session)
    process = start(session, says(60 * NS, "done"))
    with pytest.raises(TargetError, match=f"guest: run: .*{words}"):
        process.wait_event("done", 100)


def test_polling_goes_by_the_guests_clock(session: GuestSession, start: Start) -> None:
    process = start(session, ends(3_600_000_000_000, 5))
    late = HostError("late")
    assert poll(process.poll, 7200, lambda: late, interval_s=60.0, clock=session.clock) == 5
    with pytest.raises(HostError, match="late"):
        poll(lambda: None, 0.05, lambda: late, clock=session.clock)


def test_without_a_guest_no_time_passes(make_session: MakeSession) -> None:
    clock: Any = make_session().clock
    assert clock.now_ns() == 0
    with pytest.raises(TargetError, match="guest: none is running"):
        clock.sleep(1.0)


def test_once_a_guest_has_powered_off_the_clock_is_back_at_its_start(
    session: GuestSession,
) -> None:
    client = ControlClient(session.scratch / "control.sock")
    session.clock.sleep(2.0)
    client.call("shutdown")
    assert session._kernel is not None
    assert session._kernel.wait_exit(30.0) == 0
    client.close()
    assert session.clock.now_ns() == 0
    with pytest.raises(TargetError, match="ended in mid-trial"):
        session.require_targets()

"""Processes and commands: events, failures with their last words, and the end by handle."""

import os
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path

import pytest
from nashbed.controlplane.contract.errors import HostError, Interrupted, NashbedError, TargetError
from nashbed.controlplane.machine.host.runs import (
    RunState,
    StateFile,
    own_state,
    read_states,
)
from nashbed.controlplane.machine.process import command
from nashbed.controlplane.machine.process.clock import poll
from nashbed.controlplane.machine.process.managed import Process, ProgramOfOthers, dying_with
from nashbed.controlplane.machine.process.table import ChildProcess, executable, start_time


def python(script: str, name: str = "child", state: StateFile | None = None) -> Process:
    return Process(name, [sys.executable, "-u", "-c", script], state)


def test_events_are_found_between_other_lines() -> None:
    process = python('print("hello"); print("[1]"); print(\'{"event":"ready","x":1}\')')
    assert process.wait_event("ready", 60) == {"event": "ready", "x": 1}
    assert process.wait_exit(60) == 0


def test_lines_are_sent() -> None:
    process = python('print(input().replace("t0_ns", "event").replace("7", \'"x"\'))')
    process.send({"t0_ns": 7})
    assert process.wait_event("x", 60) == {"event": "x"}
    process.stop()


def test_an_end_without_the_event_quotes_the_last_words() -> None:
    process = python('import sys; sys.stderr.write("no port\\n"); sys.exit(4)')
    with pytest.raises(HostError, match=r"child ended unexpectedly \(exit code 4\): no port"):
        process.wait_event("ready", 60)
    process.stop()


def test_a_file_that_is_too_large_names_the_limit() -> None:
    # Python ignores it; a program in C is killed.
    process = python("from signal import *; signal(SIGXFSZ, SIG_DFL); raise_signal(SIGXFSZ)")
    with pytest.raises(NashbedError, match=r"\(killed by SIGXFSZ; raise the limit .*ulimit -f\)"):
        process.wait_event("ready", 60)


def test_a_child_whose_parent_has_died_meanwhile_does_not_begin(tmp_path: Path) -> None:
    begun = tmp_path / "begun"
    for parent, begins in ((1, False), (os.getpid(), True)):
        subprocess.run(dying_with(parent, ["touch", str(begun)]), check=begins)
        assert begun.exists() is begins


def test_exit_code_3_is_the_targets_fault() -> None:
    process = python("import sys; sys.exit(3)")
    with pytest.raises(TargetError, match="exit code 3"):
        process.wait_event("ready", 60)
    process.stop()


def test_an_error_event_is_raised_at_once() -> None:
    process = python('print(\'{"event":"error","error":"bind: in use"}\'); input()')
    with pytest.raises(HostError, match="child bind: in use"):
        process.wait_event("ready", 60)
    process.stop()


def test_silence_has_a_deadline() -> None:
    process = python("input()")
    with pytest.raises(HostError, match=r"did not report 'ready' within 0\.2 s"):
        process.wait_event("ready", 0.2)
    process.stop()


def test_a_stop_ends_the_wait() -> None:
    process, stop = python("input()"), threading.Event()
    stop.set()
    with pytest.raises(Interrupted):
        process.wait_event("ready", 60, stop)
    process.stop()


def test_what_ignores_sigterm_is_killed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("nashbed.controlplane.machine.process.managed.STOP_GRACE_S", 0.2)
    script = "import signal, time; signal.signal(15, signal.SIG_IGN)\n"
    process = python(script + 'print(\'{"event":"up"}\'); time.sleep(60)')
    process.wait_event("up", 60)
    process.stop()
    assert process.poll() == -9


def test_sending_to_the_dead_is_an_error() -> None:
    process = python("pass")
    process.wait_exit(60)
    with pytest.raises((HostError, ValueError)):
        process.send({})


def test_a_missing_program() -> None:
    process = Process("child", ["/nonexistent/program"])
    with pytest.raises(HostError, match="ended unexpectedly"):
        process.wait_event("ready", 60)
    process.stop()


def test_children_are_in_the_state_file_while_they_run(tmp_path: Path) -> None:
    state = StateFile(own_state("abcd", tmp_path), tmp_path)
    process = python('print(\'{"event":"up"}\'); input()', state=state)
    process.wait_event("up", 60)
    ((path, found),) = read_states(tmp_path)
    assert path == tmp_path / "abcd.json"
    assert found is not None
    (child,) = found.processes
    assert (child.pid, child.start) == (process.pid, start_time(process.pid))
    assert executable(process.pid) in child.executables
    assert child.is_alive()
    assert not child.model_copy(update={"start": child.start + 1}).is_alive()
    assert not child.model_copy(update={"executables": ("/bin/true",)}).is_alive()
    process.stop()
    ((_, after),) = read_states(tmp_path)
    assert after is not None
    assert after.processes == ()
    assert not child.is_alive()


def test_what_a_child_leaves_of_its_own_kind_is_found_by_its_session(tmp_path: Path) -> None:
    script = "import os, signal, sys\nif os.fork() == 0: os.kill(os.getpid(), signal.SIGSTOP)\n"
    state = StateFile(own_state("abcd", tmp_path), tmp_path)
    process = python(script + 'print(\'{"event":"up"}\'); input()', state=state)
    process.wait_event("up", 60)
    ((_, found),) = read_states(tmp_path)
    assert found is not None
    (child,) = found.processes
    (left,) = poll(lambda: child.descendants() or None, 10.0, AssertionError)
    assert left != process.pid
    process.stop()  # although the one that is left has the pipes open as well
    assert child.descendants() == [left]
    assert child.model_copy(update={"executables": ("/bin/true",)}).descendants() == []
    child.end_descendants()
    poll(lambda: None if child.descendants() else True, 10.0, AssertionError)


def test_what_a_program_of_others_starts_ends_with_it_whatever_it_is(tmp_path: Path) -> None:
    output = tmp_path / "output"
    script = ["/bin/sh", "-c", "sleep 3600 & echo something broke >&2; exit 7"]
    state = StateFile(own_state("abcd", tmp_path), tmp_path)
    program = ProgramOfOthers("program", script, output, state)
    poll(lambda: True if program.poll() is not None else None, 60.0, AssertionError)
    child = ChildProcess(pid=program.pid, start=0, executables=())
    assert len(child.descendants()) == 1
    assert (program.poll(), program.last_words) == (7, ("something broke",))
    program.stop()
    poll(lambda: None if child.descendants() else True, 10.0, AssertionError)


def test_a_program_of_others_that_a_dead_run_started_is_ended(tmp_path: Path) -> None:
    state = StateFile(own_state("abcd", tmp_path), tmp_path)
    program = ProgramOfOthers("program", ["sleep", "3600"], tmp_path / "output", state)
    (child,) = state.state.processes
    child.end()
    assert program.wait_exit(60) == -signal.SIGKILL
    program.stop()


def test_our_own_run_is_alive_and_a_reused_pid_is_not(tmp_path: Path) -> None:
    state = own_state("abcd", tmp_path)
    assert state.is_alive()
    assert not state.model_copy(update={"start": state.start - 1}).is_alive()
    assert not RunState(id="abcd", pid=2**22 + 1, start=1, run_dir="x").is_alive()


def test_a_damaged_state_file_is_told_apart(tmp_path: Path) -> None:
    (tmp_path / "dead.json").write_text("{")
    assert read_states(tmp_path) == [(tmp_path / "dead.json", None)]


def test_commands() -> None:
    assert command.run(["cat"], text="hello").out == "hello"
    with pytest.raises(HostError, match=r"`ls /nonexistent` failed: ls: cannot access"):
        command.run(["ls", "/nonexistent"])
    with pytest.raises(HostError, match="no-such-tool: not installed; `make setup` installs it"):
        command.run(["no-such-tool"])
    with pytest.raises(HostError, match=r"`sleep 60` did not end within 0\.1 s"):
        command.run(["sleep", "60"], timeout_s=0.1)


def test_polling_has_a_deadline() -> None:
    assert poll(lambda: 7, 0.0, AssertionError) == 7
    started = time.monotonic()
    with pytest.raises(HostError, match="late"):
        poll(lambda: None, 0.05, lambda: HostError("late"), interval_s=0.01)
    assert 0.04 < time.monotonic() - started < 5

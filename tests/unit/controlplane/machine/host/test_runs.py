"""One run at a time: of two that begin at once one is admitted, whatever the moment."""

import multiprocessing
import time
from multiprocessing.connection import Connection
from multiprocessing.synchronize import Barrier
from pathlib import Path

import pytest
from nashbed.controlplane.contract.errors import HostError
from nashbed.controlplane.machine.host import runs
from nashbed.controlplane.machine.host.runs import RunState, StateFile, own_state, read_states
from nashbed.controlplane.machine.process.table import start_time

FORK = multiprocessing.get_context("fork")
AT_ONCE = 4


def begin(folder: Path, together: Barrier, answer: Connection, ended: Barrier) -> None:
    """A process that wants the machine at the same moment as others; it stays until all have asked.

    The look at the state files is made slow, so that without a lock all would see none.
    """
    usual = runs.remove_dead_runs

    def slowly(where: Path) -> None:
        usual(where)
        time.sleep(0.05)

    runs.remove_dead_runs = slowly
    together.wait()
    try:
        with runs.reserved("mine", folder=folder):
            answer.send("")
            ended.wait()
    except HostError as error:
        answer.send(error.message)
        ended.wait()


def test_of_those_that_begin_at_once_one_is_admitted(tmp_path: Path) -> None:
    together, ended = FORK.Barrier(AT_ONCE), FORK.Barrier(AT_ONCE)
    pipes = [FORK.Pipe(duplex=False) for _ in range(AT_ONCE)]
    processes = [
        FORK.Process(target=begin, args=(tmp_path, together, theirs, ended)) for _, theirs in pipes
    ]
    for process in processes:
        process.start()
    answers = sorted(ours.recv() for ours, _ in pipes)
    for process in processes:
        process.join()
    assert answers[0] == ""
    assert all("is using this machine" in answer for answer in answers[1:])
    assert all(answer.endswith("; --wait waits for it") for answer in answers[1:])
    assert read_states(tmp_path) == []


def live_run(folder: Path) -> StateFile:
    """The state file of a run that process 1 controls."""
    state = own_state("ab12", "/results/other")
    return StateFile(state.model_copy(update={"pid": 1, "start": start_time(1)}), folder)


def test_a_live_run_is_waited_for(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(runs, "POLL_S", 0.0)
    other = live_run(tmp_path)
    seen: list[RunState] = []

    def on_wait(state: RunState) -> None:
        seen.append(state)
        if len(seen) == 3:
            other.remove()

    with runs.reserved("mine", on_wait, tmp_path):
        [(_, mine)] = read_states(tmp_path)
        assert mine is not None
        assert (mine.run_dir, mine.is_alive()) == ("mine", True)
    assert [state.run_dir for state in seen] == ["/results/other"] * 3
    assert read_states(tmp_path) == []


def test_who_stops_waiting_leaves_nothing(tmp_path: Path) -> None:
    live_run(tmp_path)

    def on_wait(state: RunState) -> None:
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt), runs.reserved("mine", on_wait, tmp_path):
        pass
    assert [path.name for path, _ in read_states(tmp_path)] == ["ab12.json"]


def test_a_reservation_outlives_the_clean_up_of_its_own_sessions(tmp_path: Path) -> None:
    with runs.reserved("mine", folder=tmp_path):
        with runs.admission(tmp_path):
            assert runs.remove_dead_runs(tmp_path) == []
        assert len(read_states(tmp_path)) == 1


def dead_state(**more: object) -> RunState:
    """The state of a run whose process is gone."""
    return own_state("cd34", "gone").model_copy(update={"pid": 2**22 + 1, **more})


def test_a_dead_reservation_holds_up_nobody(tmp_path: Path) -> None:
    StateFile(dead_state(reserves=True), tmp_path)
    with runs.reserved("mine", folder=tmp_path):
        assert [state.run_dir for _, state in read_states(tmp_path) if state] == ["mine"]


def test_who_has_the_machine_finds_nothing_of_dead_runs(tmp_path: Path) -> None:
    scratch = tmp_path / "scratch"
    scratch.mkdir()
    StateFile(dead_state(scratch=str(scratch)), tmp_path)
    with runs.reserved("mine", folder=tmp_path):
        assert [state.run_dir for _, state in read_states(tmp_path) if state] == ["mine"]
        assert not scratch.exists()

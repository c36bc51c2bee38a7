"""Cores that threads of several processes claim: none has two owners, none is lost."""

import multiprocessing
import os
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from multiprocessing.connection import Connection
from pathlib import Path

import pytest
from nashbed.controlplane.contract.errors import HostError
from nashbed.controlplane.machine.guest.scratch import claim_core

FORK = multiprocessing.get_context("fork")


def serve(asked: Connection, folder: Path, cores: set[int]) -> None:
    """Claim a core, in this thread or in another, whenever it is asked for."""
    os.sched_getaffinity = lambda pid: cores

    def claim() -> None:
        asked.send(claim_core(folder))

    while True:
        if asked.recv() == "claim":
            claim()
        else:
            threading.Thread(target=claim).start()


class Claimer:
    """A process that claims cores when it is asked to.

    Args:
        folder: Of the lock files.
        cores: Those that it may run on.
    """

    def __init__(self, folder: Path, cores: set[int]) -> None:
        self.pipe, theirs = FORK.Pipe()
        self.process = FORK.Process(target=serve, args=(theirs, folder, cores))
        self.process.start()

    def claim(self, who: str = "claim") -> int | None:
        self.pipe.send(who)
        found: int | None = self.pipe.recv()
        return found

    def kill(self) -> None:
        self.process.kill()
        self.process.join()


@contextmanager
def claimers(folder: Path, number: int, cores: set[int]) -> Iterator[list[Claimer]]:
    made = [Claimer(folder, cores) for _ in range(number)]
    try:
        yield made
    finally:
        for claimer in made:
            claimer.kill()


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return tmp_path / "guests"


def test_processes_get_cores_of_their_own_while_there_are_some(folder: Path) -> None:
    with claimers(folder, 3, {0, 5}) as (first, second, third):
        assert [first.claim(), second.claim(), third.claim()] == [0, 5, None]


def test_the_core_of_one_that_is_killed_is_free_at_once(folder: Path) -> None:
    with claimers(folder, 3, {0, 1}) as (first, second, third):
        assert [first.claim(), second.claim(), third.claim()] == [0, 1, None]
        first.kill()
        assert third.claim() == 0


def test_a_thread_keeps_its_core_and_another_gets_another(folder: Path) -> None:
    with claimers(folder, 1, {0, 1, 2}) as (process,):
        assert [process.claim(), process.claim()] == [0, 0]
        assert process.claim("thread") == 1
        assert process.claim() == 0


def test_only_cores_that_this_process_may_use(folder: Path) -> None:
    with claimers(folder, 1, {7}) as (only,), claimers(folder, 1, {3, 7}) as (other,):
        assert (only.claim(), other.claim()) == (7, 3)


@pytest.mark.slow
def test_two_that_claim_at_once_do_not_share(folder: Path) -> None:
    with claimers(folder, 8, set(range(8))) as made:
        found: list[int | None] = []
        threads = [threading.Thread(target=lambda c=each: found.append(c.claim())) for each in made]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    assert sorted(core for core in found if core is not None) == list(range(8))


def test_a_folder_that_is_not_ours_is_refused(folder: Path) -> None:
    folder.symlink_to("/")
    with pytest.raises(HostError, match="not a folder of this user"):
        claim_core(folder)

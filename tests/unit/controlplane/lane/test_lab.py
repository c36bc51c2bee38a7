"""Labs of a run: one for all lanes, or one for each lane; all are closed, whatever fails."""

import os
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from nashbed.controlplane.contract.errors import HostError
from nashbed.controlplane.contract.testbed import Testbed
from nashbed.controlplane.lane import lab as labs_module
from nashbed.controlplane.lane.lab import Labs, lab_requests, opened_labs
from nashbed.controlplane.machine.host.session import SessionRequest

VIRTUAL = Testbed(name="virtual", target="virtual")


def request(bed: Testbed, lanes: int) -> SessionRequest:
    return SessionRequest("ab12", Path("run"), bed, lanes=lanes, groups=2, window_bytes=5)


class Opener:
    """Opens labs that only remember; some cannot be opened, or not be closed.

    Args:
        broken: Which of them fail to open, counted from 0, the first time.
        stuck: Which of them fail to close.
    """

    def __init__(self, broken: tuple[int, ...] = (), stuck: tuple[int, ...] = ()) -> None:
        self.broken = set(broken)
        self.stuck = stuck
        self.requests: list[SessionRequest] = []
        self.closed: list[int] = []

    def __call__(self, request: SessionRequest) -> Any:
        number = len(self.requests)
        self.requests.append(request)
        if number in self.broken:
            raise HostError(f"lab {number} does not open")

        def close() -> None:
            self.closed.append(number)
            if number in self.stuck:
                raise HostError(f"lab {number} does not close")

        return SimpleNamespace(number=number, close=close)


@pytest.fixture
def two_cores(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "sched_getaffinity", lambda pid: {5, 2})


def test_a_shared_lab_has_every_lane(testbed: Testbed) -> None:
    opener = Opener()
    (whole,) = lab_requests(request(testbed, 4))
    assert whole == request(testbed, 4)
    labs = Labs(opener, [whole])
    places = [labs.place(lane) for lane in range(4)]
    assert [lane for _, lane in places] == [0, 1, 2, 3]
    assert all(lab is labs.first for lab, _ in places)
    assert opener.requests == [whole]


def test_a_lane_that_is_a_machine_of_its_own_is_lane_0_there(two_cores: None) -> None:
    requests = lab_requests(request(VIRTUAL, 3))
    assert [each.core for each in requests] == [2, 5, 2]
    assert [(each.lanes, each.groups) for each in requests] == [(1, 2)] * 3
    opener = Opener()
    labs = Labs(opener, requests)
    assert opener.requests == [requests[0]]  # the others when they are needed
    places = [labs.place(lane) for lane in (0, 2, 1, 2)]
    assert [lane for _, lane in places] == [0] * 4
    assert opener.requests == [requests[0], requests[2], requests[1]]
    assert places[1][0] is places[3][0]
    labs.close()
    assert sorted(opener.closed) == [0, 1, 2]


def test_a_single_machine_of_its_own(two_cores: None) -> None:
    labs = Labs(Opener(), lab_requests(request(VIRTUAL, 1)))
    assert labs.place(0) == (labs.first, 0)


def test_a_lab_that_does_not_open_is_tried_again_and_the_others_stay(two_cores: None) -> None:
    opener = Opener(broken=(1,))
    labs = Labs(opener, lab_requests(request(VIRTUAL, 2)))
    with pytest.raises(HostError, match="lab 1 does not open"):
        labs.place(1)
    assert labs.place(0)[0] is labs.first
    assert labs.place(1)[1] == 0
    labs.close()
    assert sorted(opener.closed) == [0, 2]


def test_all_are_closed_though_one_cannot_be(two_cores: None) -> None:
    opener = Opener(stuck=(1,))
    labs = Labs(opener, lab_requests(request(VIRTUAL, 3)))
    for lane in range(3):
        labs.place(lane)
    with pytest.raises(HostError, match="lab 1 does not close"):
        labs.close()
    assert sorted(opener.closed) == [0, 1, 2]


def test_the_error_of_a_run_is_not_hidden_by_one_of_the_clean_up(
    monkeypatch: pytest.MonkeyPatch, two_cores: None
) -> None:
    opener = Opener(stuck=(0,))
    monkeypatch.setattr(labs_module, "open_lab", lambda session, *_: opener(session))
    with (
        pytest.raises(ValueError, match="of the run"),
        opened_labs(lambda each: each, request(VIRTUAL, 2), Path("x")) as labs,  # type: ignore[arg-type, return-value]
    ):
        labs.place(1)
        raise ValueError("of the run")
    assert sorted(opener.closed) == [0, 1]

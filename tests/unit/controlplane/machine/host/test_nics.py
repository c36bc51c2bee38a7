"""The kernel's backlog is raised for a run, and put back as it was."""

from pathlib import Path

import pytest
from nashbed.controlplane.machine.host import nics as module
from nashbed.controlplane.machine.host.nics import (
    ROOM_PACKETS,
    RaisedBacklog,
    lower_backlog,
    plan_backlog,
    raise_backlog,
)


@pytest.fixture
def kernel(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The kernel's setting, as a file."""
    file = tmp_path / "netdev_max_backlog"
    file.write_text("1000\n")
    monkeypatch.setattr(module, "MAX_BACKLOG", file)
    return file


def test_it_is_raised_and_put_back(kernel: Path) -> None:
    backlog = plan_backlog()
    assert backlog == RaisedBacklog(before=1000)
    raise_backlog(backlog)
    assert int(kernel.read_text()) == ROOM_PACKETS
    lower_backlog(backlog)
    assert int(kernel.read_text()) == 1000


def test_what_somebody_else_has_set_meanwhile_stays(kernel: Path) -> None:
    raise_backlog(RaisedBacklog(before=1000))
    kernel.write_text("50000\n")
    lower_backlog(RaisedBacklog(before=1000))
    assert int(kernel.read_text()) == 50000


@pytest.mark.parametrize("content", [str(ROOM_PACKETS), "100000", "nothing"])
def test_it_is_left_alone_where_there_is_room_or_no_number(kernel: Path, content: str) -> None:
    kernel.write_text(content)
    assert plan_backlog() is None


def test_a_kernel_that_does_not_let_us_is_no_reason_to_fail(kernel: Path) -> None:
    kernel.unlink()
    kernel.mkdir()
    raise_backlog(RaisedBacklog(before=1000))
    lower_backlog(RaisedBacklog(before=1000))

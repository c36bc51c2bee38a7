"""Guests with the built kernel: whatever happens to the control plane, nothing is left of them."""

import json
import os
import random
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from nashbed.controlplane.contract.c_files import CFile
from nashbed.controlplane.contract.errors import ConfigError, TargetError
from nashbed.controlplane.machine.c_files.kinds import CCA
from nashbed.controlplane.machine.guest.scratch import guests_folder, remove_dead_sessions
from nashbed.controlplane.machine.guest.session import GuestSession
from nashbed.controlplane.machine.host.layout import SIDES
from nashbed.controlplane.machine.paths import CCA_FOLDER
from nashbed.controlplane.machine.process.clock import poll
from tests.support import guests
from tests.support.control import Client

ROOT = Path(__file__).resolve().parents[2]
KILLS, KILLS_IN_SHORT = 10, 2
LONGEST_S = 3.0
"""Long enough for a boot and some virtual time."""

pytestmark = [pytest.mark.virtual, pytest.mark.usefixtures("guests_place")]


@pytest.fixture
def session(tmp_path: Path) -> Iterator[GuestSession]:
    made = GuestSession(guests.session_request(tmp_path))
    try:
        made.open()
        yield made
    finally:
        made.close()


def test_a_guest_boots_and_its_clock_goes(session: GuestSession) -> None:
    guests.boot(session)
    began_ns = session.clock.now_ns()
    session.clock.sleep(100.0)
    assert session.clock.now_ns() - began_ns >= 100 * 10**9
    assert set(session.host_losses().values()) == {0}


def test_an_unknown_request_is_refused_with_those_there_are(session: GuestSession) -> None:
    guests.boot(session)
    with Client(session.scratch / "control.sock") as client:
        refusal = client.refused("fly")
        listed = refusal.removeprefix("op must be the data plane's, or one of ").split(", ")
        assert set(listed) == {"insert", "host", "start", "send", "run", "signal", "read", "qdisc"}
        for op in listed:
            assert client.refused(op, nonsense=1).startswith(f"{op}: ")


CCAS_OF_THE_KERNEL = "/proc/sys/net/ipv4/tcp_available_congestion_control"


@pytest.mark.slow
def test_ccas_are_in_a_guests_kernel_when_it_is_ready(tmp_path: Path) -> None:
    names = ("mine", "copy_of_mine")
    ccas = with_ccas(tmp_path, *names)
    session = GuestSession(guests.session_request(tmp_path, ccas=ccas))
    try:
        session.open()
        for seed in (1, 2):
            guests.boot(session, seed)
            for side in SIDES:
                assert set(names) <= set(session._guest.read(side, CCAS_OF_THE_KERNEL).split())
    finally:
        session.close()


def test_a_cca_whose_name_the_kernel_has_is_refused(tmp_path: Path) -> None:
    ccas = with_ccas(tmp_path, "vegas")
    session = GuestSession(guests.session_request(tmp_path, ccas=ccas))
    try:
        session.open()
        with pytest.raises(TargetError, match=r"vegas-\w+\.ko: the kernel has .* of this name"):
            guests.boot(session)
        assert guests.left_of(str(session.scratch)) == []
    finally:
        session.close()


@pytest.mark.slow
def test_a_session_with_a_cca_that_does_not_compile_does_not_open(tmp_path: Path) -> None:
    (cca,) = with_ccas(tmp_path, "mine", more="int broken = missing;\n")
    session = GuestSession(guests.session_request(tmp_path, ccas=(cca,)))
    with pytest.raises(ConfigError, match=r"/mine\.c:\d+:14: 'missing' undeclared"):
        session.open()


def with_ccas(folder: Path, *names: str, more: str = "") -> tuple[CFile, ...]:
    """CCAs that are the template under other names."""
    for name in names:
        (folder / f"{name}.c").write_text((CCA_FOLDER / "mine.c").read_text() + more)
    return tuple(CCA.read(folder / f"{name}.c") for name in names)


@pytest.mark.slow
@pytest.mark.parametrize("kills", [KILLS_IN_SHORT, pytest.param(KILLS, marks=pytest.mark.long)])
def test_random_kills_leave_nothing(tmp_path: Path, kills: int) -> None:
    draw = random.Random(12)
    for _ in range(kills):
        number = draw.choice([signal.SIGTERM, signal.SIGKILL])
        scratch = _killed_holder(tmp_path, number, draw.uniform(0.0, LONGEST_S))
        left = AssertionError(f"processes of {scratch} are left")
        poll(lambda at=scratch: None if guests.left_of(at) else True, 10.0, lambda e=left: e)
        remove_dead_sessions(guests_folder())
        assert list(guests_folder().iterdir()) == []


def _killed_holder(folder: Path, number: signal.Signals, after_s: float) -> str:
    """A program that holds a session, killed some time after it has said where."""
    args = [sys.executable, "-m", "tests.support.hold_guest", str(folder)]
    with subprocess.Popen(args, stdout=subprocess.PIPE, text=True, cwd=ROOT) as holder:
        assert holder.stdout is not None
        scratch: str = json.loads(holder.stdout.readline())["scratch"]
        try:
            holder.wait(after_s)
        except subprocess.TimeoutExpired:
            os.kill(holder.pid, number)
        else:
            raise AssertionError("the session has ended by itself")
    return scratch


@pytest.mark.slow
def test_a_crash_of_the_guests_kernel_is_reported(session: GuestSession) -> None:
    kernel = guests.boot(session)
    # What the guest's first process runs in is gone: it ends with it, and the kernel panics.
    first_program = min(_children(kernel.pid))
    os.kill(first_program, signal.SIGKILL)
    with pytest.raises(TargetError, match=r"guest failed: .*: Kernel panic - not syncing"):
        session.clock.sleep(10.0)
    assert kernel.poll() is not None
    assert guests.left_of(str(session.scratch)) == []


def _children(pid: int) -> list[int]:
    return [int(word) for word in Path(f"/proc/{pid}/task/{pid}/children").read_text().split()]

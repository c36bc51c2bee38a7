"""A session in virtual time: guests started and ended, and nothing left of them."""

import json
import os
import signal
import subprocess
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path

import pytest
from nashbed.controlplane.contract.c_files import CFile
from nashbed.controlplane.contract.errors import HostError, InternalError, TargetError
from nashbed.controlplane.contract.scenario_keys import Hosts
from nashbed.controlplane.contract.testbed import Guest, Testbed
from nashbed.controlplane.contract.units import Size
from nashbed.controlplane.machine.guest import session as session_module
from nashbed.controlplane.machine.guest.kernel import GuestSettings, kernel_command
from nashbed.controlplane.machine.guest.scratch import guests_folder, open_scratch
from nashbed.controlplane.machine.guest.session import GuestSession, guest_memory_bytes
from nashbed.controlplane.machine.host.local_session import LocalSession
from nashbed.controlplane.machine.kernels.cache import GuestKernel
from nashbed.controlplane.machine.process.clock import poll
from nashbed.controlplane.machine.process.control_client import ControlClient
from nashbed.controlplane.machine.process.table import start_time
from nashbed.controlplane.machine.sessions import local_session
from tests.fakes.guest import BOOT_NS
from tests.support import guests

MakeSession = Callable[..., GuestSession]
ROOT = Path(__file__).resolve().parents[5]


def says_hello(session: GuestSession) -> dict[str, object]:
    """What the stand-in tells of itself."""
    client = ControlClient(session.scratch / "control.sock")
    hello = client.call("hello")
    client.close()
    return hello


def hosts_of(session: GuestSession) -> dict[str, dict[str, object]]:
    """How the stand-in's hosts were made."""
    return says_hello(session)["hosts"]  # type: ignore[return-value]


def test_the_target_decides_what_session_it_is(tmp_path: Path) -> None:
    request = guests.session_request(tmp_path)
    assert isinstance(local_session(request), GuestSession)
    real = Testbed.model_validate(
        {"name": "x", "ports": {"senders": {"driver": "tap"}, "receivers": {"driver": "tap"}}}
    )
    assert isinstance(local_session(guests.session_request(tmp_path, testbed=real)), LocalSession)


def test_a_booted_guest_has_its_hosts_ready(session: GuestSession) -> None:
    hosts = hosts_of(session)
    snd, rcv = (["10.64.0.1/32", "10.64.0.2/32"], ["10.65.0.1/32", "10.65.0.2/32"])
    assert (hosts["snd"]["addresses"], hosts["rcv"]["addresses"]) == (snd, rcv)
    assert hosts["snd"]["routes"] == dict(zip(rcv, snd, strict=True))
    assert hosts["rcv"]["routes"] == dict(zip(snd, rcv, strict=True))
    assert hosts["snd"]["sysctls"] == session.sysctls
    shared = session.sysctls.keys() - hosts["rcv"]["sysctls"].keys()  # type: ignore[attr-defined]
    assert shared == {"net.ipv4.tcp_mem"}


def test_modules_are_built_when_the_session_opens_and_inserted_into_each_guest(
    make_session: MakeSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    ccas = tuple(CFile(name, tmp_path / f"{name}.c", "d") for name in ("bbr3", "copa"))
    asked: list[str] = []

    def module_of(kernel: GuestKernel, cca: CFile) -> Path:
        asked.append(cca.name)
        (tmp_path / f"{cca.name}.ko").touch()
        return tmp_path / f"{cca.name}.ko"

    monkeypatch.setattr(session_module, "module_of", module_of)
    session = make_session(ccas=ccas)
    assert asked == ["bbr3", "copa"]
    for seed in (1, 2):
        guests.boot(session, seed)
        # The stand-in refuses a module once it has hosts.
        assert says_hello(session)["modules"] == [str(tmp_path / f) for f in ("bbr3.ko", "copa.ko")]
    guests.boot(session, 3, {"copa": {"delta": 2, "slow": True}})
    told = f'{tmp_path}/copa.ko delta="2" slow="1"'
    assert says_hello(session)["modules"] == [f"{tmp_path}/bbr3.ko", told]


def test_a_refused_module_is_an_error_and_leaves_no_guest(
    make_session: MakeSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    cca = CFile("copa", tmp_path / "copa.c", "d")
    monkeypatch.setattr(session_module, "module_of", lambda kernel, cca: tmp_path / "gone.ko")
    session = make_session(ccas=(cca,))
    with pytest.raises(TargetError, match=r"^guest: insert: .*/gone\.ko: No such file"):
        guests.boot(session)
    assert guests.left_of(str(session.scratch)) == []


def test_a_guest_has_the_socket_buffers_of_the_scenario(make_session: MakeSession) -> None:
    session = make_session(hosts=Hosts(wmem_max=Size(4 * 2**20)))
    guests.boot(session)
    for host in hosts_of(session).values():
        assert host["sysctls"]["net.ipv4.tcp_wmem"] == "4096 16384 4194304"  # type: ignore[index]
        assert host["sysctls"]["net.ipv4.tcp_rmem"] == "4096 131072 8000000"  # type: ignore[index]


def test_a_qdisc_of_the_scenario_is_inserted_set_read_back_and_counted(
    make_session: MakeSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    module = tmp_path / "sch_fq.ko"
    module.touch()
    monkeypatch.setattr(GuestKernel, "module", lambda kernel, name: tmp_path / f"{name}.ko")
    session = make_session(hosts=Hosts(qdisc="fq"))
    guests.boot(session)
    assert says_hello(session)["modules"] == [str(module)]
    assert {side: host["qdisc"] for side, host in hosts_of(session).items()} == {
        "snd": "fq", "rcv": "fq",
    }  # fmt: skip
    assert session.qdiscs() == {"senders": "fq", "receivers": "fq"}
    losses = session.host_losses()
    assert (losses["nb0_qdisc_dropped"], losses["nb1_qdisc_dropped"]) == (3, 4)
    monkeypatch.setenv("FAKE_GUEST", "pfifo")
    with pytest.raises(TargetError, match=r"^guest: host: snd has qdisc pfifo, not fq$"):
        guests.boot(session, 2)


def test_programs_of_others_are_pinned_and_make_sockets_of_ipv6(
    make_session: MakeSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    module = tmp_path / "ipv6.ko"
    module.touch()
    monkeypatch.setattr(GuestKernel, "module", lambda kernel, name: tmp_path / f"{name}.ko")
    asked: list[str] = []
    monkeypatch.setattr(session_module, "require_pinning", asked.append)
    session = make_session(programs=True)
    kernel = guests.boot(session)
    assert says_hello(session)["modules"] == [f"{module} disable_ipv6=1"]
    assert b"NASHBED_PINNED=1" in Path(f"/proc/{kernel.pid}/environ").read_bytes().split(b"\0")
    assert len(asked) == 2


def test_each_boot_is_another_guest(session: GuestSession) -> None:
    first = session._kernel
    assert first is not None
    session.clock.sleep(5.0)
    second = guests.boot(session, seed=2)
    assert first.poll() is not None
    assert second.poll() is None
    assert second.pid != first.pid
    assert session.clock.now_ns() == BOOT_NS


def test_losses_are_named_by_interface(session: GuestSession) -> None:
    kinds = ("rx_errors", "rx_dropped", "rx_fifo", "tx_errors", "tx_dropped", "tx_fifo")
    expected = {"softnet_dropped": 7}
    for interface in ("nb0", "nb1"):
        expected |= {f"{interface}_{kind}": n for n, kind in enumerate(kinds, 1)}
    for side, backlog in (("snd", 12), ("rcv", 22)):
        expected |= {f"{side} TCPBacklogDrop": backlog, f"{side} InDiscards": 31}
        expected |= {f"{side} InErrs": 32}
    assert session.host_losses() == expected


def test_what_ran_short_is_named_by_host(session: GuestSession) -> None:
    strain = session.host_strain()
    assert strain.pressure == {"snd PruneCalled": 11, "rcv PruneCalled": 21}
    assert strain.kernel is None


def test_a_failure_before_ready_leaves_no_guest(
    make_session: MakeSession, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("FAKE_GUEST", "config")
    session = make_session()
    words = r"guest ended unexpectedly \(exit code 2\): nashbed-virtual: spec: /nowhere: cannot be"
    with pytest.raises(TargetError, match=words) as caught:
        guests.boot(session)
    assert not caught.value.repeatable  # it would be refused again
    session.require_targets()
    assert session.clock.now_ns() == 0


def test_a_guest_that_does_not_boot_is_a_bad_moment_and_the_next_one_boots(
    make_session: MakeSession, monkeypatch: pytest.MonkeyPatch
) -> None:
    session = make_session()
    with monkeypatch.context() as mute:
        mute.setenv("FAKE_GUEST", "mute")
        mute.setattr("nashbed.controlplane.machine.guest.session.READY_TIMEOUT_S", 0.3)
        with pytest.raises(TargetError, match=r"did not report 'ready' within 0\.3 s") as caught:
            guests.boot(session)
    assert caught.value.repeatable
    assert guests.boot(session).poll() is None


def test_a_guest_that_is_killed_is_a_bad_moment_and_the_next_one_boots(
    session: GuestSession,
) -> None:
    killed = session._kernel
    assert killed is not None
    os.kill(killed.pid, signal.SIGKILL)
    with pytest.raises(TargetError, match=r"guest failed: .* \(killed by SIGKILL\)") as caught:
        session.clock.sleep(1.0)
    assert caught.value.repeatable
    with pytest.raises(
        TargetError, match=r"guest ended in mid-trial \(killed by SIGKILL\)"
    ) as caught:
        session.require_targets()
    assert caught.value.repeatable
    assert guests.boot(session).poll() is None


def test_a_guest_that_memory_ran_out_for_says_so(
    make_session: MakeSession, monkeypatch: pytest.MonkeyPatch
) -> None:
    kills = [7]
    monkeypatch.setattr("nashbed.controlplane.machine.process.managed.oom_kills", lambda: kills[0])
    session = make_session()
    kernel = guests.boot(session)
    kills[0] += 1
    os.kill(kernel.pid, signal.SIGKILL)
    with pytest.raises(TargetError, match=r"\(killed by SIGKILL\): memory ran out"):
        session.clock.sleep(1.0)


def test_a_guest_is_the_first_that_the_oom_killer_takes(session: GuestSession) -> None:
    kernel = session._kernel
    assert kernel is not None
    assert Path(f"/proc/{kernel.pid}/oom_score_adj").read_text().strip() == "1000"
    assert Path("/proc/self/oom_score_adj").read_text().strip() != "1000"


def test_the_console_is_kept_by_core(make_session: MakeSession, tmp_path: Path) -> None:
    guests.boot(make_session(core=0))
    guests.boot(make_session())
    assert {path.name for path in tmp_path.glob("guest*.log")} == {"guest.log", "guest-0.log"}


def test_a_guest_is_pinned_to_its_core(make_session: MakeSession) -> None:
    kernel = guests.boot(make_session(core=0))
    status = Path(f"/proc/{kernel.pid}/status").read_text()
    assert "Cpus_allowed_list:\t0\n" in status


def test_the_command_line(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    kernel = guests.fake_kernel(tmp_path)
    guests.use_kernel(monkeypatch.setattr, kernel)
    config, scratch = Path("/s/guest.json"), Path("/s")
    command = kernel_command(GuestSettings(kernel, 2**64 - 1, config, scratch, 2**30, None))
    assert command[:4] == ["env", f"NASHBED_SEED={2**64 - 1}", "TMPDIR=/dev/shm", "HOME=/s"]
    assert "taskset" not in command
    assert "NASHBED_PINNED=1" not in command
    pinned = GuestSettings(kernel, 1, config, scratch, 2**30, None, pinned=True)
    assert "NASHBED_PINNED=1" in kernel_command(pinned)[: command.index("--")]
    assert command[command.index(str(kernel.binary)) + 1] == "mem=1024M"
    assert command[-1].endswith("/nashbed-virtual.so:/s/guest.json")


def test_two_sessions_do_not_meet(make_session: MakeSession) -> None:
    first, second = make_session(), make_session()
    kernels = [guests.boot(first), guests.boot(second)]
    assert first.scratch != second.scratch
    first.clock.sleep(3.0)
    assert second.clock.now_ns() == BOOT_NS
    first.close()
    assert [kernel.poll() is None for kernel in kernels] == [False, True]
    assert second.scratch.is_dir()


def test_closing_leaves_nothing(session: GuestSession) -> None:
    scratch, kernel = session.scratch, session._kernel
    assert kernel is not None
    session.close()
    session.close()
    assert not scratch.exists()
    assert list(guests_folder().iterdir()) == []
    assert start_time(kernel.pid) is None
    with pytest.raises(InternalError, match="not open"):
        _ = session.scratch


@pytest.mark.slow
@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGTERM])
def test_a_killed_control_plane_leaves_no_guest(
    place: Path, tmp_path: Path, number: signal.Signals
) -> None:
    args = [sys.executable, "-m", "tests.support.hold_guest", str(tmp_path), "fake"]
    with subprocess.Popen(args, stdout=subprocess.PIPE, text=True, cwd=ROOT) as holder:
        assert holder.stdout is not None
        scratch = Path(json.loads(holder.stdout.readline())["scratch"])
        pid = json.loads(holder.stdout.readline())["pid"]
        assert scratch.is_dir()
        holder.send_signal(number)
    gone = AssertionError(f"process {pid} is still there")
    poll(lambda: True if start_time(pid) is None else None, 10.0, lambda: gone)
    assert scratch.exists() is (number == signal.SIGKILL)
    state_file = open_scratch(guests_folder(), "cd34", tmp_path)
    assert not scratch.exists()
    assert len(list(guests_folder().glob("*.json"))) == 1
    state_file.remove()


def test_a_live_session_is_left_alone(session: GuestSession, tmp_path: Path) -> None:
    other = open_scratch(guests_folder(), "cd34", tmp_path)
    assert session.scratch.is_dir()
    assert session.scratch != Path(other.state.scratch)


def test_a_folder_of_somebody_elses_is_refused(place: Path, tmp_path: Path) -> None:
    guests_folder().symlink_to(tmp_path)
    with pytest.raises(HostError, match="not a folder of this user"):
        open_scratch(guests_folder(), "ab12", tmp_path)


def test_the_runtime_folder_of_another_user_is_not_taken(
    place: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert guests_folder().parent == place
    monkeypatch.setattr(os, "geteuid", lambda: os.getuid() + 1)
    assert guests_folder() == Path(tempfile.gettempdir()) / f"nashbed-{os.getuid() + 1}"


def test_a_path_too_long_for_sockets_is_refused(place: Path, tmp_path: Path) -> None:
    folder = place / ("x" * 100)
    with pytest.raises(HostError, match="too long a path for UNIX sockets"):
        open_scratch(folder, "ab12", tmp_path)
    assert list(folder.iterdir()) == []


def test_memory_is_more_than_flows_can_need(tmp_path: Path) -> None:
    assert guest_memory_bytes(guests.session_request(tmp_path)) == 2**30
    large = guests.session_request(tmp_path, window_bytes=200 * 2**20)
    assert guest_memory_bytes(large) == (768 + 6 * 200) * 2**20
    bed = Testbed(name="v", target="virtual", virtual=Guest(memory=Size(128 * 2**20)))
    assert guest_memory_bytes(guests.session_request(tmp_path, testbed=bed)) == 128 * 2**20


def test_what_needs_another_machine_is_refused(session: GuestSession, tmp_path: Path) -> None:
    with pytest.raises(InternalError, match="by boot"):
        session.start_dataplane(tmp_path)
    with pytest.raises(InternalError, match="no switch program"):
        session.start_switch(tmp_path)
    with pytest.raises(HostError, match="pktgen: cannot send in virtual time"):
        session.run_beside_senders(["pktgen"], None, 1.0)

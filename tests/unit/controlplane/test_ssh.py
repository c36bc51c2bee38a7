"""A machine over ssh: against a stand-in for ssh, and a real sshd where one is installed."""

from __future__ import annotations

import getpass
import json
import shutil
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from nashbed.controlplane.contract.errors import HostError, NashbedError
from nashbed.controlplane.session.ssh import SshMachine

ROOT = Path(__file__).resolve().parents[3]
NASTY = ["", " ", "a b", "'", '"', "\\", "$HOME", "$(id)", "`id`", "*", "a\nb", "-n", "ä", ";&|<>"]
ECHO = "import json, sys; print(json.dumps(sys.argv[1:]))"
SPEAKER = (
    "import json, sys\n"
    "print(json.dumps({'event': 'ready'}), flush=True)\n"
    "for line in sys.stdin:\n"
    "    print(json.dumps({'event': 'heard', 'what': json.loads(line)}), flush=True)\n"
)
STUBBORN = (
    "import json, signal, time\n"
    "signal.signal(signal.SIGTERM, signal.SIG_IGN)\n"
    "print(json.dumps({'event': 'ready'}), flush=True)\n"
    "time.sleep(600)\n"
)


@pytest.fixture
def fake_ssh(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """ssh on PATH is the stand-in; returns the file with its calls."""
    folder = tmp_path / "bin"
    folder.mkdir()
    (folder / "ssh").symlink_to(ROOT / "tests" / "fakes" / "ssh.sh")
    monkeypatch.setenv("PATH", f"{folder}:/usr/bin:/bin:/usr/sbin:/sbin")
    log = tmp_path / "ssh.log"
    monkeypatch.setenv("FAKE_SSH_LOG", str(log))
    return log


@pytest.fixture
def machine(fake_ssh: Path) -> Iterator[SshMachine]:
    made = SshMachine("root@lab")
    made.open()
    yield made
    made.close()


def started_speaker(machine: SshMachine, script: str = SPEAKER):  # type: ignore[no-untyped-def]
    process = machine.start("speaker", [sys.executable, "-c", script])
    process.wait_event("ready", 10)
    return process


def alive(pid: int) -> bool:
    return Path(f"/proc/{pid}").exists()


def test_arguments_arrive_as_they_are(machine: SshMachine) -> None:
    done = machine.run([sys.executable, "-c", ECHO, *NASTY])
    assert done.out.strip() == json.dumps(NASTY)


@settings(max_examples=25, deadline=None, suppress_health_check=list(HealthCheck))
@given(args=st.lists(st.text(st.characters(codec="utf-8", exclude_characters="\0")), max_size=3))
def test_any_arguments_arrive_as_they_are(machine: SshMachine, args: list[str]) -> None:
    done = machine.run(["printf", "%s\\0", "first", *args])
    # The pipe's text mode makes \r and \r\n a line's end; ask for what it makes of them.
    expected = "\0".join(["first", *args, ""]).replace("\r\n", "\n").replace("\r", "\n")
    assert done.out == expected


def test_a_command_that_fails_is_one_line(machine: SshMachine) -> None:
    with pytest.raises(HostError, match=r"^root@lab: `ls /nowhere` failed: .*No such file") as told:
        machine.run(["ls", "/nowhere"])
    assert "\n" not in told.value.message
    assert machine.attempt(["false"]).code == 1


def test_only_keys_and_one_connection(machine: SshMachine, fake_ssh: Path) -> None:
    machine.run(["true"])
    calls = fake_ssh.read_text().splitlines()
    assert all("-o BatchMode=yes" in call for call in calls)
    assert len({call.split("ControlPath=")[1].split()[0] for call in calls}) == 1
    assert sum("ControlMaster=yes" in call for call in calls) == 1


def test_files(machine: SshMachine, tmp_path: Path) -> None:
    path = tmp_path / "a new folder" / "it's a file"
    machine.write_text(path, "two\nlines\n")
    assert machine.read_text(path) == "two\nlines\n"
    assert path.stat().st_mode & 0o777 == 0o600


def test_a_process_speaks_and_is_stopped_there(machine: SshMachine) -> None:
    process = started_speaker(machine)
    assert alive(process.pid)
    process.send({"a": [1, "two"]})
    assert process.wait_event("heard", 10)["what"] == {"a": [1, "two"]}
    process.stop()
    process.stop()
    assert not alive(process.pid)


def test_one_that_ignores_sigterm_is_killed(
    machine: SshMachine, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("nashbed.controlplane.session.ssh.STOP_GRACE_S", 0.3)
    process = started_speaker(machine, STUBBORN)
    process.stop()
    assert not alive(process.pid)


def test_close_stops_what_was_started(fake_ssh: Path) -> None:
    machine = SshMachine("root@lab")
    machine.open()
    process = started_speaker(machine)
    machine.close()
    machine.close()
    assert not alive(process.pid)


def test_its_end_and_its_failure_are_told(machine: SshMachine) -> None:
    process = machine.start("short", ["sh", "-c", "echo last words >&2; exit 4"])
    with pytest.raises(NashbedError, match=r"short on root@lab ended unexpectedly .*last words"):
        process.wait_event("ready", 10)
    assert process.poll() == 4


def test_a_machine_that_is_not_there(fake_ssh: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("FAKE_SSH_LOST", "1")
    machine = SshMachine("root@lab")
    with pytest.raises(HostError) as told:
        machine.open()
    assert told.value.message.startswith("root@lab: ssh: ssh: connect to host lab port 22: No")
    assert "does `ssh root@lab true` work" in told.value.message
    machine.close()


def test_no_ssh_at_all(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    machine = SshMachine("root@lab")
    (tmp_path / "setpriv").symlink_to(str(shutil.which("setpriv")))
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(HostError, match="ssh: not installed"):
        machine.open()
    machine.close()


def test_a_command_that_takes_too_long(machine: SshMachine) -> None:
    with pytest.raises(HostError, match=r"did not end within 0\.2 s"):
        machine.run(["sleep", "30"], timeout_s=0.2)


def test_an_option_is_no_machine() -> None:
    with pytest.raises(HostError, match="is no machine"):
        SshMachine("-oProxyCommand=touch /tmp/x")


@pytest.mark.skipif(not Path("/usr/sbin/sshd").exists(), reason="openssh-server is not installed")
def test_a_real_sshd(tmp_path: Path) -> None:
    """The same over a real connection: quoting, a process, its stop."""
    key, port = tmp_path / "key", free_port()
    for name in ("key", "host"):
        subprocess.run(
            ["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", str(tmp_path / name)], check=True
        )
    config = tmp_path / "sshd_config"
    config.write_text(
        f"Port {port}\nListenAddress 127.0.0.1\nHostKey {tmp_path / 'host'}\nUsePAM no\n"
        f"AuthorizedKeysFile {key}.pub\nStrictModes no\nPidFile none\nPermitRootLogin yes\n"
        "Subsystem sftp internal-sftp\n"
    )
    Path("/run/sshd").mkdir(exist_ok=True)
    server = subprocess.Popen(["/usr/sbin/sshd", "-D", "-e", "-f", str(config)])
    options = [f"Port={port}", f"IdentityFile={key}", "IdentitiesOnly=yes",
               "StrictHostKeyChecking=no", f"UserKnownHostsFile={tmp_path / 'known'}"]  # fmt: skip
    machine = SshMachine(f"{getpass.getuser()}@127.0.0.1", options)
    try:
        wait_for(port)
        machine.open()
        assert machine.run(["printf", "%s\\0", *NASTY]).out == "\0".join([*NASTY, ""])
        process = started_speaker(machine)
        process.stop()
        assert not alive(process.pid)
        machine.fetch(config, tmp_path / "copy")
        assert (tmp_path / "copy").read_text() == config.read_text()
    finally:
        machine.close()
        server.terminate()
        server.wait(10)


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


def wait_for(port: int) -> None:
    for _ in range(100):
        with socket.socket() as probe:
            if probe.connect_ex(("127.0.0.1", port)) == 0:
                return
        time.sleep(0.05)
    raise AssertionError("sshd does not listen")

"""Facts about the machine: the checkout of the manifest, and PTP, absent where it is not."""

from pathlib import Path

import pytest
from nashbed.controlplane.machine.host import facts
from nashbed.controlplane.machine.process.command import CommandTimeoutError, Completed


def test_a_clone_on_a_machine_without_git_has_no_commit(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / ".git").mkdir()
    monkeypatch.setenv("PATH", str(tmp_path))
    assert facts.git(tmp_path) == {}


@pytest.mark.parametrize(
    ("answer", "tree"),
    [
        (Completed((), 0, "", ""), "clean"),
        (Completed((), 0, " M README.md\n", ""), "modified"),
        (Completed((), 128, "", "fatal: index file corrupt"), "unknown"),
        (CommandTimeoutError("`git status` did not end within 20.0 s"), "unknown"),
    ],
)
def test_a_checkout_whose_state_git_does_not_tell_is_unknown(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    answer: Completed | CommandTimeoutError,
    tree: str,
) -> None:
    """On a network's file system `git status` may take minutes, which must not end a run."""

    def attempt(args: list[str]) -> Completed:
        if "status" not in args:
            return Completed((), 0, "0123abcd\n", "")
        if isinstance(answer, Exception):
            raise answer
        return answer

    (tmp_path / ".git").mkdir()
    monkeypatch.setattr(facts.shutil, "which", lambda name: f"/usr/bin/{name}")
    monkeypatch.setattr(facts.command, "attempt", attempt)
    assert facts.git(tmp_path) == {"commit": "0123abcd", "tree": tree}


ANSWER = """sending: GET PORT_DATA_SET
\t001122.fffe.334455-1 seq 0 RESPONSE MANAGEMENT PORT_DATA_SET
\t\tportIdentity            001122.fffe.334455-1
\t\tportState               {state}
sending: GET TIME_STATUS_NP
\t001122.fffe.334455-0 seq 1 RESPONSE MANAGEMENT TIME_STATUS_NP
\t\tmaster_offset              -12
\t\tgmPresent                  true
\t\tgmIdentity                 aabbcc.fffe.ddeeff
sending: GET CURRENT_DATA_SET
\t001122.fffe.334455-0 seq 2 RESPONSE MANAGEMENT CURRENT_DATA_SET
\t\tstepsRemoved     1
\t\toffsetFromMaster -12.0
\t\tmeanPathDelay    387.0
"""


def pmc(folder: Path, monkeypatch: pytest.MonkeyPatch, script: str) -> None:
    """Put a stand-in for pmc in front of PATH."""
    path = folder / "pmc"
    path.write_text("#!/bin/sh\n" + script)
    path.chmod(0o755)
    monkeypatch.setenv("PATH", f"{folder}:/usr/bin:/bin")


@pytest.mark.parametrize(("port", "state"), [("SLAVE", "synchronised"), ("LISTENING", "running")])
def test_what_pmc_tells(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, port: str, state: str
) -> None:
    pmc(tmp_path, monkeypatch, f"cat <<'END'\n{ANSWER.format(state=port)}END\n")
    assert facts.ptp_state() == {
        "state": state,
        "port_state": port,
        "offset_ns": "-12",
        "grandmaster_present": "true",
        "grandmaster": "aabbcc.fffe.ddeeff",
        "path_delay_ns": "387.0",
        "steps_removed": "1",
    }


def test_no_answer(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    pmc(tmp_path, monkeypatch, "echo 'sending: GET PORT_DATA_SET'\n")
    assert facts.ptp_state() == {"state": "absent", "detail": "ptp4l does not answer pmc"}
    pmc(tmp_path, monkeypatch, "exec sleep 30\n")
    monkeypatch.setattr(facts, "PMC_TIMEOUT_S", 0.2)
    assert "did not end within 0.2 s" in facts.ptp_state()["detail"]


def test_not_installed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    assert facts.ptp_state() == {"state": "absent", "detail": "pmc (linuxptp) is not installed"}

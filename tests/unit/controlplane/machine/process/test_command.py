"""Commands: what a command says is where it is asked for."""

import pytest
from nashbed.controlplane.machine.process import command


def test_errors_are_shown_where_that_is_asked_for(capfd: pytest.CaptureFixture[str]) -> None:
    script = ["sh", "-c", "echo out; echo err >&2; exit 3"]
    assert command.attempt(script) == command.Completed(tuple(script), 3, "out\n", "err\n")
    assert capfd.readouterr().err == ""
    done = command.attempt(script, timeout_s=None, show_errors=True)
    assert (done.code, done.out, done.err) == (3, "out\n", "")
    assert capfd.readouterr().err == "err\n"

"""The log of a run."""

import logging
import subprocess
import sys
from pathlib import Path

import pytest
from nashbed.controlplane.machine.log import LOG, close_log, log_to, shown_log


def test_what_is_logged_is_in_the_file(tmp_path: Path) -> None:
    handler = log_to(tmp_path / "folder" / "run.log")
    LOG.info("something %d", 1)
    close_log(handler)
    LOG.info("too late")
    (line,) = (tmp_path / "folder" / "run.log").read_text().splitlines()
    assert line.endswith("INFO    MainThread: something 1")


def test_a_full_disk_is_not_the_logs_to_tell(capsys: pytest.CaptureFixture[str]) -> None:
    """The trial says it; an error on closing the log would take its place."""
    handler = log_to(Path("/dev/full"))
    LOG.info("something")
    close_log(handler)
    assert capsys.readouterr().err == ""


def test_a_mistake_in_a_message_is_told(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    handler = log_to(tmp_path / "run.log")
    handler.handle(LOG.makeRecord("nashbed", logging.INFO, "x.py", 1, "%d", ("no number",), None))
    close_log(handler)
    assert "not str" in capsys.readouterr().err


def test_a_module_is_heard_where_the_command_says(capsys: pytest.CaptureFixture[str]) -> None:
    """From its level on, with its name, and no longer than asked."""
    module = logging.getLogger("nashbed.controlplane.some.module")
    before = list(LOG.handlers)
    with shown_log("warning"):
        module.warning("odd: %d", 1)
        module.info("as usual")
    module.warning("too late")
    assert "WARNING nashbed.controlplane.some.module: odd: 1\n" in capsys.readouterr().err
    assert before == LOG.handlers


def test_the_runs_log_has_everything_whatever_is_shown(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    with shown_log("error"):
        written = log_to(tmp_path / "run.log")
        logging.getLogger("nashbed.x").debug("a command")
        close_log(written)
    assert "DEBUG" in (tmp_path / "run.log").read_text()
    assert capsys.readouterr().err == ""


@pytest.mark.slow
def test_importing_configures_nothing() -> None:
    """Nobody who uses the packages as a library finds handlers or levels of ours."""
    script = (
        "import logging, nashbed.controlplane.cli.main, nashbed.controlplane.run.runner\n"
        "loggers = [logging.getLogger(), logging.getLogger('nashbed')]\n"
        "print([(each.handlers, each.level) for each in loggers])"
    )
    done = subprocess.run(
        [sys.executable, "-c", script], check=True, capture_output=True, text=True
    )
    assert done.stdout == f"[([], {logging.WARNING}), ([], {logging.NOTSET})]\n"

"""The log of a run."""

from __future__ import annotations

import logging
from pathlib import Path

import pytest
from nashbed.controlplane.machine.log import LOG, close_log, log_to


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

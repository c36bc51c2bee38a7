"""Shared run directories, simulated once; tests that damage one take a copy."""

import shutil
from pathlib import Path
from typing import Any

import pytest
from tests.support.synthetic_run import write_run


@pytest.fixture(scope="session")
def whole_run(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Four flows, one buffer, all five mixes, one repetition. Read only."""
    return write_run(tmp_path_factory.mktemp("runs") / "whole")


@pytest.fixture
def run_copy(whole_run: Path, tmp_path: Path) -> Path:
    return Path(shutil.copytree(whole_run, tmp_path / "run"))


def draw_none(wanted: Any, folder: Path, *_: Any) -> Any:
    """Draws no figures."""
    folder.mkdir(parents=True, exist_ok=True)
    return []


@pytest.fixture
def unsaved_figures(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Names of figures of reports: the first of each kind is drawn, and none is saved.

    To save them takes longer than all the rest of a report.
    """
    from nashbed.analysis.figures.style import house_style  # slow to import

    drawn: list[str] = []

    def draw_unsaved(wanted: Any, folder: Path, *_: Any) -> Any:
        firsts = {sketch.kind: sketch for sketch in reversed(list(wanted))}
        with house_style():
            drawn.extend(sketch.name for sketch in firsts.values() if sketch.draw())
        return draw_none(wanted, folder)

    monkeypatch.setattr("nashbed.analysis.report.build.draw_all", draw_unsaved)
    return drawn


@pytest.fixture
def no_figures(monkeypatch: pytest.MonkeyPatch) -> None:
    """Reports without figures: for what their page says, of a run whose figures others draw."""
    monkeypatch.setattr("nashbed.analysis.report.build.draw_all", draw_none)

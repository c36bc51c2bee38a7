"""Figures as files, written by this process and by others beside it."""

import os
import zlib
from pathlib import Path
from xml.etree import ElementTree

import pytest
from matplotlib.figure import Figure
from nashbed.analysis.figures import saving, style
from nashbed.analysis.figures.drawing import draw
from nashbed.analysis.figures.plot import Line, Panel, Plot

SVG = ("svg",)
NAMES = [f"figure{number}" for number in range(saving.AT_ONCE + 1)]
"""More than one process saves."""


def simple() -> Figure:
    return draw(Plot([Panel([Line([0, 1, 2], [2, 0, 1], "a line")])], (3, 2), columns=1))


def files_in(folder: Path) -> dict[str, bytes]:
    return {path.stem: path.read_bytes() for path in folder.iterdir()}


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> bytes:
    """The simple figure as SVG."""
    path = tmp_path_factory.mktemp("whole") / "figure"
    with style.house_style():
        saving.save(simple(), path, SVG)
    return path.with_suffix(".svg").read_bytes()


@pytest.mark.slow
def test_saved_files_can_be_read_and_depend_on_the_data_alone(tmp_path: Path) -> None:
    first, second = tmp_path / "first", tmp_path / "second"
    with style.house_style():
        paths = saving.save(simple(), first, ("png", "pdf", "svg"))
        again = saving.save(simple(), second, ("png", "pdf", "svg"))
    assert [path.name for path in paths] == ["first.png", "first.pdf", "first.svg"]
    png, pdf, svg = (path.read_bytes() for path in paths)
    assert png.startswith(b"\x89PNG\r\n\x1a\n")
    assert zlib.crc32(png[-8:-4]) == int.from_bytes(png[-4:], "big")  # the end chunk is whole
    assert pdf.startswith(b"%PDF-")
    assert pdf.rstrip().endswith(b"%%EOF")
    assert ElementTree.fromstring(svg).tag.endswith("svg")
    assert [path.read_bytes() for path in again] == [png, pdf, svg]


def test_the_place_of_axes_has_no_more_digits_than_the_solver_repeats(tmp_path: Path) -> None:
    figure = simple()
    saving.save(figure, tmp_path / "figure", ())
    edges = figure.axes[0].get_position().bounds
    assert 0.05 < edges[0] < 0.3  # beside the scale: it is laid out
    assert edges == pytest.approx([round(edge, 9) for edge in edges], abs=1e-15)


@pytest.mark.slow
def test_processes_beside_this_one_save_the_same_files(tmp_path: Path, whole: bytes) -> None:
    with style.house_style(), saving.saving_beside() as save:
        for name in NAMES:
            save(simple(), tmp_path / name, SVG)
    assert files_in(tmp_path) == dict.fromkeys(NAMES, whole)


def test_without_a_process_this_one_saves(
    tmp_path: Path, whole: bytes, monkeypatch: pytest.MonkeyPatch
) -> None:
    def none_left() -> int:
        raise BlockingIOError

    monkeypatch.setattr(os, "fork", none_left)
    with style.house_style(), saving.saving_beside() as save:
        save(simple(), tmp_path / "figure", SVG)
    assert files_in(tmp_path) == {"figure": whole}


def test_what_cannot_be_saved_is_an_error_of_this_process(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError), saving.saving_beside() as save:
        save(simple(), tmp_path / "nowhere" / "figure", SVG)


def test_no_process_is_left_when_a_figure_cannot_be_drawn(tmp_path: Path, whole: bytes) -> None:
    """So that nobody writes into a folder that is cleared away."""

    def draw_all() -> None:
        with style.house_style(), saving.saving_beside() as save:
            for name in NAMES[: saving.AT_ONCE]:
                save(simple(), tmp_path / name, SVG)
            raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        draw_all()
    assert files_in(tmp_path) == dict.fromkeys(NAMES[: saving.AT_ONCE], whole)

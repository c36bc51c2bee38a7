"""The look: a colour and a marker for each congestion control; files that can be read."""

from __future__ import annotations

import zlib
from pathlib import Path
from xml.etree import ElementTree

import matplotlib as mpl
import matplotlib.pyplot as plt
import pytest
from matplotlib.colors import to_rgb
from matplotlib.figure import Figure
from nashbed.analysis.figures import style


def simple() -> Figure:
    figure, (ax,) = style.new_figure(3, 2)
    ax.plot([0, 1, 2], [2, 0, 1], label="a line")
    style.legend_below(figure, ax, columns=1)
    return figure


def test_colours_and_markers_tell_congestion_controls_apart() -> None:
    names = ("cubic", "bbr", "mine", "yours")
    assert style.colour_of("cubic", names) == style.colour_of("cubic", ("bbr", "cubic"))
    assert len({style.colour_of(name, names) for name in names}) == 4
    assert len({style.marker_of(name, names) for name in names}) == 4
    assert style.colour_of("unknown", names) == style.MUTED


def test_shades_alternate() -> None:
    dark, light, again = style.shades("#000000", 3)
    assert dark == again == to_rgb("#000000")
    assert light == pytest.approx((0.35, 0.35, 0.35))


def test_figures_share_no_global_state() -> None:
    before = dict(mpl.rcParams)
    with style.house_style():
        assert mpl.rcParams["axes.spines.top"] is False
        simple()
    assert dict(mpl.rcParams) == before
    assert plt.get_fignums() == []


def test_axes_below_each_other_share_their_x() -> None:
    figure, (above, below) = style.new_figure(3, 4, rows=2, heights=(2, 1))
    above.set_xlim(0, 7)
    assert below.get_xlim() == (0, 7)
    assert tuple(figure.get_size_inches()) == (3, 4)
    assert figure.axes == [above, below]


def test_one_legend_of_all_axes() -> None:
    figure, (above, below) = style.new_figure(3, 4, rows=2)
    above.plot([0], [0], label="first")
    below.plot([0], [0], label="second")
    style.legend_below(figure, above, 2, below)
    (legend,) = figure.legends
    assert [text.get_text() for text in legend.get_texts()] == ["first", "second"]


def test_saved_files_can_be_read_and_depend_on_the_data_alone(tmp_path: Path) -> None:
    first, second = tmp_path / "first", tmp_path / "second"
    with style.house_style():
        paths = style.save(simple(), first, ("png", "pdf", "svg"))
        again = style.save(simple(), second, ("png", "pdf", "svg"))
    assert [path.name for path in paths] == ["first.png", "first.pdf", "first.svg"]
    png, pdf, svg = (path.read_bytes() for path in paths)
    assert png.startswith(b"\x89PNG\r\n\x1a\n")
    assert zlib.crc32(png[-8:-4]) == int.from_bytes(png[-4:], "big")  # the end chunk is whole
    assert pdf.startswith(b"%PDF-")
    assert pdf.rstrip().endswith(b"%%EOF")
    assert ElementTree.fromstring(svg).tag.endswith("svg")
    assert [path.read_bytes() for path in again] == [png, pdf, svg]

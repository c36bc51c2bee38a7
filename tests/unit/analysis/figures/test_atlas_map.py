"""The atlas drawn: its map, its hatching, its marks and its files."""

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from matplotlib.axes import Axes
from matplotlib.collections import PathCollection
from matplotlib.contour import QuadContourSet
from matplotlib.figure import Figure
from nashbed.analysis.atlas.compute import EquilibriumMap, compute_map
from nashbed.analysis.atlas.settings import KnownSetting, place_settings
from nashbed.analysis.figures.atlas_map import FILES, check_folder, draw_map, write_map
from nashbed.analysis.figures.style import house_style, share_colours
from nashbed.controlplane.contract.errors import ConfigError, HostError
from tests.support.drawn import legend_of, texts
from tests.unit.analysis.atlas.made_maps import plane, small_map

PAPER = KnownSetting(
    source="a paper", published=True, rate_bps=100e6, base_rtt_s=0.04, buffer_bdp=10, flows=50,
    duration_s=120, start="together", share=0.25,
)  # fmt: skip


def like_paper(**other: object) -> KnownSetting:
    return PAPER.model_copy(update=other)


OURS = like_paper(source="panel", published=False, buffer_bdp=20, share=0.75)


def drawn(computed: EquilibriumMap, *settings: KnownSetting) -> Figure:
    with house_style():
        figure = draw_map(computed, place_settings(computed.plane, settings), "today")
        assert figure is not None
        figure.draw_without_rendering()
    return figure


def marks(ax: Axes) -> list[PathCollection]:
    return [c for c in ax.collections if isinstance(c, PathCollection)]


def contours(ax: Axes) -> list[QuadContourSet]:
    return [c for c in ax.collections if isinstance(c, QuadContourSet)]


def made(shares: np.ndarray) -> EquilibriumMap:
    """The usual map with other shares, shape (8, 8)."""
    computed = small_map("mishra-desynchronised")
    points = tuple(
        replace(point, crossing=replace(point.crossing, second=None if np.isnan(s) else 50 * s))
        for point, s in zip(computed.points, shares.flat, strict=True)
    )
    return replace(computed, points=points)


def test_the_map_is_filled_and_has_lines() -> None:
    figure = drawn(small_map())
    ax = figure.axes[0]
    filled, lines = contours(ax)
    assert filled.filled
    assert not lines.filled
    assert sum(len(path.vertices) for path in filled.get_paths()) > 500
    at = [level for level, path in zip(lines.levels, lines.get_paths(), strict=True) if len(path)]
    assert 0.5 in at
    assert len(at) >= 5
    assert "50%" in texts(ax)
    assert ax.get_xlabel() == "buffer (BDP)"
    assert ax.get_ylabel() == "BDP per flow (packets)"
    assert ax.get_xscale() == ax.get_yscale() == "log"
    assert ax.get_xlim() == pytest.approx((0.5, 50))
    assert ax.get_title(loc="left") == (
        "Closed form model, base RTT 40 ms, 50 flows, 120 s, started together; today"
    )


def test_a_line_is_where_the_share_is() -> None:
    # The share falls evenly with the logarithm of the buffer, from 1 at 0.5 BDP to 0 at 50.
    even = np.tile(np.linspace(1, 0, 8), (8, 1))
    computed = made(even)
    _, lines = contours(drawn(computed).axes[0])
    half = lines.get_paths()[list(lines.levels).index(0.5)]
    # Between the points at 3.6 and 6.9 BDP, where it is 4/7 and 3/7, a line is straight: at 5.27.
    x = computed.plane.x.values
    assert half.vertices[:, 0] == pytest.approx((x[3] + x[4]) / 2)


def test_measured_settings_in_the_colour_of_their_equilibrium() -> None:
    far = like_paper(base_rtt_s=0.02, rate_bps=200e6, buffer_bdp=30)
    figure = drawn(small_map(), PAPER, far, OURS)
    paper, ours, other = marks(figure.axes[0])  # what is exactly as on the map comes first
    assert paper.get_offsets().tolist() == [pytest.approx((10, 10_000 / 1514))]
    assert ours.get_offsets()[0][0] == 20
    look = share_colours("cubic", "bbr")
    assert tuple(paper.get_facecolor()[0]) == look(0.25)
    assert tuple(ours.get_facecolor()[0]) == look(0.75)
    assert paper.get_linewidths()[0] > other.get_linewidths()[0]
    assert legend_of(figure) == [
        "measured, a paper",
        "measured, panel",
        "measured, a paper, base RTT 20 ms",
    ]


@pytest.mark.slow
def test_uncertain_regions_are_hatched() -> None:
    computed = small_map("closed-form", "mishra-desynchronised")
    assert any(point.uncertain for point in computed.points)
    figure = drawn(computed)
    assert legend_of(figure) == [
        "closed form and mishra, de-synchronised: over 6% of the flows apart"
    ]
    hatched = [c for c in contours(figure.axes[0]) if any(c.hatches)]
    assert len(hatched) == 1
    wide = replace(
        computed,
        other=None,
        points=tuple(
            replace(p, other=None, crossing=replace(p.crossing, low=0.0, high=50.0))
            for p in computed.points
        ),
    )
    assert legend_of(drawn(wide)) == ["uncertain by chance: over 10% of the flows"]
    assert not [c for c in contours(drawn(small_map()).axes[0]) if any(c.hatches)]


def test_refused_points_are_left_blank() -> None:
    figure = drawn(small_map("mishra-synchronised"))
    filled = contours(figure.axes[0])[0]
    left = min(path.vertices[:, 0].min() for path in filled.get_paths() if len(path.vertices))
    assert left >= 1


def test_no_figure_without_an_answer() -> None:
    computed = compute_map(plane("buffer=0.1..0.9bdp"), "mishra-synchronised")
    with house_style():
        assert draw_map(computed, ()) is None


def test_linear_axes_in_their_units() -> None:
    computed = compute_map(
        plane("rate=10..100mbit:linear", "base_rtt=5..80ms:linear"), "closed-form"
    )
    ax = drawn(computed).axes[0]
    assert (ax.get_xscale(), ax.get_xlabel()) == ("linear", "rate (Mbit/s)")
    assert ax.get_xlim() == pytest.approx((10, 100))
    assert ax.get_ylim() == pytest.approx((5, 80))
    assert "buffer 5 BDP, 50 flows" in ax.get_title(loc="left")


@pytest.mark.slow
def test_every_file_and_nothing_else(tmp_path: Path) -> None:
    folder = tmp_path / "new" / "atlas"
    written = write_map(small_map(), (), folder, "today", {})
    assert [path.name for path in written] == list(FILES)
    assert sorted(path.name for path in folder.iterdir()) == sorted(FILES)
    assert all(path.stat().st_size > 500 for path in written)


def test_an_atlas_is_not_overwritten_by_chance(tmp_path: Path) -> None:
    check_folder(tmp_path / "none", overwrite=False)
    check_folder(tmp_path, overwrite=False)
    (tmp_path / "atlas.csv").touch()
    with pytest.raises(ConfigError, match=r"has atlas\.csv; give a new folder, or --overwrite"):
        check_folder(tmp_path, overwrite=False)
    check_folder(tmp_path, overwrite=True)
    with pytest.raises(ConfigError, match="is a file; give a folder"):
        check_folder(tmp_path / "atlas.csv", overwrite=True)


def test_nothing_is_written_without_an_answer(tmp_path: Path) -> None:
    computed = compute_map(plane("buffer=0.1..0.9bdp"), "mishra-synchronised")
    with pytest.raises(ConfigError, match=r"answers nowhere on the map: the buffer is 0\.1 BDP"):
        write_map(computed, (), tmp_path / "atlas", "today", {})
    assert not (tmp_path / "atlas").exists()


def test_a_folder_that_cannot_be_made(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    with pytest.raises(HostError, match="cannot be written"):
        write_map(small_map(), (), tmp_path / "file" / "atlas", "today", {})

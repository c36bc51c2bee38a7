"""The look of every figure, and the colours of shares."""

import itertools

import matplotlib as mpl
import matplotlib.pyplot as plt
import numpy as np
import pytest
from matplotlib.colors import to_rgb
from nashbed.analysis.figures import style
from nashbed.analysis.figures.drawing import draw
from nashbed.analysis.figures.plot import Line, Panel, Plot
from nashbed.controlplane.machine.c_files.kinds import SHIPPED_CCAS

SEEN_BY = {
    "everyone": np.eye(3),
    "deuteranopes": np.array(
        [[0.367, 0.861, -0.228], [0.280, 0.673, 0.047], [-0.012, 0.043, 0.969]]
    ),
    "protanopes": np.array(
        [[0.152, 1.053, -0.205], [0.115, 0.786, 0.099], [-0.004, -0.048, 1.052]]
    ),
}
TO_XYZ = np.array([[0.4124, 0.3576, 0.1805], [0.2126, 0.7152, 0.0722], [0.0193, 0.1192, 0.9505]])
WHITE_XYZ = TO_XYZ.sum(axis=1)
LARGE_FIGURE = ("cubic", "bbr", *SHIPPED_CCAS)


def test_colours_and_markers_tell_ccas_apart() -> None:
    names = ("cubic", "bbr", "mine", "yours")
    assert style.colour_of("cubic", names) == style.colour_of("cubic", ("bbr", "cubic"))
    assert len({style.colour_of(name, names) for name in names}) == 4
    assert len({style.marker_of(name, names) for name in names}) == 4
    assert len({style.bar_of(name, names)["hatch"] for name in names}) == 4
    assert style.colour_of("unknown", names) == style.MUTED


# Machado, Oliveira and Fernandes 2009, severity 1: what linear RGB becomes.


def linear(colour: str) -> np.ndarray:
    """Linear RGB."""
    rgb = np.array(to_rgb(colour))
    return np.where(rgb <= 0.04045, rgb / 12.92, ((rgb + 0.055) / 1.055) ** 2.4)


def lab(rgb: np.ndarray) -> np.ndarray:
    """CIELAB of linear RGB, in which distances are differences that are seen (2.3: just so)."""
    xyz = TO_XYZ @ np.clip(rgb, 0, 1) / WHITE_XYZ
    root = np.where(xyz > 0.008856, np.cbrt(xyz), 7.787 * xyz + 16 / 116)
    return np.array([116 * root[1] - 16, 500 * (root[0] - root[1]), 200 * (root[1] - root[2])])


@pytest.mark.parametrize("who", SEEN_BY)
def test_all_that_is_shipped_can_be_told_apart_in_one_figure(who: str) -> None:
    seen = {
        name: lab(SEEN_BY[who] @ linear(style.colour_of(name, LARGE_FIGURE)))
        for name in LARGE_FIGURE
    }
    for one, other in itertools.combinations(LARGE_FIGURE, 2):
        assert np.linalg.norm(seen[one] - seen[other]) > 15, (one, other)
    assert len({style.marker_of(name, LARGE_FIGURE) for name in LARGE_FIGURE}) == len(LARGE_FIGURE)


def test_a_shipped_ccas_colour_does_not_depend_on_the_others() -> None:
    for name in SHIPPED_CCAS:
        assert style.colour_of(name, (name, "mine")) == style.colour_of(name, LARGE_FIGURE)
        # WCAG's contrast with white paper.
        luminance = float(TO_XYZ[1] @ linear(style.colour_of(name, LARGE_FIGURE)))
        assert 1.05 / (luminance + 0.05) > 2.5, name
    own = style.colour_of("mine", (*LARGE_FIGURE, "mine"))
    assert own not in {style.colour_of(name, LARGE_FIGURE) for name in LARGE_FIGURE}


def test_figures_share_no_global_state() -> None:
    before = dict(mpl.rcParams)
    with style.house_style():
        assert mpl.rcParams["axes.spines.top"] is False
        draw(Plot([Panel([Line([0, 1, 2], [2, 0, 1], "a line")])]))
    assert dict(mpl.rcParams) == before
    assert plt.get_fignums() == []

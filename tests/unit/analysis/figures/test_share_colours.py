"""The colours of a share between two congestion controls."""

from __future__ import annotations

import numpy as np
from matplotlib.colors import to_rgb
from nashbed.analysis.figures.share_colours import share_colours
from nashbed.analysis.figures.style import colour_of


def lightness(rgb: np.ndarray) -> np.ndarray:
    """CIE L*, a measure of lightness that the colours were not made with."""
    linear = np.where(rgb <= 0.04045, rgb / 12.92, ((rgb + 0.055) / 1.055) ** 2.4)
    y = linear @ np.array([0.2126, 0.7152, 0.0722])
    return np.where(y > 0.008856, 116 * np.cbrt(y) - 16, 903.3 * y)


def test_even_steps_from_corner_to_corner() -> None:
    light = lightness(share_colours("cubic", "bbr")(np.linspace(0, 1, 101))[:, :3])
    steps = np.diff(light)
    assert (steps[:50] > 0).all()
    assert (steps[51:] < 0).all()
    assert light[50] > 90
    # Each step is within a third of the mean step: to the eye no band stands out.
    rising, falling = steps[1:49], -steps[52:]
    for half in (rising, falling):
        assert np.abs(half / half.mean() - 1).max() < 0.35


def test_each_end_is_its_congestion_control() -> None:
    look = share_colours("cubic", "bbr")
    for place, name in ((0.0, "cubic"), (1.0, "bbr")):
        end, own = np.array(look(place)[:3]), np.array(to_rgb(colour_of(name, ("cubic", "bbr"))))
        assert np.abs(end - own).max() < 0.2
        assert end.argmax() == own.argmax()

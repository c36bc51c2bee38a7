"""Colours of a share between two congestion controls, from the one's colour to the other's.

Equal steps of the share are equal steps to the eye: the colours are straight lines in OKLab, from
a light grey at one half to the two colours, which are as dark as each other. So it reads without
colour vision too: the darker, the nearer to a corner.

Source: B. Ottosson, "A perceptual color space for image processing" (2020), OKLab's matrices.
"""

from __future__ import annotations

from functools import cache

import numpy as np
from matplotlib.colors import ListedColormap, to_rgb
from numpy.typing import NDArray

from .style import colour_of

FloatArray = NDArray[np.float64]

STEPS = 256
MIDDLE = 0.95
"""Lightness at one half."""
ENDS = 0.57
"""Lightness of both ends: between that of the two colours of CUBIC and BBR, 0.53 and 0.63."""

_TO_LMS = np.array(
    [
        [0.4122214708, 0.5363325363, 0.0514459929],
        [0.2119034982, 0.6806995451, 0.1073969566],
        [0.0883024619, 0.2817188376, 0.6299787005],
    ]
)
_TO_LAB = np.array(
    [
        [0.2104542553, 0.7936177850, -0.0040720468],
        [1.9779984951, -2.4285922050, 0.4505937099],
        [0.0259040371, 0.7827717662, -0.8086757660],
    ]
)


@cache
def share_colours(first: str, second: str) -> ListedColormap:
    """A colour map from 0 (every flow runs the first) to 1 (every flow runs the second).

    Args:
        first: Name of a congestion control.
        second: Name of another one.
    """
    ends = [
        _to_oklab(np.array(to_rgb(colour_of(name, (first, second))))) for name in (first, second)
    ]
    for end in ends:
        end[0] = ENDS
    middle = np.array([MIDDLE, 0.0, 0.0])
    place = np.linspace(-1, 1, STEPS)[:, None]
    straight = np.where(
        place < 0, middle + (ends[0] - middle) * -place, middle + (ends[1] - middle) * place
    )
    return ListedColormap(_to_rgb(straight), name=f"{first} to {second}")


def _to_oklab(rgb: FloatArray) -> FloatArray:
    linear = np.where(rgb <= 0.04045, rgb / 12.92, ((rgb + 0.055) / 1.055) ** 2.4)
    lab: FloatArray = _TO_LAB @ np.cbrt(_TO_LMS @ linear)
    return lab


def _to_rgb(lab: FloatArray) -> FloatArray:
    """OKLab to sRGB, shape (n, 3); what no screen can show is cut off."""
    linear = np.clip((lab @ np.linalg.inv(_TO_LAB).T) ** 3 @ np.linalg.inv(_TO_LMS).T, 0, 1)
    return np.where(linear <= 0.0031308, 12.92 * linear, 1.055 * linear ** (1 / 2.4) - 0.055)

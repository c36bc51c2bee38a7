"""Small maps."""

from nashbed.analysis.atlas.compute import EquilibriumMap, compute_map
from nashbed.analysis.atlas.plane import MapPlane, plane_of, read_axis


def plane(
    x: str = "buffer=0.5..50bdp", y: str = "bdp-per-flow=1..100pkt", steps: int = 5, **given: float
) -> MapPlane:
    """A plane of so many steps each way."""
    return plane_of(read_axis("--x", x, steps), read_axis("--y", y, steps), given)


def small_map(
    model: str = "closed-form", other: str | None = None, steps: int = 8
) -> EquilibriumMap:
    """The usual map with few points."""
    return compute_map(plane(steps=steps), model, other)

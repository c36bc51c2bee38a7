"""The drawn tree: its texts, and a frame in the winner's colour."""

from __future__ import annotations

from typing import Any

from matplotlib.colors import to_hex
from nashbed.analysis.figures import decision_tree
from nashbed.analysis.figures.style import colour_of
from nashbed.controlplane.contract.trial import Setting
from tests.support.drawn import texts
from tests.unit.analysis.made_measures import made

GRID: dict[str, Any] = {
    "flows": [{"name": "main", "count": 1, "base_rtt": "40ms"}],
    "sweep": {"rate": ["10mbit", "50mbit", "100mbit", "200mbit"], "base_rtt": ["10ms", "100ms"],
              "buffer": ["100kB"]},
}  # fmt: skip


def by_rate(setting: Setting, strategy: str, second: int) -> float:
    """BBR has more from 100 Mbit/s on."""
    wins = setting.rate_bps >= 10**8
    return setting.rate_bps * (0.9 if (strategy == "bbr") == wins else 0.5)


def test_nodes_and_colours() -> None:
    figure = decision_tree.draw(made(GRID, by_rate, factors=(1.0, 1.001)))
    assert figure is not None
    (ax,) = figure.axes
    assert ax.get_title().startswith("8 settings, 100%")
    nodes = [text for text in texts(ax) if "class" in text]
    assert len(nodes) == 3
    assert "rate (Mbit/s) <= 75.0" in nodes[0]
    assert "samples = 8" in nodes[0]
    leaves = {}
    for node in ax.texts:
        text = node.get_text()
        box = node.get_bbox_patch()
        if "samples = 4" in text and box is not None:
            leaves["bbr" if "class = bbr" in text else "cubic"] = to_hex(box.get_edgecolor())
    assert leaves == {name: colour_of(name, ()).lower() for name in ("bbr", "cubic")}


def test_nothing_if_one_always_wins() -> None:
    always = made(GRID, lambda s, name, k: 2e6 if name == "bbr" else 1e6, factors=(1.0, 1.001))
    assert decision_tree.draw(always) is None

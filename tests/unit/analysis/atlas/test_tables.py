"""Every point as CSV and back, and what was asked as JSON."""

import csv
import io
import json

from nashbed.analysis.atlas.settings import KnownSetting, place_settings
from nashbed.analysis.atlas.tables import COLUMNS, map_json, points_csv
from tests.unit.analysis.atlas.made_maps import small_map


def number(text: str) -> float | None:
    return float(text) if text else None


def test_csv_and_back() -> None:
    computed = small_map("mishra-synchronised", "closed-form")
    reader = csv.DictReader(io.StringIO(points_csv(computed)))
    rows = list(reader)
    assert tuple(reader.fieldnames or ()) == COLUMNS
    assert len(rows) == len(computed.points)
    for row, point in zip(rows, computed.points, strict=True):
        found, asked = point.crossing, point.question
        assert (number(row["x"]), number(row["y"])) == (point.x, point.y)
        assert number(row["rate_bps"]) == asked.rate_bps
        assert number(row["buffer_bytes"]) == asked.buffer_bytes
        ends = (row["bbr_flows_low"], row["bbr_flows"], row["bbr_flows_high"])
        assert tuple(map(number, ends)) == (found.low, found.second, found.high)
        assert number(row["cubic_flows"]) == found.first
        assert point.other is not None
        assert number(row["other_bbr_flows"]) == point.other.second
        assert row["refused"] == "; ".join(found.refusals)
        assert tuple(row["uncertain"].split()) == point.uncertain
    assert {bool(row["refused"]) for row in rows} == {True, False}


def test_json() -> None:
    computed = small_map("ware")
    setting = KnownSetting(
        source="a paper", published=True, rate_bps=100e6, base_rtt_s=0.04, buffer_bdp=10, flows=50,
        duration_s=120, start="together", share=0.5,
    )  # fmt: skip
    placed = place_settings(computed.plane, [setting])
    said = json.loads(map_json(computed, placed, {"utc": "now"}))
    assert said["model"]["name"] == "ware"
    assert said["other_model"] is None
    assert said["points"] == 64
    assert said["x"]["quantity"] == "buffer"
    assert said["refused"] == 0
    assert said["settings"][0]["buffer_bdp"] == said["settings"][0]["x"] == 10
    assert said["made"] == {"utc": "now"}

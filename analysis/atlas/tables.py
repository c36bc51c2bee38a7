"""The files of a map besides its figure: every point as CSV, and what was asked as JSON."""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Mapping, Sequence
from typing import Any

from nashbed.controlplane.contract.units import PACKET_BYTES

from ..models import MODELS
from .compute import DISAGREEMENT, WIDE_RANGE, EquilibriumMap, MapPoint
from .settings import PlacedSetting

COLUMNS = (
    "x", "y", "rate_bps", "base_rtt_s", "buffer_bytes", "buffer_bdp", "bdp_per_flow_packets",
    "flows", "bbr_flows", "bbr_flows_low", "bbr_flows_high", "cubic_flows", "bbr_part_of_flows",
    "questions", "refused", "other_bbr_flows", "other_refused", "uncertain",
)  # fmt: skip
"""Columns of `atlas.csv`; x and y are in the axes' base units, numbers of flows are fractions."""


def points_csv(computed: EquilibriumMap) -> str:
    """Every point as a line of CSV, numbers in full precision, empty where there is none.

    Args:
        computed: The map.
    """
    text = io.StringIO()
    writer = csv.DictWriter(text, COLUMNS, lineterminator="\n")
    writer.writeheader()
    writer.writerows(_line(point) for point in computed.points)
    return text.getvalue()


def _line(point: MapPoint) -> dict[str, Any]:
    asked, found, other = point.question, point.crossing, point.other
    return {
        "x": point.x,
        "y": point.y,
        "rate_bps": asked.rate_bps,
        "base_rtt_s": asked.base_rtt_s,
        "buffer_bytes": asked.buffer_bytes,
        "buffer_bdp": asked.buffer_bdp,
        "bdp_per_flow_packets": asked.bdp_bytes / asked.flows / PACKET_BYTES,
        "flows": asked.flows,
        "bbr_flows": found.second,
        "bbr_flows_low": found.low,
        "bbr_flows_high": found.high,
        "cubic_flows": found.first,
        "bbr_part_of_flows": found.share,
        "questions": found.questions,
        "refused": "; ".join(found.refusals),
        "other_bbr_flows": None if other is None else other.second,
        "other_refused": "" if other is None else "; ".join(other.refusals),
        "uncertain": " ".join(point.uncertain),
    }


def map_json(
    computed: EquilibriumMap, placed: Sequence[PlacedSetting], made: Mapping[str, Any]
) -> str:
    """What was asked, of which model, by which version, and the measured settings on the map.

    Args:
        computed: The map.
        placed: The settings that are drawn on it.
        made: When, by which versions, and how long it took.
    """
    document = {
        **asked_for(computed),
        "settings": [
            {**p.setting.to_dict(), "x": p.x, "y": p.y, "differs": list(p.differs)} for p in placed
        ],
        "made": dict(made),
    }
    return json.dumps(document, indent=1) + "\n"


def asked_for(computed: EquilibriumMap) -> dict[str, Any]:
    """What was asked and what came of it, as plain data for JSON.

    Args:
        computed: The map.
    """
    uncertain = [point.uncertain for point in computed.points]
    return {
        "model": _about(computed.model),
        "other_model": None if computed.other is None else _about(computed.other),
        **computed.plane.to_dict(),
        "points": len(computed.points),
        "questions": computed.questions,
        "refused": len(computed.refused),
        "uncertain": {
            why: sum(why in reasons for reasons in uncertain)
            for why in ("seeds", "models", "transient")
        },
        "uncertain_from": {"seeds": WIDE_RANGE, "models": DISAGREEMENT},
    }


def _about(name: str) -> dict[str, str]:
    model = MODELS[name]
    return {"name": name, "title": model.title, "source": model.source, "validity": model.validity}

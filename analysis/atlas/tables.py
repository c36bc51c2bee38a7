"""The files of a map besides its figure: every point as CSV, and what was asked as JSON."""

import csv
import io
import json
from collections.abc import Mapping, Sequence

from nashbed.controlplane.contract.model import ContractModel, JsonAnswer, JsonObject
from nashbed.controlplane.contract.units import PACKET_BYTES

from ..models import MODELS
from ..models.prediction import ModelAbout
from .compute import DISAGREEMENT, WIDE_RANGE, EquilibriumMap, MapPoint
from .plane import PlaneAnswer
from .settings import PlacedSetting

COLUMNS = (
    "x", "y", "rate_bps", "base_rtt_s", "buffer_bytes", "buffer_bdp", "bdp_per_flow_packets",
    "flows", "bbr_flows", "bbr_flows_low", "bbr_flows_high", "cubic_flows", "bbr_part_of_flows",
    "questions", "refused", "other_bbr_flows", "other_refused", "uncertain",
)  # fmt: skip
"""Columns of `atlas.csv`; x and y are in the axes' base units, numbers of flows are fractions."""


def points_csv(computed: EquilibriumMap) -> str:
    """Every point as a line of CSV, numbers in full precision, empty where there is none."""
    text = io.StringIO()
    writer = csv.DictWriter(text, COLUMNS, lineterminator="\n")
    writer.writeheader()
    writer.writerows(_line(point) for point in computed.points)
    return text.getvalue()


def _line(point: MapPoint) -> JsonObject:
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


class UncertainPoints(ContractModel):
    """Points of a map that are not certain, by the reason.

    Attributes:
        seeds: The equilibria of the seeds differ.
        models: The other model disagrees.
        transient: The mix at the equilibrium has not settled in its time.
    """

    seeds: int
    models: int
    transient: int


class UncertainFrom(ContractModel):
    """From which difference on a point is uncertain, as a part of the flows.

    Attributes:
        seeds: Of the equilibria of the seeds.
        models: Of the two models.
    """

    seeds: float
    models: float


class AskedFor(PlaneAnswer):
    """What was asked and what came of it.

    Attributes:
        model: Whose equilibrium the map shows.
        other_model: The one that it is held against; null: none.
        questions: Questions that the model was asked for all of them.
        refused: Points at which it refused.
    """

    model: ModelAbout
    other_model: ModelAbout | None
    points: int
    questions: int
    refused: int
    uncertain: UncertainPoints
    uncertain_from: UncertainFrom


class MapDocument(AskedFor, JsonAnswer):
    """The content of `atlas.json`.

    Attributes:
        settings: The measured settings on the map.
        made: When, by which versions, and how long it took.
    """

    settings: tuple[PlacedSetting, ...]
    made: JsonObject


class AtlasAnswer(AskedFor, JsonAnswer):
    """What `nashbed atlas --json` answers.

    Attributes:
        settings: How many measured settings are on the map.
        seconds: How long it took.
        files: What was written.
    """

    ok: bool = True
    settings: int
    seconds: float
    files: tuple[str, ...]


def map_json(
    computed: EquilibriumMap, placed: Sequence[PlacedSetting], made: Mapping[str, object]
) -> str:
    """What was asked, of which model, by which version, and the measured settings on the map.

    Args:
        made: When, by which versions, and how long it took.
    """
    document = MapDocument(**vars(asked_for(computed)), settings=tuple(placed), made=dict(made))
    return json.dumps(document.model_dump(mode="json"), indent=1) + "\n"


def asked_for(computed: EquilibriumMap) -> AskedFor:
    """What was asked and what came of it."""
    uncertain = [point.uncertain for point in computed.points]
    return AskedFor(
        model=MODELS[computed.model].about,
        other_model=None if computed.other is None else MODELS[computed.other].about,
        **vars(computed.plane.answer()),
        points=len(computed.points),
        questions=computed.questions,
        refused=len(computed.refused),
        uncertain=UncertainPoints(
            seeds=sum("seeds" in reasons for reasons in uncertain),
            models=sum("models" in reasons for reasons in uncertain),
            transient=sum("transient" in reasons for reasons in uncertain),
        ),
        uncertain_from=UncertainFrom(seeds=WIDE_RANGE, models=DISAGREEMENT),
    )

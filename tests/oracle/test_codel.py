"""CoDel and FQ-CoDel against Linux's: nothing is drawn, so each packet is compared."""

from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray
from tests.model.splitmix import SplitMix64
from tests.oracle.arrivals import ECT_0, PATTERNS, Traffic, arrivals, recorded
from tests.oracle.compare import assert_same
from tests.oracle.linux_qdiscs import Line, codel, fq_codel, need_source, run
from tests.oracle.ours import Ours, play

RATES = [10_000_000, 100_000_000]


def both_codels(
    line: Line,
    came: NDArray[Any],
    limit: int = 1000,
    target_us: int = 5000,
    interval_us: int = 100_000,
    ecn: bool = False,
    ce_threshold_us: int | None = None,
) -> tuple[NDArray[Any], NDArray[Any]]:
    """Ours and Linux's, with the same options."""
    theirs = {"target": target_us, "interval": interval_us, "limit": limit, "ecn": int(ecn)}
    mine = {"target": target_us * 1000, "interval": interval_us * 1000, "ecn": ecn}
    if ce_threshold_us is not None:
        theirs["ce_threshold"] = ce_threshold_us
        mine["ce_threshold"] = ce_threshold_us * 1000
    left = run(codel(**theirs), line, came, need_source("codel")).outcomes
    return play(Ours(limit, "packets", name="codel", params=mine), line, came), left


@pytest.mark.parametrize("ecn", [False, True])
@pytest.mark.parametrize("rate_bps", RATES)
@pytest.mark.parametrize("pattern", PATTERNS)
def test_codel(pattern: str, rate_bps: int, ecn: bool) -> None:
    seconds = 6 if rate_bps < 5e7 else 3
    came = arrivals(Traffic(pattern, rate_bps, seconds, flows=8, sizes="any", ecn="mixed"))
    ours, theirs = both_codels(Line(rate_bps), came, ecn=ecn)
    assert (theirs["dropped"] | theirs["marked"]).sum() > 10
    assert_same(ours, theirs)


@pytest.mark.parametrize(
    "options",
    [
        {"limit": 30},
        {"target_us": 1000, "interval_us": 20_000},
        {"target_us": 13_000, "interval_us": 300_000, "ecn": True},
        {"ecn": True, "ce_threshold_us": 2000},
        {"target_us": 50, "interval_us": 1000},
    ],
    ids=str,
)
@pytest.mark.parametrize("seed", range(1, 4))
def test_options_of_codel(options: dict[str, Any], seed: int) -> None:
    rate_bps = 20_000_000
    came = arrivals(Traffic("steps", rate_bps, 5, flows=8, sizes="mixed", ecn="mixed", seed=seed))
    ours, theirs = both_codels(Line(rate_bps, overhead=24), came, **options)
    assert (theirs["dropped"] | theirs["marked"]).sum() > 20
    assert_same(ours, theirs)


@pytest.mark.parametrize("rate_bps", [30_000_000, 45_000_000])
@pytest.mark.parametrize("ecn", [False, True])
def test_codel_with_recorded_arrivals(rate_bps: int, ecn: bool) -> None:
    ours, theirs = both_codels(Line(rate_bps), recorded(ECT_0), ecn=ecn)
    assert (theirs["dropped"] | theirs["marked"]).sum() > 20
    assert_same(ours, theirs)


def both_fq_codels(
    line: Line, came: NDArray[Any], limit: int = 10_240, **options: int
) -> tuple[NDArray[Any], NDArray[Any]]:
    """Ours and Linux's, with the same options (tc's names; times in us) and the same hashes."""
    hashed = came.copy()
    for flow in np.unique(came["hash"]):
        mixed = SplitMix64(line.seed + (int(flow) << 32)).next() >> 32
        hashed["hash"][came["hash"] == flow] = mixed
    left = run(fq_codel(limit=limit, **options), line, hashed, need_source("fq_codel")).outcomes
    in_us = ("target", "interval", "ce_threshold")
    mine = {name: value * 1000 if name in in_us else value for name, value in options.items()}
    return play(Ours(limit, "packets", name="fq_codel", params=mine), line, came), left


@pytest.mark.parametrize("ecn", ["none", "mixed"])
@pytest.mark.parametrize("rate_bps", RATES)
@pytest.mark.parametrize("pattern", PATTERNS)
def test_fq_codel(pattern: str, rate_bps: int, ecn: str) -> None:
    seconds = 6 if rate_bps < 5e7 else 3
    came = arrivals(Traffic(pattern, rate_bps, seconds, flows=20, sizes="any", ecn=ecn))
    ours, theirs = both_fq_codels(Line(rate_bps), came)
    assert_same(ours, theirs)


@pytest.mark.parametrize(
    "options",
    [
        {"limit": 100},
        {"limit": 100, "drop_batch": 1},
        {"target": 1000, "interval": 20_000},
        {"quantum": 300},
        {"quantum": 6000, "ecn": 0},
        {"ce_threshold": 1000},
        {"flows": 4},
    ],
    ids=str,
)
@pytest.mark.parametrize("seed", range(1, 4))
def test_options_of_fq_codel(options: dict[str, int], seed: int) -> None:
    rate_bps = 20_000_000
    came = arrivals(Traffic("steps", rate_bps, 5, flows=100, sizes="any", ecn="mixed", seed=seed))
    ours, theirs = both_fq_codels(Line(rate_bps), came, **options)
    assert (theirs["dropped"] | theirs["marked"]).sum() > 20
    assert_same(ours, theirs)


def test_fq_codel_with_recorded_arrivals() -> None:
    ours, theirs = both_fq_codels(Line(45_000_000), recorded(ECT_0))
    assert_same(ours, theirs)

"""Equilibria against published ones, by hand."""

import pytest
from nashbed.analysis.models.agreement import agreement_by_source, published_beside
from tests.unit.analysis.models.made_equilibria import published, row

PAPER = [published(5, 10), published(10, 20), published(20, 27, 31), published(30, 34)]


def test_a_source_in_numbers() -> None:
    rows = [
        row(5, 11, low=9.6, high=13, closed=True),  # off by 1, held
        row(10, 24, low=22, high=50, closed=False),  # off by 4, not held
        row(20, 37, low=31, high=39, closed=True, settled=False),  # off by 6 from 31, held
        row(30, None),  # undecided
        row(40, 41, low=40, high=42, closed=True),  # not published
    ]
    (found,) = agreement_by_source(rows, PAPER)
    assert (found.kind, found.source) == ("measured", "run")
    assert (found.settings, found.undecided, found.unsettled, found.compared) == (5, 1, 1, 3)
    assert found.mean_off == pytest.approx((1 + 4 + 6) / 3)
    assert found.median_off == 4
    assert (found.within_3, found.within_5) == (1, 2)
    assert (found.closed.count, found.closed.hold) == (2, 2)
    assert (found.open.count, found.open.hold) == (1, 0)
    assert found.without_interval == 1


def test_sources_are_apart_in_the_order_of_their_rows() -> None:
    rows = [row(5, 12), row(5, 10, kind="model", low=9, high=11), row(10, 20)]
    measured, model = agreement_by_source(rows, PAPER)
    assert (measured.kind, measured.compared, measured.mean_off) == ("measured", 2, 1)
    assert (model.kind, model.compared, model.mean_off) == ("model", 1, 0)
    assert model.closed.count == model.open.count == 0


def test_an_interval_holds_the_mixes_that_it_allows() -> None:
    """A lead that ends at 19.9 CUBIC flows makes 20 the equilibrium: no flow gains there."""
    (found,) = agreement_by_source([row(10, 19.9, low=19.8, high=19.95, closed=True)], PAPER)
    assert found.closed.hold == 1
    (found,) = agreement_by_source([row(10, 18.9, low=18.0, high=18.95, closed=True)], PAPER)
    assert found.closed.hold == 0


def test_where_nothing_is_published_there_is_nothing_to_compare() -> None:
    (found,) = agreement_by_source([row(5, 3, base_rtt_ms=5)], PAPER)
    assert (found.compared, found.mean_off, found.median_off) == (0, None, None)
    assert published_beside(row(5, 3, strategies="cubic copa"), PAPER) is None
    assert published_beside(row(5, 3, n_flows=10), PAPER) is None
    # A buffer of whole bytes is not quite 5 BDP.
    assert published_beside(row(5.001, 3), PAPER) == PAPER[0]

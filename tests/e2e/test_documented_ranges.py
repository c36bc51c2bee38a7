"""What validation takes runs: a valid trial at each edge of every key's range, in virtual time."""

import random
from collections.abc import Iterator
from pathlib import Path

import nashbed
import pytest
from nashbed.controlplane.contract.errors import ConfigError, NashbedError
from nashbed.controlplane.contract.scenario import Scenario
from nashbed.running import start
from tests.support.edges import Doc, Edges, keys

pytestmark = [pytest.mark.virtual, pytest.mark.usefixtures("guests_place")]

MOST_PACKETS, MOST_SECONDS, MOST_FLOWS = 50_000, 30, 100
SEED = 20261128
IN_SHORT = 1
"""Edges that the suite runs; `make test-long` runs all."""


def edges(chosen: list[tuple[str | int, ...]]) -> Iterator[tuple[str, Doc]]:
    for number, key in enumerate(chosen):
        found = Edges(SEED + number).scenarios(key)
        largest = found[-1:] if len(found) > 1 else []
        yield from [*found[:1], *largest]


def refused_trial(edge: str, doc: Doc, folder: Path) -> str:
    """Run one trial; what is wrong with it, empty: it is valid, or too long to be run here."""
    try:
        plan = nashbed.plan(doc, "virtual")
    except ConfigError:
        return ""  # the target says what it cannot do
    if is_long(Scenario.model_validate(doc)):
        return ""
    with start(doc, "virtual", folder) as running:
        try:
            running.watch(lambda _: None)
        except NashbedError as error:
            return f"{edge}: {error}\n{doc}"
    run = nashbed.open_run(running.path)
    assert len(plan.trials) >= 1
    wrong = run.without_result
    # Of three seconds, what waits behind a hole at the end is a large part: the range is right.
    return f"{edge}: {wrong}\n{doc}" if wrong and "gate window_goodput" not in wrong else ""


def is_long(scenario: Scenario) -> bool:
    """Whether a trial has more seconds, flows or packets than a test should."""
    rates = [scenario.bottleneck.rate, *(scenario.sweep.rate or ())]
    rates += [change.rate for change in scenario.bottleneck.changes if change.rate is not None]
    packets = max(rate.bps for rate in rates) * scenario.longest.seconds / 12_000
    return (
        scenario.longest.seconds > MOST_SECONDS
        or scenario.most_flows > MOST_FLOWS
        or packets > MOST_PACKETS
    )


@pytest.mark.slow
def test_trials_at_some_edges_are_valid(tmp_path: Path) -> None:
    chosen = random.Random(SEED).sample(keys(), IN_SHORT)
    assert not [wrong for edge in edges(chosen) if (wrong := refused_trial(*edge, tmp_path))]


@pytest.mark.long
@pytest.mark.timeout(3600)
def test_trials_at_all_edges_are_valid(tmp_path: Path) -> None:
    assert not [wrong for edge in edges(keys()) if (wrong := refused_trial(*edge, tmp_path))]

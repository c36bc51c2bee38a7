"""The page's section on the testbeds of a run, as plain data."""

from collections.abc import Sequence

from nashbed.controlplane.contract.manifest import TestbedFacts
from nashbed.controlplane.contract.model import JsonObject
from nashbed.controlplane.contract.trial import BELIEVED, TrialRecord

from ..metrics.statistics import Estimate
from ..results.summary import RunSummary
from ..testbeds import TestbedComparison
from ..text import NONE, number, with_interval
from .correlation import sentence_case

MBIT = 1e-6


def testbeds_context(summary: RunSummary) -> JsonObject | None:
    """Everything the section shows; None: all trials ran on one testbed."""
    found, manifest = summary.testbeds, summary.measures.run.manifest
    if found is None:
        return None
    return {
        "disagreeing": found.disagreeing_settings,
        "sentence": sentence_case(found.sentence()),
        "testbeds": [
            _testbed(name, records, _facts(manifest.testbeds, records))
            for name, records in found.testbeds.items()
        ],
        "rows": [_row(each) for each in found.each],
        "epsilon": str(summary.measures.run.scenario.equilibrium.epsilon),
    }


def _facts(known: dict[str, TestbedFacts], records: Sequence[TrialRecord]) -> TestbedFacts | None:
    """What the manifest says of the testbed that these trials ran on."""
    ran_on = records[0].ran_on
    facts = None if ran_on is None else known.get(ran_on.testbed)
    if facts is None or ran_on is None or facts.testbed_digest != ran_on.testbed_digest:
        return None
    return facts


def _testbed(name: str, records: Sequence[TrialRecord], facts: TestbedFacts | None) -> JsonObject:
    states = dict.fromkeys(r.ran_on.certificate for r in records if r.ran_on is not None)
    valid = sum(record.valid for record in records)
    return {
        "name": name,
        "certificate": ", ".join(states) or "not recorded",
        "certified": bool(states) and BELIEVED.issuperset(states),
        "valid": valid,
        "invalid": len(records) - valid,
        "what": _what(records, facts),
    }


def _what(records: Sequence[TrialRecord], facts: TestbedFacts | None) -> str:
    hosts = sorted({r.ran_on.host for r in records if r.ran_on is not None})
    parts = [f"on {', '.join(hosts)}"] if hosts else []
    if facts is not None:
        parts += [f"target {facts.target}", f"kernel {facts.kernel}", facts.cpu]
        parts.append(f"P4 artefact {facts.artefact_digest[:16]}")
        parts.append(facts.certificate.detail.replace("`", ""))
    return "; ".join(parts) or NONE


def _row(each: TestbedComparison) -> JsonObject:
    half = None if each.ci95 is None else each.ci95 * MBIT
    difference = each.difference * MBIT
    return {
        "setting": each.setting,
        "mix": each.mix,
        "strategy": each.strategy,
        "testbeds": each.testbeds,
        "means": [_mean(mean) for mean in each.means],
        "difference": f"{'+' if difference > 0 else ''}{number(difference)}",
        "interval": "" if half is None else f"± {number(half)}",
        "p": NONE if each.p_adjusted is None else f"{each.p_adjusted:.2g}",
        "verdict": each.verdict,
    }


def _mean(mean: Estimate) -> JsonObject:
    text, interval = with_interval(mean.scaled(MBIT))
    return {"mean": text, "interval": interval, "n": mean.n}

"""The limits of a run, for its page: what it does not show."""

from __future__ import annotations

from collections.abc import Sequence

from nashbed.controlplane.contract.scenario_keys import BinnedPostcards, ProcessorTime
from nashbed.controlplane.contract.units import counted

from ..measures import RunMeasures
from ..nash.of_run import SettingEquilibria

WITHOUT_BLAME = (
    "Who held the queue when packets were dropped takes the postcards of all packets: "
    "`telemetry: {postcards: all}`."
)
LONG_ENOUGH_BDP = 8
LONG_ENOUGH_S = 200


def limits(measures: RunMeasures, equilibria: Sequence[SettingEquilibria]) -> list[str]:
    """The limits of a run, each in a sentence or two."""
    specific = [
        *_testbed(measures),
        *_completeness(measures, equilibria),
        *_repetitions(measures),
        *_settling(measures),
        *_telemetry(measures),
        *_programs(measures),
    ]
    return [
        *specific,
        "Throughput is goodput: payload that reached the application, at most 1448 of 1514 bytes "
        "on the wire.",
        "Equilibria are those of the measured means. A switch that gains less than the "
        "uncertainty of the means could go either way. The headline's interval covers random "
        "errors, but not errors that all trials share.",
    ]


def _testbed(measures: RunMeasures) -> list[str]:
    """What is proved about the testbed by its calibration."""
    several = measures.run.manifest.testbeds
    if several:
        return [
            f"Testbed {name} is not certified: {facts.certificate.doubt.replace('`', '')}."
            for name, facts in several.items()
            if facts.certificate.doubt
        ]
    known = measures.run.manifest.certificate
    if known is None:
        return ["The run does not record whether the testbed was calibrated."]
    doubt = known.doubt.replace("`", "")
    return [f"The testbed is not certified ({known.state}): {doubt}."] if doubt else []


def _programs(measures: RunMeasures) -> list[str]:
    """Where the throughput of programs comes from, and what their processor time costs."""
    found = []
    for name, strategy in measures.run.scenario.programs.items():
        version = measures.run.manifest.software.get(name) or "no version known"
        source = "the payload of its packets that left the bottleneck, all headers of its own and "
        source += "all retransmissions included"
        if strategy.program is not None and strategy.program.goodput != "payload":
            source = "what its receiver reports"
        found.append(f"{name} is a program ({version}); its throughput is {source}.")
    if found:
        is_virtual = measures.run.manifest.repeatable
        found.append(_processor(measures.run.scenario.hosts.cpu, is_virtual=is_virtual))
        found.append(
            "The validity gates on byte streams, congestion control and ECN do not judge programs."
        )
    return found


def _processor(cpu: ProcessorTime | None, *, is_virtual: bool) -> str:
    if not is_virtual:
        return (
            "Programs and the kernel's TCP share the hosts' cores: a program may be limited by its "
            "processor."
        )
    if cpu is None:
        return (
            "Programs take no time to compute: none is limited by its processor, and none pays for "
            "its cryptography."
        )
    return (
        f"Programs take {cpu.per_datagram} of processor time for each UDP datagram and "
        f"{cpu.per_kilobyte} for each 1000 bytes of payload, sent or received, as the scenario "
        "says; nothing else takes them any."
    )


def _completeness(measures: RunMeasures, equilibria: Sequence[SettingEquilibria]) -> list[str]:
    sentences = []
    status = measures.run.manifest.status
    if status != "complete":
        sentences.append(
            f"The run is {status}, not complete: `nashbed resume` runs what is missing."
        )
    missing = sum(e.missing_count for e in equilibria)
    total = sum(e.state_count for e in equilibria)
    if missing and measures.run.scenario.equilibrium.search == "adaptive":
        sentences.append(
            f"The adaptive search ran {total - missing} of {total} mixes. Other equilibria may be "
            "among the mixes that were not run."
        )
    elif missing:
        sentences.append(
            f"{missing} of {total} mixes have no valid trial. Mixes that differ from them by one "
            "flow may be undecided."
        )
    if measures.run.failures:
        sentences.append(f"{measures.run.failures_sentence}. See Validity.")
    if measures.damaged:
        damaged = counted(len(measures.damaged), "damaged trial")
        sentences.append(f"Left out: {damaged}. See Validity.")
    return sentences


def _repetitions(measures: RunMeasures) -> list[str]:
    counts = [len(c.trials) for s in measures.run.settings for c in measures.cells(s)]
    if counts and max(counts) < 2:
        return [
            "There is one trial per mix, so the means have no intervals. Only the differences "
            "between neighbouring mixes show how much another trial might differ."
        ]
    return []


def _settling(measures: RunMeasures) -> list[str]:
    moving = sum(trial.settled is False for trial in measures.trials)
    sentences = []
    if moving:
        sentences.append(
            f"{moving} of {len(measures.trials)} valid trials had not settled (~): at their end "
            "the throughput of a congestion control still drifted, or could not be told from one "
            "that drifts by more than 3 % of itself (15 % between the halves of the window in "
            "trials of less than 82 s). Their means depend on the window. Longer trials "
            "would help; `duration: {until: settled}` ends each trial as soon as it has settled."
        )
    return [*sentences, *_too_short(measures)]


def _too_short(measures: RunMeasures) -> list[str]:
    deepest = max((s.buffer_bdp for s in measures.run.settings), default=0.0)
    lengths = [measures.scenario_at(setting).longest.seconds for setting in measures.run.settings]
    seconds = min(lengths, default=0.0)
    if deepest < LONG_ENOUGH_BDP or seconds >= LONG_ENOUGH_S:
        return []
    return [
        f"{seconds:g} s may be too short at {deepest:g} BDP: one BBR against one CUBIC flow took "
        "169 s to converge at 8 BDP and 488 s at 32 BDP (10 Mbit/s, 40 ms; Sarpkaya, Srivastava, "
        "Fund and Panwar 2025)."
    ]


def _telemetry(measures: RunMeasures) -> list[str]:
    postcards = measures.run.scenario.telemetry.postcards
    if isinstance(postcards, BinnedPostcards):
        return [
            f"Only sums over {postcards.bins} were recorded. Delays and occupancy are means over "
            f"these bins, and there are no delay percentiles. {WITHOUT_BLAME}"
        ]
    return []

"""What the flows of programs were given: by their own reports, or by the bottleneck's postcards.

It is put where our flow generators write what theirs were given, so that everything from there on
has one form.
"""

import json
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..contract.errors import HostError
from ..contract.records import GOODPUT
from ..contract.shared import CONSTANTS
from ..lane.programs import output_of, program_folder
from ..store.postcards import read_postcards
from ..store.raw_files import Ints, read_generator_file
from ..validity.measurement import TrialMeasurement


def with_program_goodput(measured: TrialMeasurement) -> TrialMeasurement:
    """The measurement with what the flows of programs sent and were given, if there are any.

    Raises:
        HostError: A program did not report what it was to report.
    """
    processes = measured.attempt.program_flows
    if not processes:
        return measured
    own = [flow.index for flows in processes for flow in flows]
    arrived, left = _payload(measured, own)
    for flows in processes:
        if flows[0].program is not None and flows[0].program.goodput == "iperf3":
            output = output_of(program_folder(measured.attempt.folder, flows[0]), "server")
            reported = iperf3_intervals(output, len(flows))
            for flow, (until_ns, given) in zip(flows, reported, strict=True):
                start_ns = measured.sender.flows[flow.index].start_ns or 0
                left[flow.index] = until_ns + start_ns, given
    _write(measured, left)
    senders, sinks = list(measured.sender.flows), list(measured.sink.flows)
    for index in own:
        at_ns, given = left[index]
        senders[index] = senders[index].model_copy(update={"bytes_sent": arrived[index]})
        there = at_ns[given > 0]
        update = {"bytes": int(given.sum())}
        if len(there):
            update |= {"first_byte_ns": int(there[0]), "last_byte_ns": int(there[-1])}
        sinks[index] = sinks[index].model_copy(update=update)
    return replace(
        measured,
        sender=measured.sender.model_copy(update={"flows": tuple(senders)}),
        sink=measured.sink.model_copy(update={"flows": tuple(sinks)}),
    )


def _payload(
    measured: TrialMeasurement, own: list[int]
) -> tuple[dict[int, int], dict[int, tuple[Ints, Ints]]]:
    """Payload that reached the bottleneck, by flow; and when how much of it left."""
    arrived = dict.fromkeys(own, 0)
    parts: dict[int, list[tuple[Ints, Ints]]] = {index: [] for index in own}
    for batch in read_postcards(measured.attempt.raw_telemetry, measured.clock):
        for index in own:
            mine = batch.flow == index
            arrived[index] += int(batch.payload_bytes[mine].sum())
            there = mine & ~batch.dropped
            parts[index].append((batch.dequeue_ns[there], batch.payload_bytes[there]))
    none = np.empty(0, np.int64)
    return arrived, {
        index: (
            np.concatenate([none, *(at for at, _ in found)]),
            np.concatenate([none, *(given for _, given in found)]),
        )
        for index, found in parts.items()
    }


def iperf3_intervals(output: Path, flows: int) -> Iterator[tuple[Ints, Ints]]:
    """When each interval of each flow ended, in ns from its process's start, and its bytes.

    Args:
        output: What an iperf3 server has said, with `--json`.
        flows: How many flows it served.

    Raises:
        HostError: It has said something else.
    """
    try:
        intervals = json.loads(output.read_text())["intervals"]
        streams = [interval["streams"] for interval in intervals]
        for flow in range(flows):
            mine = [each[flow] for each in streams]
            until_s = np.array([each["end"] for each in mine])
            given = np.array([each["bytes"] for each in mine], np.int64)
            yield (until_s * 1e9).astype(np.int64), given
    except (OSError, ValueError, KeyError, IndexError, TypeError) as error:
        raise HostError(f"{output}: is no report of iperf3 --json with {flows} flows") from error


def _write(measured: TrialMeasurement, given: dict[int, tuple[Ints, Ints]]) -> None:
    """Add what flows were given to the file of goodput, summed over its intervals."""
    scenario = measured.attempt.scenario
    step_ns = scenario.telemetry.goodput.ns
    ends = np.arange(step_ns, scenario.longest.ns + step_ns, step_ns)
    path = measured.attempt.folder / CONSTANTS.goodput_file
    parts: list[NDArray[Any]] = [read_generator_file(path, GOODPUT)]
    for index, (at_ns, sizes) in given.items():
        number = np.clip(-(-at_ns // step_ns) - 1, 0, len(ends) - 1)
        records = np.zeros(len(ends), GOODPUT)
        records["t_ns"] = measured.t0_ns + ends
        records["flow"] = index
        records["bytes"] = np.bincount(number, sizes, len(ends)).astype(np.int64)
        parts.append(records)
    records = np.concatenate(parts)
    records[np.argsort(records["t_ns"], kind="stable")].tofile(path)

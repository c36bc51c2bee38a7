"""What is done with captures: read time stamps, draw the RTT, replay one through the bottleneck.

>>> import nashbed as nb
>>> nb.captures.timestamps("behind.pcap").format
>>> nb.captures.align("before.pcap", "behind.pcap").text()
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from nashbed.analysis.captures import CaptureSummary, exact_text, summarise_timestamps
from nashbed.controlplane.contract.messages.replay import ReplaySummary
from nashbed.controlplane.run import replay as replays

from .files import ScenarioLike, read_scenario

if TYPE_CHECKING:
    from nashbed.analysis.clock.alignment import Alignment
    from nashbed.analysis.figures.delay_over_time import CaptureRtt

__all__ = ["CaptureSummary", "align", "exact_text", "replay", "rtt", "timestamps"]


def timestamps(
    capture: str | Path,
    form: str | None = None,
    fcs: int | None = None,
    *,
    packets: int = 0,
) -> CaptureSummary:
    """Read the hardware time stamps of a capture.

    Args:
        capture: Capture: pcap, pcapng or ERF.
        form: exablaze, metamako, expcap, or file (its own times); None: detected.
        fcs: Bytes of a new FCS behind the trailer: 0 or 4; None: detected.
        packets: List the first so many packets.

    Raises:
        RunError: The capture cannot be read, or mixes formats.
        ConfigError: The format is unknown.
    """
    return summarise_timestamps(Path(capture), form, fcs, packets)


def align(reference: str | Path, other: str | Path, form: str | None = None) -> Alignment:
    """Say how the clock of one capture stands to that of another, by packets in both.

    Args:
        reference: The capture whose clock is right.
        other: The other one.
        form: As `timestamps` has it.

    Raises:
        RunError: A capture cannot be read, its clock ran backwards, or the two have too little in
            common.
    """
    from nashbed.analysis.clock.pair import align_captures  # noqa: PLC0415 - slow to import

    return align_captures(Path(reference), Path(other), form)


def rtt(
    captures: Sequence[str | Path], out: str | Path, until_s: float | None = None
) -> tuple[CaptureRtt, ...]:
    """Draw the RTT over time from captures, by TCP time stamps.

    Args:
        captures: Captures made beside the senders (pcap).
        out: Figure: png, pdf or svg.
        until_s: Only the first seconds; None: all.

    Returns:
        What was found of each flow.

    Raises:
        RunError: A capture is missing, damaged or has no sample, or the figure cannot be written.
    """
    from nashbed.analysis.figures.delay_over_time import (  # noqa: PLC0415 - slow to import
        write_rtt_of_captures,
    )

    return write_rtt_of_captures([Path(each) for each in captures], Path(out), until_s)


def replay(capture: str | Path, scenario: ScenarioLike, out: str | Path) -> ReplaySummary:
    """Put a capture through the bottleneck in virtual time.

    It needs no root and reads no clock: the same capture gives the same result, to the bit.

    Args:
        capture: Capture: pcap or pcapng, Ethernet.
        scenario: Gives rate, buffer and overhead; it has one setting.
        out: Folder for departures and postcards; an earlier replay there is replaced.

    Returns:
        What became of the packets; `remarks` say what was not shaped, or not as captured.

    Raises:
        ConfigError: The capture or the scenario cannot be replayed.
        HostError: The folder cannot be written, or is something else.
    """
    return replays.replay(Path(capture), read_scenario(scenario), Path(out))

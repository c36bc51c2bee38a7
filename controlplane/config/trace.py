"""Files that say what a link carries over time, read: Mahimahi's, and rates as CSV."""

import csv
import hashlib
from decimal import Decimal, InvalidOperation
from itertools import pairwise
from pathlib import Path

from ..contract.link import TraceProgram, packed
from ..contract.shared import CONSTANTS
from ..contract.units import NS_PER_S

LONGEST_TIME = 40
"""Characters of a line: a time that fits has fewer digits."""
MOST_LINES = 2_000_000
MOST_RATES = 65_536
MS = 1_000_000
HEADER = ["t_s", "rate_bps"]


def read_trace(path: Path, *, repeat: bool) -> TraceProgram:
    """What is in the file of a trace; an opportunity's bytes are the bottleneck's to say.

    Args:
        repeat: Whether it begins anew when it has ended.

    Raises:
        ValueError: It is no trace; with the line that is wrong.
    """
    content = path.read_bytes()
    if not content.strip():
        raise ValueError("is empty; a trace has a line for each opportunity or rate")
    text = content.decode("utf-8", "replace")
    rates = path.suffix == ".csv"
    times_ns, rates_bps, end_ns = _rates(text, repeat) if rates else _opportunities(text)
    return TraceProgram(
        name=path.name,
        digest=hashlib.sha256(content).hexdigest(),
        form="rates" if rates else "opportunities",
        times=packed(times_ns),
        rates=packed(rates_bps) if rates else "",
        period_ns=end_ns if repeat else 0,
    )


def _opportunities(text: str) -> tuple[list[int], list[int], int]:
    """One millisecond on each line; the last one is the length of the trace."""
    times: list[int] = []
    for number, line in enumerate(text.splitlines(), 1):
        if not line.strip() or line.startswith("#"):
            continue
        if not line.strip().isdecimal() or len(line) > LONGEST_TIME:
            raise ValueError(f"line {number}: {line.strip()[:40]!r} is no whole millisecond")
        times.append(int(line) * MS)
        if len(times) > 1 and times[-1] < times[-2]:
            raise ValueError(f"line {number}: is earlier than the line before; sort the times")
        if len(times) > MOST_LINES:
            raise ValueError(f"has more than {MOST_LINES} opportunities; shorten it")
    if not times or times[-1] == 0:
        raise ValueError("has no opportunity after 0 ms; nothing would ever be sent")
    _check_end(times[-1])
    return times, [], times[-1]


def _rates(text: str, repeat: bool) -> tuple[list[int], list[int], int]:
    """Times and rates; the last line's time is the length of the trace."""
    try:
        rows = list(csv.reader(text.splitlines()))
    except csv.Error as error:
        raise ValueError(f"is no CSV: {error}") from error
    if [cell.strip() for cell in rows[0]] != HEADER:
        raise ValueError(f"line 1: must be {','.join(HEADER)}")
    read = [_row(number, row) for number, row in enumerate(rows[1:], 2) if row]
    times, rates = [at for at, _ in read], [rate for _, rate in read]
    if len(read) < 2 or times[0] != 0:
        raise ValueError("needs a rate from 0 s on, and a last line that says when it ends")
    for number, (before, at) in enumerate(pairwise(times), 3):
        if at <= before:
            raise ValueError(f"line {number}: is not after the line before; sort the times")
    kept = len(read) - 1 if repeat else len(read)
    if kept > MOST_RATES:
        raise ValueError(f"has more than {MOST_RATES} rates; shorten it")
    if not any(rates[:kept]) or (not repeat and rates[-1] == 0):
        raise ValueError("ends with nothing to send for good; write a rate above 0")
    _check_end(times[-1])
    return times[:kept], rates[:kept], times[-1]


def _row(number: int, row: list[str]) -> tuple[int, int]:
    try:
        at, rate = (Decimal(cell.strip()) for cell in row)
        if not (at.is_finite() and rate.is_finite() and at >= 0):
            raise InvalidOperation
    except (InvalidOperation, ValueError):
        raise ValueError(f"line {number}: is not a time in s and a rate in bit/s") from None
    if not 0 <= rate <= CONSTANTS.rate_bps_max:
        raise ValueError(f"line {number}: {rate} bit/s is out of range")
    return int(at * NS_PER_S), int(rate)


def _check_end(end_ns: int) -> None:
    if end_ns > CONSTANTS.duration_ns_max:
        raise ValueError("is longer than any trial; shorten it")

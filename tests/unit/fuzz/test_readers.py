"""Whatever a file holds, who reads it says so in words: any other exception is a mistake of ours.

The files are good ones with a few edits. `make test-long` draws anew for NASHBED_FUZZ_MINUTES.
"""

import os
import time
from collections.abc import Callable, Iterable
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import nashbed as nb
import numpy as np
import pytest
from hypothesis import HealthCheck, given, seed, settings
from hypothesis import strategies as st
from nashbed.analysis.captures.tcp_headers import read_segments
from nashbed.analysis.models.equilibrium_files import read_equilibria, read_published
from nashbed.analysis.models.mix_files import read_rows
from nashbed.controlplane.config.load import load_cluster, load_scenario, load_testbed
from nashbed.controlplane.config.sizes import read_sizes
from nashbed.controlplane.config.trace import read_trace
from nashbed.controlplane.contract.errors import NashbedError
from nashbed.controlplane.run.standing import read_certificate
from tests.support import timestamps as stamped
from tests.support.capture import tcp_capture

CONFIGS = Path(__file__).resolve().parents[3] / "configs"
MINUTES = float(os.environ.get("NASHBED_FUZZ_MINUTES", "5"))
"""How long each fuzz goes on: with a dozen of them, half an hour on two cores."""
EXAMPLES = 25
EXAMPLES_OF_RUNS = 8
"""Opening a run takes as long as reading ten files."""
BATCH = 500
TOKENS = (
    b"9" * 5000, b"1e400", b"-1", b"0", b".nan", b"null", b"NaN", b"Infinity", b"{}", b"[]", b'""',
    b"\xff\xfe", b"\x00", b"\xed\xa0\x80", b"\n", b"\r", b",", b":", b"- ", b"'", b'"', b"*a",
    b"&a ", b"!!python/x ",
    b"\\ud800", b"\xff\xff\xff\xff", b"\x00\x00\x00\x00", b"\x80\x00\x00\x00",
    b"9223372036854775808", b"1e-400", b"99999999999", b"true", b"[" * 3000, b"../", b"/", b"%",
)  # fmt: skip

Edit = tuple[str, float, int, bytes]
edits = st.lists(
    st.tuples(
        st.sampled_from(("insert", "replace", "cut", "flip", "number", "repeat", "end")),
        st.floats(0, 1, exclude_max=True),
        st.integers(0, 64),
        st.sampled_from(TOKENS),
    ),
    min_size=1,
    max_size=4,
)


def edited(data: bytes, changes: Iterable[Edit]) -> bytes:
    """The data with edits, each at a part of its length."""
    for kind, part, size, token in changes:
        at = int(part * len(data))
        behind = data[at:]
        if kind == "insert":
            data = data[:at] + token + behind
        elif kind == "replace":
            data = data[:at] + token + behind[size:]
        elif kind == "cut":
            data = data[:at] + behind[size:]
        elif kind == "flip" and behind:
            data = data[:at] + bytes([behind[0] ^ (1 << size % 8)]) + behind[1:]
        elif kind == "number":  # the next one, whole
            number = len(behind) - len(behind.lstrip(b"0123456789"))
            skip = next((i for i, c in enumerate(behind) if 48 <= c <= 57), 0) if not number else 0
            rest = behind[skip:]
            data = data[: at + skip] + token + rest.lstrip(b"0123456789.")
        elif kind == "repeat":
            data = data[:at] + behind[:size] * 3 + behind
        elif kind == "end":
            data = data[:at]
    return data


@dataclass(frozen=True)
class Reader:
    """What reads a file, and good files of its kind.

    Attributes:
        name: The file's name, whose suffix may matter.
        good: Contents that it reads.
    """

    name: str
    good: Callable[[], list[bytes]]
    read: Callable[[Path], Any]


def files(*patterns: str) -> Callable[[], list[bytes]]:
    return lambda: [p.read_bytes() for pattern in patterns for p in sorted(CONFIGS.glob(pattern))]


def parts(*patterns: str) -> Callable[[], list[bytes]]:
    """The beginnings of files, so that an edit meets what matters."""
    return lambda: [data[:2000] for data in files(*patterns)()]


def captures() -> list[bytes]:
    times = np.arange(50) * 1_000_000 + 10**18
    frame = stamped.ethernet(bytes(60))
    packets = [
        (1_700_000_000 + i, 5, frame + stamped.expcap(1_700_000_000 + i, 7)) for i in range(9)
    ]
    blocks = [stamped.pcapng_packet(10**15 + i, frame) for i in range(9)]
    return [
        tcp_capture(times, np.full(50, 1514), np.zeros(50, np.int64)),
        stamped.pcap(packets),
        stamped.pcapng_section() + stamped.pcapng_interface(9, 3, fcs=4) + b"".join(blocks),
        b"".join(stamped.erf(1_700_000_000 + i, 5, frame) for i in range(9)),
    ]


def segments(path: Path) -> None:
    for _ in read_segments(path):
        pass


def certificate(path: Path) -> None:
    read_certificate(path, load_testbed(CONFIGS / "testbeds/embedded.yaml").model)


def named(read: Callable[..., Any], path: Path, **more: bool) -> None:
    """A file that a scenario names; loading that one makes a line of its ValueError."""
    with suppress(ValueError):
        read(path, **more)


READERS = {
    "scenario": Reader("s.yaml", parts("scenarios/*.yaml"), load_scenario),
    "testbed": Reader("t.yaml", files("testbeds/*.yaml"), load_testbed),
    "cluster": Reader("c.yaml", files("clusters/*.yaml"), load_cluster),
    "trace": Reader("x.trace", parts("traces/*.trace"),
                    lambda p: named(read_trace, p, repeat=True)),
    "rates": Reader("x.csv", parts("traces/*.csv"), lambda p: named(read_trace, p, repeat=False)),
    "sizes": Reader("s.txt", lambda: [b"1460 5\n200 95\n", b"100\n1460\n"],
                    lambda p: named(read_sizes, p)),
    "mixes": Reader("m.csv", parts("scenarios/**/*mixes.csv"), read_rows),
    "equilibria": Reader("e.csv", parts("scenarios/measured/equilibria.csv"), read_equilibria),
    "published": Reader("p.csv", parts("scenarios/**/fabric_equilibria.csv"), read_published),
    "timestamps": Reader("t.pcap", captures, nb.captures.timestamps),
    "rtt": Reader("r.pcap", captures, segments),
    "certificate": Reader("embedded.certificate.json", lambda: [b'{"format": 1, "testbed": "t"}'],
                          certificate),
}  # fmt: skip


def read_edited(reader: Reader, folder: Path, data: bytes, changes: list[Edit]) -> None:
    path = folder / reader.name
    path.write_bytes(edited(data, changes))
    try:
        reader.read(path)
    except NashbedError as error:
        assert error.message.strip()
        assert all(len(line) < 1500 for line in error.message.splitlines())


def fuzz(
    check: Callable[[bytes, list[Edit]], None],
    good: list[bytes],
    number: int | None,
    few: int = EXAMPLES,
) -> None:
    """Draw examples; without a number always the same `few`."""
    drawn = given(st.sampled_from(good), edits)(check)
    quick = number is None
    chosen = settings(
        max_examples=few if quick else BATCH,
        derandomize=quick,
        database=None,
        deadline=None,
        suppress_health_check=list(HealthCheck),
    )
    (chosen(drawn) if quick else chosen(seed(number)(drawn)))()


def fuzz_for_long(check: Callable[[bytes, list[Edit]], None], good: list[bytes]) -> None:
    end = time.monotonic() + MINUTES * 60
    number = time.time_ns()
    while time.monotonic() < end:
        fuzz(check, good, number)
        number += 1


@pytest.mark.parametrize("name", READERS)
def test_a_damaged_file_is_refused_in_words(name: str, tmp_path: Path) -> None:
    reader = READERS[name]
    fuzz(lambda data, changes: read_edited(reader, tmp_path, data, changes), reader.good(), None)


@pytest.mark.long
@pytest.mark.parametrize("name", READERS)
def test_no_damaged_file_is_an_internal_error(name: str, tmp_path: Path) -> None:
    reader = READERS[name]
    fuzz_for_long(lambda data, changes: read_edited(reader, tmp_path, data, changes), reader.good())


DOCUMENTS = ("manifest.json", "plan.json", "scenario.yaml", "testbed.yaml", "trial.json")


def open_edited(run: Path, place: Path, data: bytes, changes: list[Edit]) -> None:
    place.write_bytes(edited(data, changes))
    try:
        opened = nb.open_run(run)
        assert opened.settings is not None
        assert opened.tables
    except NashbedError as error:
        assert error.message.strip()


def fuzzed_run(name: str, run: Path, lasting: bool) -> None:
    place = next(run.glob(f"trials/*/{name}")) if name == "trial.json" else run / name
    good = [place.read_bytes()]

    def check(data: bytes, changes: list[Edit]) -> None:
        open_edited(run, place, data, changes)

    if lasting:
        fuzz_for_long(check, good)
    else:
        fuzz(check, good, None, EXAMPLES_OF_RUNS)


@pytest.mark.slow
@pytest.mark.parametrize("name", DOCUMENTS)
def test_a_damaged_run_is_refused_in_words(name: str, run_copy: Path) -> None:
    fuzzed_run(name, run_copy, lasting=False)


@pytest.mark.long
@pytest.mark.parametrize("name", DOCUMENTS)
def test_no_damaged_run_is_an_internal_error(name: str, run_copy: Path) -> None:
    fuzzed_run(name, run_copy, lasting=True)


@pytest.mark.parametrize("level", ["", "loud", "9" * 5000, "é\udcff", "INFO "])
def test_a_level_of_the_log_is_one_that_there_is(level: str) -> None:
    try:
        with nb.shown_log(level):
            pass
    except NashbedError as error:
        assert error.message.strip()

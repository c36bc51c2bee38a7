"""Quantities: what people write, exactly, and back."""

from decimal import Decimal

import pytest
from hypothesis import given
from hypothesis import strategies as st
from nashbed.controlplane.contract.shared import CONSTANTS
from nashbed.controlplane.contract.units import (
    Buffer,
    Duration,
    Quantity,
    Rate,
    Share,
    Size,
    bdp_bytes,
    bytes_in_flight,
)
from pydantic import TypeAdapter, ValidationError

whole = st.integers(min_value=0, max_value=10**18)


@given(st.integers(min_value=0, max_value=CONSTANTS.rate_bps_max))
def test_a_rate_prints_to_itself(bps: int) -> None:
    assert Rate.parse(str(Rate(bps))) == Rate(bps)


@given(whole)
def test_a_duration_prints_to_itself(ns: int) -> None:
    assert Duration.parse(str(Duration(ns))) == Duration(ns)


@given(whole)
def test_a_size_prints_to_itself(size: int) -> None:
    assert Size.parse(str(Size(size))) == Size(size)


@given(whole)
def test_a_share_prints_to_itself(ppb: int) -> None:
    assert Share.parse(str(Share(ppb))) == Share(ppb)


@given(st.integers(1, 10**9), st.sampled_from(["bytes", "packets", "bdp"]))
def test_a_buffer_prints_to_itself(amount: int, unit: str) -> None:
    buffer = Buffer(Decimal(amount), unit)  # type: ignore[arg-type]
    assert Buffer.parse(str(buffer)) == buffer


@given(st.decimals(min_value="0.001", max_value=1000, places=3))
def test_a_buffer_in_bdp_keeps_its_fraction(amount: Decimal) -> None:
    assert Buffer.parse(f"{amount}bdp").amount == amount


@pytest.mark.parametrize(
    ("text", "bps"),
    [
        ("100mbit", 100_000_000),
        ("1.5gbit", 1_500_000_000),
        ("0.1mbit", 100_000),
        (" 20 Mbit/s ", 20_000_000),
        ("9600bit", 9600),
    ],
)
def test_rates(text: str, bps: int) -> None:
    assert Rate.parse(text) == Rate(bps)


@pytest.mark.parametrize(
    ("text", "size"),
    [("1MB", 1_000_000), ("1MiB", 1_048_576), ("1514B", 1514), ("0.5kB", 500)],
)
def test_sizes_are_decimal_unless_binary_is_said(text: str, size: int) -> None:
    assert Size.parse(text) == Size(size)


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("-1mbit", "is negative"),
        ("100", "has no unit"),
        ("100mb", "has an unknown unit 'mb'"),
        ("fast", "is not a rate such as 100mbit"),
        ("", "is not a rate"),
        ("1e3mbit", "has an unknown unit 'e3mbit'"),
        ("0.1bit", "is finer than this rate can be told apart"),
        ("nanmbit", "is not a rate"),
    ],
)
def test_wrong_rates_say_what_is_wrong(text: str, problem: str) -> None:
    with pytest.raises(ValueError, match=problem):
        Rate.parse(text)


@pytest.mark.parametrize(
    ("kind", "text", "meant"),
    [
        (Rate, "10Mbps", "10mbit"),
        (Rate, "100mb", "100mbit"),
        (Buffer, "2BDP", "2bdp"),
        (Buffer, "1mb", "1MB"),
        (Size, "3 bytes", "3B"),
        (Duration, "5sec", "5s"),
    ],
)
def test_units_as_others_write_them_are_understood(
    kind: type[Quantity], text: str, meant: str
) -> None:
    with pytest.raises(ValueError, match=f"did you mean {meant}\\? Write a"):
        kind.parse(text)


@pytest.mark.parametrize(("kind", "text"), [(Rate, "10MBps"), (Rate, "5x"), (Duration, "3m")])
def test_other_units_are_not_guessed(kind: type[Quantity], text: str) -> None:
    with pytest.raises(ValueError, match=r"has an unknown unit '[^']+'; write a"):
        kind.parse(text)


@given(st.text(max_size=20))
def test_any_text_is_a_quantity_or_a_clear_error(text: str) -> None:
    for kind in (Rate, Duration, Size, Share, Buffer):
        try:
            kind.parse(text)
        except ValueError as error:
            assert "write" in str(error) or "not a" in str(error) or "finer" in str(error)


def test_a_bdp_is_rate_times_round_trip_time() -> None:
    # 100 Mbit/s x 40 ms = 4 Mbit = 500 kB
    assert bdp_bytes(Rate.parse("100mbit"), Duration.parse("40ms")) == 500_000
    assert Buffer.parse("2bdp").to_bytes(Rate.parse("100mbit"), Duration.parse("40ms")) == 10**6
    assert Buffer.parse("64pkt").to_bytes(Rate(1), Duration(1)) == 64 * 1514
    assert Buffer.parse("3kB").to_bytes(Rate(1), Duration(1)) == 3000


def test_bytes_in_flight_are_whole_bytes() -> None:
    assert bytes_in_flight(10**8, 40_000_000) == 500_000
    assert bytes_in_flight(10**6, 1_001_000) == 125  # of 125.125
    assert bytes_in_flight(400 * 10**9, 10**18) == 5 * 10**19  # no float on the way


def test_a_part_of_a_byte_is_cut_off() -> None:
    # 1 Mbit/s x 1.001 ms = 125.125 bytes
    assert Buffer.parse("1bdp").to_bytes(Rate(10**6), Duration.parse("1.001ms")) == 125


@pytest.mark.parametrize("kind", [Rate, Duration, Size, Buffer])
@pytest.mark.parametrize("number", ["9" * 5000, "9" * 30, "1." + "0" * 5000 + "1"])
def test_a_number_without_end_is_refused_in_words(kind: type[Quantity], number: str) -> None:
    unit = next(iter(kind.UNITS))
    with pytest.raises(ValueError, match=kind.KIND):
        kind.parse(number + unit)
    with pytest.raises(ValidationError, match="too large"):
        TypeAdapter(kind).validate_python(9**9999)


def test_the_largest_rate() -> None:
    assert Rate.parse("400gbit").bps == 400 * 10**9
    with pytest.raises(ValueError, match="too large"):
        Rate.parse(f"{400 * 10**9 + 1}bit")

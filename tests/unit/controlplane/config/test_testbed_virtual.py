"""Testbeds in virtual time: what they take, and what each mistake is told."""

from __future__ import annotations

import pytest
from nashbed.controlplane.config import load_testbed, parse_testbed
from nashbed.controlplane.contract.errors import ConfigError
from nashbed.controlplane.contract.testbed import Guest
from nashbed.controlplane.contract.units import Size
from nashbed.controlplane.machine.paths import VIRTUAL_TESTBED

NEEDS_NOTHING = "name: v\ntarget: virtual\n"
REAL = "name: r\nports: {senders: {driver: tap}, receivers: {driver: tap}}\n"


def test_a_virtual_testbed_needs_nothing_but_its_target() -> None:
    bed = parse_testbed(NEEDS_NOTHING, "t").model
    assert bed.is_virtual
    assert bed.virtual == Guest(kernel="", memory=None)
    assert not bed.states_capacity
    assert not parse_testbed(REAL, "t").model.is_virtual


def test_its_guests_may_be_chosen() -> None:
    bed = parse_testbed(f'{NEEDS_NOTHING}virtual: {{kernel: "6.12", memory: 256MiB}}\n', "t").model
    assert bed.virtual == Guest(kernel="6.12", memory=Size(256 * 2**20))


def test_the_shipped_one_is_virtual() -> None:
    assert load_testbed(VIRTUAL_TESTBED).model.is_virtual


NONE = "target virtual has none, for every trial has a machine of its own; remove it"


@pytest.mark.parametrize(
    ("text", "line"),
    [
        (NEEDS_NOTHING + "virtual: {kernel: 6.12}", "t:3: virtual.kernel: 6.12 is a number; write"),
        (NEEDS_NOTHING + 'virtual: {kernel: "6.x"}', "t:3: virtual.kernel: '6.x' is not allowed"),
        (NEEDS_NOTHING + "virtual: {kernal: a}", "t:3: virtual.kernal: unknown key; did you mean"),
        (NEEDS_NOTHING + "virtual: 3", "t:3: virtual: 3 is not allowed here; write keys and valu"),
        (NEEDS_NOTHING + "virtual: {memory: 65MB}", "t:3: virtual.memory: 65MB must be whole MiB"),
        (NEEDS_NOTHING + "virtual: {memory: 1MiB}", "t:3: virtual.memory: 1.048576MB must be"),
        (NEEDS_NOTHING + "ports: {senders: {driver: tap}}", f"t:3: ports: {NONE}"),
        (NEEDS_NOTHING + "dataplane: {core: 1}", f"t:3: dataplane: {NONE}"),
        (NEEDS_NOTHING + "switch: {}", f"t:3: switch: {NONE}"),
        (
            NEEDS_NOTHING + "capture: {before: {file: a}, behind: {file: b}}",
            f"t:3: capture: {NONE}",
        ),
        (REAL + "virtual: {}", "t:3: virtual: target dpdk runs in real time; remove it"),
        ("name: r", "t:1: key 'ports' is missing; add it: target dpdk has ports senders, recei"),
    ],
)
def test_a_mistake_is_one_line_with_its_place(text: str, line: str) -> None:
    with pytest.raises(ConfigError) as caught:
        parse_testbed(text + "\n", "t")
    assert "\n" not in caught.value.message
    assert caught.value.message.startswith(line)

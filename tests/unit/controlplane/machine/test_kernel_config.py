"""The kernel's configuration: our fragment, and whether all of it is in effect."""

from __future__ import annotations

import pytest
from nashbed.controlplane.machine.kernels.build import (
    ConfigLine,
    compiler_of,
    fragment_settings,
    not_in_effect,
)
from nashbed.controlplane.machine.paths import UML

FRAGMENT = """\
# a comment
CONFIG_NET=y

CONFIG_KERNEL_STACK_ORDER=4  # what runs on the stack is large
CONFIG_NEW=0  # since 7.2: why
CONFIG_OLD=y  # until 6.12
"""


def lines(release: tuple[int, int], text: str = FRAGMENT) -> list[str]:
    return [setting.line for setting in fragment_settings(text, release)]


def test_a_release_has_the_lines_that_are_for_it() -> None:
    always = ["CONFIG_NET=y", "CONFIG_KERNEL_STACK_ORDER=4"]
    assert lines((6, 1)) == [*always, "CONFIG_OLD=y"]
    assert lines((6, 12)) == [*always, "CONFIG_OLD=y"]
    assert lines((6, 13)) == always
    assert lines((7, 2)) == [*always, "CONFIG_NEW=0"]


@pytest.mark.parametrize("line", ["CONFIG_NET", "NET=y", "CONFIG_NET=y since 6.2"])
def test_a_line_that_is_no_setting_is_refused(line: str) -> None:
    with pytest.raises(ValueError, match="line 2: not a setting"):
        fragment_settings(f"# first\n{line}\n", (6, 1))


def test_what_the_kernel_did_not_take_is_named() -> None:
    settings = [ConfigLine("CONFIG_NET", "y"), ConfigLine("CONFIG_HZ", "250")]
    assert not_in_effect(settings, "CONFIG_NET=y\nCONFIG_HZ=250\n") == []
    finished = "# CONFIG_NET is not set\nCONFIG_HZ=2500\n"
    assert not_in_effect(settings, finished) == settings


def test_the_compiler() -> None:
    assert compiler_of('CONFIG_CC_VERSION_TEXT="gcc (Debian) 12.2.0"\n') == "gcc (Debian) 12.2.0"
    assert compiler_of("") == "unknown"


@pytest.mark.parametrize("release", [(5, 10), (6, 1), (6, 12), (7, 3)])
def test_the_shipped_fragment(release: tuple[int, int]) -> None:
    """Every congestion control that strategies may name is in it."""
    symbols = {s.symbol for s in fragment_settings((UML / "kernel.config").read_text(), release)}
    controls = (
        *("BBR", "CUBIC", "VEGAS", "WESTWOOD", "HTCP", "ILLINOIS", "BIC", "YEAH", "VENO"),
        *("SCALABLE", "HYBLA", "DCTCP", "CDG", "NV", "LP", "HSTCP"),
    )
    assert symbols >= {f"CONFIG_TCP_CONG_{name}" for name in controls}
    assert {"CONFIG_UML_TIME_TRAVEL_SUPPORT", "CONFIG_HOSTFS", "CONFIG_NET_NS"} <= symbols

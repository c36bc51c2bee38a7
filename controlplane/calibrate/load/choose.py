"""Which load generator: the best that is there for the rate to be used."""

from __future__ import annotations

import itertools
import shutil
from collections.abc import Callable
from functools import partial
from pathlib import Path

from ...contract.errors import ConfigError, HostError
from ...contract.testbed import Testbed
from ...machine.host.programs import TESTPMD
from ...machine.host.session import Session
from ..probe import Prober
from .base import Load
from .own import OwnLoad
from .pktgen import DEFAULT_PORT, PktgenLoad
from .testpmd import TestpmdLoad

MakeLoad = Callable[[Session, Path], Load]
OWN_CARRIES_BPS = 2 * 10**9
"""About what one core sends through kernel sockets; beyond it a DPDK generator is needed."""


def choose_load(asked: str, testbed: Testbed) -> MakeLoad:
    """Decide on a generator.

    Args:
        asked: `own`, `testpmd`, `pktgen[:HOST[:PORT]]` (its Lua socket), or `auto`: ours, unless
            the rate is more than it can send and testpmd is installed. A Pktgen has a port of
            its own, so it is only used where it is named.
        testbed: Its capacity is the rate to be used.

    Raises:
        ConfigError: There is no such generator, or it cannot reach the testbed's hosts.
        HostError: It is not installed.
    """
    kind, _, place = asked.partition(":")
    if testbed.is_virtual and kind not in ("auto", "own"):
        raise ConfigError(
            f"--load {asked}: cannot send into the machines of target virtual; write own"
        )
    if kind == "pktgen":
        return partial(_pktgen, _address(place))
    if place or kind not in ("auto", "own", "testpmd"):
        raise ConfigError(f"--load {asked}: write auto, own, testpmd or pktgen[:HOST[:PORT]]")
    if testbed.is_virtual:
        return _own
    fast = testbed.capacity.rate.bps > OWN_CARRIES_BPS
    there = shutil.which(TESTPMD) is not None
    if kind == "testpmd" and not there:
        raise HostError(f"{TESTPMD}: not installed; run `apt install dpdk-dev`, or use --load own")
    return _testpmd if kind == "testpmd" or (kind == "auto" and fast and there) else _own


def _address(place: str) -> tuple[str, int]:
    host, _, port = place.partition(":")
    if port and not (port.isdecimal() and 0 < int(port) < 2**16):
        raise ConfigError(f"--load pktgen:{place}: {port!r} is not a port number")
    return host or "localhost", int(port or DEFAULT_PORT)


def _own(session: Session, folder: Path) -> Load:
    numbers = itertools.count(1)
    return OwnLoad(
        lambda sockets, schedule: Prober(
            session, folder / f"load-{next(numbers):02d}", sockets, schedule
        )
    )


def _testpmd(session: Session, folder: Path) -> Load:
    return TestpmdLoad(session)


def _pktgen(address: tuple[str, int], session: Session, folder: Path) -> Load:
    return PktgenLoad(address, session.path_ends)

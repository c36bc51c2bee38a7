"""A fake switch of each chip, and a client that is bound to it."""

from collections.abc import Iterator

import pytest
from nashbed.controlplane.targets.tofino.client import BfRtClient
from tests.fakes.bfrt import FakeBfRt
from tests.support.tofino import CHIPS, artefact


@pytest.fixture(params=CHIPS)
def server(request: pytest.FixtureRequest) -> Iterator[FakeBfRt]:
    """A switch on which our program is loaded."""
    fake = FakeBfRt(request.param, artefact(request.param).read_bytes()).start()
    yield fake
    fake.stop()


@pytest.fixture
def client(server: FakeBfRt) -> Iterator[BfRtClient]:
    made = BfRtClient(server.address, 0, server.p4_name, timeout_s=60.0)
    made.open()
    yield made
    made.close()

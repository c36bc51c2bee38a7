"""One loaded model for all; without one, or without its wires, everything is skipped."""

from collections.abc import Iterator

import pytest
from tests.conformance.conftest import run
from tests.tofino_model.model import Model, why_no_server

__all__ = ["model", "run", "server", "target"]


@pytest.fixture(scope="session")
def model() -> Iterator[Model]:
    """The model, loaded; taken back at the end."""
    made = Model()
    reason = made.why_not()
    if reason:
        pytest.skip(f"{made.name}: {reason}")
    made.open()
    yield made
    made.close()


@pytest.fixture
def server() -> None:
    """A driver that nobody has loaded: for tests that load it themselves."""
    reason = why_no_server()
    if reason:
        pytest.skip(f"{Model.name}: {reason}")


@pytest.fixture
def target(model: Model) -> Model:
    """As the vectors of tests/conformance know a target."""
    return model

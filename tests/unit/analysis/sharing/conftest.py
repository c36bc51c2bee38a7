"""A run of two queues in one memory, under two thresholds."""

from pathlib import Path

import pytest
from tests.support.shared_memory import write_shared_run


@pytest.fixture(scope="session")
def shared_run(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Settings `alpha0.25` and `alpha2`, two repetitions each."""
    return write_shared_run(tmp_path_factory.mktemp("shared") / "run", (0.25, 2), trials=2)

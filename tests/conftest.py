"""What all tests share: markers that skip with a reason, and no deadlines on a busy machine."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from hypothesis import settings
from tests.support.left_behind import LeftBehind

ROOT = Path(__file__).resolve().parents[1]
BUILD = Path(os.environ.get("NASHBED_BUILD", ROOT / "build"))
DATAPLANE = BUILD / "hosts" / "dpdk" / "nashbed-dataplane"

settings.register_profile("nashbed", deadline=None)
settings.load_profile("nashbed")


def pytest_configure(config: pytest.Config) -> None:
    """See that nothing is left behind: once, not in each of several workers."""
    if not hasattr(config, "workerinput"):
        config.pluginmanager.register(LeftBehind())


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Skip, with the reason, what this machine or this user cannot run."""
    reasons = {
        "root": None if os.geteuid() == 0 else "needs root: run `sudo make test`",
        "dataplane": None if DATAPLANE.is_file() else "needs the data plane: run `make build`",
    }
    for item in items:
        if item.get_closest_marker("root"):
            item.add_marker(pytest.mark.live)  # these have the machine alone
        for marker, reason in reasons.items():
            if reason is not None and item.get_closest_marker(marker):
                item.add_marker(pytest.mark.skip(reason=reason))


# Tests start processes while a gRPC client is at work; its handlers at fork may then wait for
# one another.
os.environ.setdefault("GRPC_ENABLE_FORK_SUPPORT", "0")

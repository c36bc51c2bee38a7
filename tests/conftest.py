"""What all tests share: markers that skip with a reason, an order, no deadlines when busy."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from hypothesis import settings
from tests.support.left_behind import LeftBehind

ROOT = Path(__file__).resolve().parents[1]
BUILD = Path(os.environ.get("NASHBED_BUILD", ROOT / "build"))
DATAPLANE = BUILD / "hosts" / "dpdk" / "nashbed-dataplane"

LIVE = {"conformance", "dataplane", "e2e", "flows", "probe"}
"""Folders with live tests; `make test` looks for them nowhere else."""

settings.register_profile("nashbed", deadline=None)
settings.load_profile("nashbed")


def pytest_configure(config: pytest.Config) -> None:
    """See that nothing is left behind: once, not in each of several workers."""
    if not hasattr(config, "workerinput"):
        config.pluginmanager.register(LeftBehind())


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Skip, with the reason, what this machine or this user cannot run; and what is long is first.

    Real runs wait more than they compute, and one of them has the machine at a time: one worker
    begins with them while the others compute. Files with slow tests come before those without, so
    that no worker is alone with a slow one at the end.
    """
    reasons = {
        "root": None if os.geteuid() == 0 else "needs root: run `sudo make test`",
        "dataplane": None if DATAPLANE.is_file() else "needs the data plane: run `make build`",
    }
    for item in items:
        if item.get_closest_marker("live") and item.path.relative_to(ROOT).parts[1] not in LIVE:
            raise pytest.UsageError(f"{item.nodeid}: live tests are in {', '.join(sorted(LIVE))}")
        for marker, reason in reasons.items():
            if reason is not None and item.get_closest_marker(marker):
                item.add_marker(pytest.mark.skip(reason=reason))
    slow = {item.path for item in items if item.get_closest_marker("slow")}
    items.sort(key=lambda item: (not is_real_run(item), item.path not in slow))


def is_real_run(item: pytest.Item) -> bool:
    """Whether a test starts runs in real time, of which a machine takes one at a time."""
    return {"root", "dataplane"} <= {marker.name for marker in item.iter_markers()}


# Tests start processes while a gRPC client is at work; its handlers at fork may then wait for
# one another.
os.environ.setdefault("GRPC_ENABLE_FORK_SUPPORT", "0")

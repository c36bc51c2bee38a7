"""What all tests share: markers that skip with a reason, an order, no deadlines when busy."""

import gc
import os
from collections import Counter
from collections.abc import Iterator
from itertools import islice
from pathlib import Path

import pytest
from hypothesis import settings
from tests.support.left_behind import LeftBehind

ROOT = Path(__file__).resolve().parents[1]
BUILD = Path(os.environ.get("NASHBED_BUILD", ROOT / "build"))
DATAPLANE = BUILD / "hosts" / "dpdk" / "nashbed-dataplane"

LIVE = {"conformance", "dataplane", "e2e", "flows", "probe", "tofino_model"}
"""Folders with live tests; `make test` looks for them nowhere else."""

settings.register_profile("nashbed", deadline=None)
settings.register_profile("quick", deadline=None, max_examples=25)
settings.load_profile("nashbed")


def pytest_configure(config: pytest.Config) -> None:
    """See that nothing is left behind: once, not in each of several workers."""
    if not hasattr(config, "workerinput"):
        config.pluginmanager.register(LeftBehind())


@pytest.hookimpl(wrapper=True)
def pytest_collection() -> Iterator[object]:
    """Let Python's garbage collector leave alone what is collected, for all of it stays."""
    gc.disable()
    try:
        return (yield)
    finally:
        gc.freeze()
        gc.enable()


@pytest.hookimpl(wrapper=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> Iterator[None]:
    """Skip, with the reason, what this machine or this user cannot run; order what is selected."""
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
    yield  # `-m` and `-k` select
    items[:] = in_order(items, int(os.environ.get("PYTEST_XDIST_WORKER_COUNT", "1")))


def in_order(items: list[pytest.Item], workers: int) -> list[pytest.Item]:
    """Tests in the order in which the workers of `make test` take them: each begins with long ones.

    xdist gives each worker a stretch of equal length (`--dist worksteal`), and who has no more
    takes the end of another's: quick tests, so that nobody is alone with a long one at the end.
    Real runs wait more than they compute, and one of them has the machine at a time: they are all
    in the first stretch. A file stays together, for its tests share what they set up.
    """
    real = [item for item in items if is_real_run(item)]
    others = [item for item in items if not is_real_run(item)]
    slow = Counter(item.path for item in others if item.get_closest_marker("slow"))
    quick = iter([item for item in others if item.path not in slow])
    heads = [real, *([] for _ in range(1, workers))]
    load = [0] * workers
    for path, count in slow.most_common():
        k = min(range(min(1, workers - 1), workers), key=load.__getitem__)
        heads[k] += [item for item in others if item.path == path]
        load[k] += count
    order: list[pytest.Item] = []
    for k, head in enumerate(heads):
        stretch = (len(items) - len(order)) // (workers - k)
        order += [*head, *islice(quick, max(0, stretch - len(head)))]
    return [*order, *quick]


def is_real_run(item: pytest.Item) -> bool:
    """Whether a test starts runs in real time, of which a machine takes one at a time."""
    return {"root", "dataplane"} <= {marker.name for marker in item.iter_markers()}


# Tests start processes while a gRPC client is at work; its handlers at fork may then wait for
# one another.
os.environ.setdefault("GRPC_ENABLE_FORK_SUPPORT", "0")

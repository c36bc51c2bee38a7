"""No part's test waits for the machine's own speed."""

import pytest
from nashbed.controlplane.bench.yardstick import Kind
from nashbed.controlplane.cli import bench
from nashbed.controlplane.contract.benchmark import Yardstick


@pytest.fixture(autouse=True)
def _quick_yardstick(monkeypatch: pytest.MonkeyPatch) -> None:
    def take(kind: Kind) -> Yardstick:
        return Yardstick(name=kind.name, unit=kind.unit, values=(0.5, 1.5))

    monkeypatch.setattr(bench, "take_yardstick", take)
